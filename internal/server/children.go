package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// listChildren is GET …/child_sessions: the sessions right below one, newest
// first. tool and session_name are the halves of a title: together they find a
// child by the name that its parent gave it.
func (s *Server) listChildren(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	p, err := readPage(r, 20, false)
	if err != nil {
		return err
	}
	ctx, db := r.Context(), s.db.Read()
	if _, err := db.Session(ctx, id); err != nil {
		return err
	}
	q := r.URL.Query()
	kids, more, err := db.Children(ctx, store.ChildQuery{Parent: id, Tool: q.Get("tool"), Name: q.Get("session_name"),
		Ascending: p.ascending, After: p.after, Before: p.before, Limit: p.limit})
	if err != nil {
		return err
	}
	rows, first, last := []any{}, "", ""
	for _, k := range kids {
		row, err := childSummary(ctx, db, k)
		if err != nil {
			return err
		}
		rows = append(rows, row)
		first, last = firstOf(first, k.ID), k.ID
	}
	answer(w, s.log, http.StatusOK, envelope(rows, first, last, more))
	return nil
}

// tellParent publishes a child's new state on its parent's stream.
func tellParent(ctx context.Context, tx *store.Tx, child *store.Session) error {
	if child.ParentID == "" {
		return nil
	}
	row, err := childSummary(ctx, tx, child)
	if err != nil {
		return err
	}
	return ignoreNotFound(emit(tx, child.ParentID, typeChildUpdated,
		dict{"type": typeChildUpdated, "conversation_id": child.ParentID, "child_session_id": child.ID, "child": row}))
}

// childReader is what a summary reads, inside of a change or outside.
type childReader interface {
	LastAnswer(ctx context.Context, session string, ofThisTurn bool) (*store.Item, error)
	HasPending(ctx context.Context, session string) (bool, error)
}

// previewRunes is how much of a child's last message its summary shows.
const previewRunes = 150

// childSummary is a ChildSessionSummary (server.md 2.5).
func childSummary(ctx context.Context, db childReader, ses *store.Session) (dict, error) {
	last, err := db.LastAnswer(ctx, ses.ID, false)
	if ignoreNotFound(err) != nil {
		return nil, err
	}
	pending, err := db.HasPending(ctx, ses.ID)
	if err != nil {
		return nil, err
	}
	var preview any
	if last != nil {
		var m struct {
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(last.Data, &m) == nil {
			preview = orNull(firstText(m.Content, previewRunes))
		}
	}
	tool, name, _ := strings.Cut(ses.Title, ":")
	state := taskState(ses, pending)
	return dict{"id": ses.ID, "object": "child_session", "parent_session_id": ses.ParentID, "title": orNull(ses.Title), "task_summary": nil,
		"tool": orNull(tool), "session_name": orNull(name), "kind": ses.Kind(), "created_at": ses.CreatedAt, "updated_at": ses.UpdatedAt,
		"agent_id": ses.AgentID, "agent_name": nil, "current_task_id": nil, "current_task_status": orNull(state), "busy": state == taskInProgress,
		"labels": ses.Labels, "last_task_error": lastError(ses), "last_message_preview": preview,
		"pending_elicitations_count": ses.Questions, "routed_model": nil, "routing_decision_id": nil}, nil
}
