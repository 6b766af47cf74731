package server

import (
	"context"

	"github.com/outrunner/outrunner/internal/server/store"
)

// shownChildren bounds the children that a stream begins with: the newest.
const shownChildren = 100

// beginning is the state that a viewer gets when its stream opens, before what
// happens (server.md 3): the children, and that files may have changed and who
// watches. Between them come the terminals. Nothing of it is stored.
func (s *Server) beginning(ctx context.Context, ses *store.Session) (children, rest []frame, err error) {
	db := s.db.Read()
	kids, _, err := db.Children(ctx, store.ChildQuery{Parent: ses.ID, Limit: shownChildren})
	if err != nil {
		return nil, nil, err
	}
	add := func(to *[]frame, typ string, event dict) error {
		raw, err := store.Encode(event)
		if err != nil {
			return err
		}
		if raw, err = wholeEvent(typ, raw); err != nil {
			return err
		}
		*to = append(*to, frame{typ: typ, data: raw})
		return nil
	}
	for _, kid := range kids {
		row, err := childSummary(ctx, db, kid)
		if err != nil {
			return nil, nil, err
		}
		if err := add(&children, typeChildUpdated, dict{"conversation_id": ses.ID, "child_session_id": kid.ID, "child": row}); err != nil {
			return nil, nil, err
		}
	}
	if err := add(&rest, typeChangedFiles, dict{"session_id": ses.ID}); err != nil {
		return nil, nil, err
	}
	err = add(&rest, typePresence, dict{"conversation_id": ses.ID, "viewers": []any{}})
	return children, rest, err
}
