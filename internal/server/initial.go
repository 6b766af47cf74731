package server

import (
	"context"
	"encoding/json"

	"github.com/outrunner/outrunner/internal/server/store"
)

// initialItems reads the items that a session begins with; each has the shape
// of a posted event.
func initialItems(p Principal, session string, raw []json.RawMessage) ([]*store.Item, error) {
	var out []*store.Item
	for _, b := range raw {
		fields, err := object(b, "an initial item")
		if err != nil {
			return nil, err
		}
		typ := text(fields["type"])
		data := fields
		if !isNull(fields["data"]) {
			if data, err = object(fields["data"], "data"); err != nil {
				return nil, err
			}
		}
		if typ == "message" && text(data["role"]) == "user" {
			whole, err := store.Encode(data)
			if err != nil {
				return nil, err
			}
			i, _, err := readMessage(p, session, inputEvent{Data: whole})
			if err != nil {
				return nil, err
			}
			out = append(out, i)
			continue
		}
		i, err := newItem(session, typ, data)
		if err != nil {
			return nil, err
		}
		i.ResponseID = "turn_" + store.NewID()
		out = append(out, i)
	}
	return out, nil
}

// addInitial stores the items; the user's messages at their end are work.
func addInitial(ctx context.Context, tx *store.Tx, ses *store.Session, items []*store.Item) error {
	work := len(items)
	for work > 0 && isUserMessage(items[work-1]) {
		work--
	}
	for n, i := range items {
		added, err := tx.AddItem(ctx, i)
		if err != nil {
			return err
		}
		if added && n >= work {
			if err := tx.Pend(i, map[string]json.RawMessage{}); err != nil {
				return err
			}
			beginTask(ses, i)
		}
		seedTitle(ses, i)
	}
	if len(items) == 0 {
		return nil
	}
	return tx.SaveSession(ses)
}

func isUserMessage(i *store.Item) bool {
	var m struct {
		Role string `json:"role"`
	}
	return i.Type == "message" && json.Unmarshal(i.Data, &m) == nil && m.Role == "user"
}
