package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

func (s *Server) listChildren(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	p, err := readPage(r, 20, false)
	if err != nil {
		return err
	}
	if _, err := s.db.Read().Session(r.Context(), id); err != nil {
		return err
	}
	kids, err := s.db.Read().Children(r.Context(), id, p.limit+1)
	if err != nil {
		return err
	}
	more := len(kids) > p.limit
	if more {
		kids = kids[:p.limit]
	}
	rows, first, last := []any{}, "", ""
	for _, k := range kids {
		preview, err := s.db.Read().LastOf(r.Context(), k.ID, "assistant")
		if ignoreNotFound(err) != nil {
			return err
		}
		rows = append(rows, childSummary(k, preview))
		first, last = firstOf(first, k.ID), k.ID
	}
	answer(w, s.log, http.StatusOK, envelope(rows, first, last, more))
	return nil
}

// previewRunes is how much of a child's last message its summary shows.
const previewRunes = 150

// childSummary is a ChildSessionSummary (server.md 2.5).
func childSummary(ses *store.Session, last *store.Item) dict {
	tool, name, _ := strings.Cut(ses.Title, ":")
	var state any
	switch {
	case inTurn(ses.Status):
		state = "in_progress"
	case ses.Status == statusFailed:
		state = "failed"
	case last != nil:
		state = "completed"
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
	return dict{"id": ses.ID, "object": "child_session", "parent_session_id": ses.ParentID, "title": orNull(ses.Title), "task_summary": nil,
		"tool": orNull(tool), "session_name": orNull(name), "kind": ses.Kind(), "created_at": ses.CreatedAt, "updated_at": ses.UpdatedAt,
		"agent_id": ses.AgentID, "agent_name": nil, "current_task_id": nil, "current_task_status": state, "busy": inTurn(ses.Status),
		"labels": ses.Labels, "last_task_error": rawOrNull(ses.Error), "last_message_preview": preview,
		"pending_elicitations_count": 0, "routed_model": nil, "routing_decision_id": nil}
}
