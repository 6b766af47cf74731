package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/outrunner/outrunner/internal/server/store"
)

// A session's history tells once of each resource that came or went, whoever
// says so: the server after a request of a user's, or the runner, which says it
// again when it comes back. Viewers may hear it twice.

// lastNews is a resource as the history last told of it, nil when it went or
// never came.
func lastNews(ctx context.Context, tx *store.Tx, session, id string) (json.RawMessage, error) {
	i, err := tx.LastResourceEvent(ctx, session, id)
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	data, err := object(i.Data, "item data")
	if err != nil {
		return nil, err
	}
	return data["resource"], nil
}

// resourceCame publishes a resource, and keeps it in the history unless kept
// says that it is only for viewers. One that is known otherwise went in between,
// or viewers would ignore what they know (terminals.md 2.4).
func resourceCame(ctx context.Context, tx *store.Tx, session string, res resource, kept bool) error {
	was, err := lastNews(ctx, tx, session, res.id)
	if err != nil {
		return err
	}
	same := sameJSON(was, res.raw)
	if was != nil && !same {
		if err := resourceWent(ctx, tx, session, res.id, res.kind, kept); err != nil {
			return err
		}
	}
	if kept && !same {
		if err := noteResource(ctx, tx, session, typeResourceCreated, res.id, res.kind, res.raw); err != nil {
			return err
		}
	}
	return emit(tx, session, typeResourceCreated, dict{"resource": res.raw})
}

// resourceWent publishes that a resource is gone, and notes it if the history
// has it.
func resourceWent(ctx context.Context, tx *store.Tx, session, id, kind string, kept bool) error {
	was, err := lastNews(ctx, tx, session, id)
	if err != nil {
		return err
	}
	if was != nil && kept {
		if err := noteResource(ctx, tx, session, typeResourceDeleted, id, kind, nil); err != nil {
			return err
		}
	}
	return emit(tx, session, typeResourceDeleted, dict{"resource_id": id, "resource_type": kind, "session_id": session})
}

// relayResource takes a runner's word that a resource came or went.
func (s *Server) relayResource(ctx context.Context, session, typ string, fields map[string]json.RawMessage) error {
	kept := string(fields["persist_resource_event"]) != "false"
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if typ == typeResourceCreated {
			res, err := readResource(fields["resource"])
			if err != nil {
				return err
			}
			return resourceCame(ctx, tx, session, res, kept)
		}
		id, kind := text(fields["resource_id"]), text(fields["resource_type"])
		if id == "" {
			res, err := readResource(fields["resource"])
			if err != nil {
				return badInput("%s names no resource", typ)
			}
			id, kind = res.id, res.kind
		}
		return resourceWent(ctx, tx, session, id, firstOf(kind, "terminal"), kept)
	})
}

// sameJSON compares two values, whatever the order of their keys and spaces.
func sameJSON(a, b json.RawMessage) bool {
	canonical := func(raw json.RawMessage) []byte {
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return nil
		}
		out, err := json.Marshal(v)
		if err != nil {
			return nil
		}
		return out
	}
	x, y := canonical(a), canonical(b)
	return x != nil && bytes.Equal(x, y)
}

// isNotFound says whether a refusal is a 404.
func isNotFound(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.status == http.StatusNotFound
}
