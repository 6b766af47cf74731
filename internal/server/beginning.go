package server

import (
	"context"

	"github.com/outrunner/outrunner/internal/server/store"
)

// shownChildren bounds the children that a stream begins with: the newest.
const shownChildren = 100

// beginning is the state that a viewer gets when its stream opens, before what
// happens (server.md 3): the children, and that files may have changed and who
// watches. Nothing of it is stored.
func (s *Server) beginning(ctx context.Context, ses *store.Session) ([]frame, error) {
	db := s.db.Read()
	kids, _, err := db.Children(ctx, store.ChildQuery{Parent: ses.ID, Limit: shownChildren})
	if err != nil {
		return nil, err
	}
	var out []frame
	add := func(typ string, event dict) error {
		raw, err := store.Encode(event)
		if err != nil {
			return err
		}
		if raw, err = wholeEvent(typ, raw); err != nil {
			return err
		}
		out = append(out, frame{typ: typ, data: raw})
		return nil
	}
	for _, kid := range kids {
		row, err := childSummary(ctx, db, kid)
		if err != nil {
			return nil, err
		}
		if err := add(typeChildUpdated, dict{"conversation_id": ses.ID, "child_session_id": kid.ID, "child": row}); err != nil {
			return nil, err
		}
	}
	if err := add(typeChangedFiles, dict{"session_id": ses.ID}); err != nil {
		return nil, err
	}
	return out, add(typePresence, dict{"conversation_id": ses.ID, "viewers": []any{}})
}
