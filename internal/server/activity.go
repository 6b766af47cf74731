package server

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// What a parent's history tells of its children (server.md 2.4).
const (
	activityDelegated = "session.subagent.delegated"
	activityReturned  = "session.subagent.returned"
)

// noteDelegated stores in the parent that it has a new child. The runner that
// made the child tells it on the parent's stream, perhaps more than once.
func noteDelegated(ctx context.Context, tx *store.Tx, child *store.Session) error {
	return noteActivity(ctx, tx, child, activityDelegated, "", dict{"title": orNull(shortTitle(child))})
}

// shortTitle is a child's title without the name of its agent.
func shortTitle(child *store.Session) string {
	if _, name, ok := strings.Cut(child.Title, ":"); ok && name != "" {
		return name
	}
	return child.Title
}

// noteReturned stores in the parent how a turn of its child ended, once per
// turn. It does nothing for a session without a parent.
func noteReturned(ctx context.Context, tx *store.Tx, child *store.Session, turn, how string) error {
	if child.ParentID == "" {
		return nil
	}
	return noteActivity(ctx, tx, child, activityReturned, turn, dict{"title": orNull(shortTitle(child)), "status": how})
}

func noteActivity(ctx context.Context, tx *store.Tx, child *store.Session, what, turn string, resource dict) error {
	data, err := store.Encode(dict{"event_type": what, "resource_id": child.ID, "resource_type": "session", "resource": resource})
	if err != nil {
		return err
	}
	id := shortHash(what + ":" + child.ID + ":" + turn)
	_, err = storeItem(ctx, tx, &store.Item{ID: id, Session: child.ParentID, Type: "resource_event", Status: "completed", Data: data,
		ResponseID: "subagent_" + id, SourceID: id})
	return err
}

// relayCreated takes a runner's word that it has made a child. Only a child of
// this very session is one.
func (s *Server) relayCreated(ctx context.Context, session string, fields map[string]json.RawMessage) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		child, err := tx.Session(ctx, bareID(text(fields["child_session_id"])))
		if ignoreNotFound(err) != nil {
			return err
		}
		if err != nil || child.ParentID != session {
			return badInput("%s names no child of this session", typeCreated)
		}
		if err := noteDelegated(ctx, tx, child); err != nil {
			return err
		}
		return emit(tx, session, typeCreated, fields)
	})
}
