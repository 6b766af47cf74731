package server

import (
	"context"
	"encoding/json"

	"github.com/outrunner/outrunner/internal/server/store"
)

// storeItem stores an item and publishes it under the id that it got. An item
// that the session already has is neither stored nor published again; the item
// given becomes the stored one.
func storeItem(ctx context.Context, tx *store.Tx, i *store.Item) (added bool, err error) {
	added, err = tx.AddItem(ctx, i)
	if err != nil || !added {
		return false, err
	}
	return true, publishItem(tx, i, "")
}

// publishItem publishes a stored item: a user's message as consumed input,
// everything else as a finished output item.
func publishItem(tx *store.Tx, i *store.Item, clearedPending string) error {
	data, err := object(i.Data, "item data")
	if err != nil {
		return err
	}
	if i.Type == "message" && text(data["role"]) == "user" {
		consumed := dict{"role": data["role"], "content": data["content"], "agent": rawOrNull(data["model"]),
			"user_authored": rawOrNull(data["user_authored"]), "stream_message_id": rawOrNull(data["stream_message_id"])}
		return emit(tx, i.Session, typeConsumed, dict{"type": typeConsumed, "data": dict{
			"item_id": i.ID, "type": i.Type, "data": consumed,
			"created_by": orNull(i.CreatedBy), "cleared_pending_id": orNull(clearedPending)}})
	}
	flat, err := flatItem(i)
	if err != nil {
		return err
	}
	return emit(tx, i.Session, typeItemDone, dict{"type": typeItemDone, "item": flat})
}

// settleInput takes the pending mark from a message that a runner has accepted,
// or whose turn it reports. Only the first time is an event.
func settleInput(ctx context.Context, tx *store.Tx, session, item string) error {
	had, err := tx.Settle(session, item)
	if err != nil || !had {
		return err
	}
	i, err := tx.Item(ctx, session, item)
	if err != nil {
		return err
	}
	shown := "" // as a message that waits
	if waits(i, tx.Now()) {
		shown = "pending_" + i.ID
	}
	return publishItem(tx, i, shown)
}

func settleInputs(ctx context.Context, tx *store.Tx, session string, items []string) error {
	for _, id := range items {
		if err := settleInput(ctx, tx, session, bareID(id)); err != nil {
			return err
		}
	}
	return nil
}

// errorItem makes the item that tells of a failed turn.
func errorItem(session, response, source string, taskError json.RawMessage) (*store.Item, error) {
	fields, err := object(taskError, "error")
	if err != nil {
		return nil, err
	}
	data := map[string]json.RawMessage{}
	if data["source"], err = store.Encode(source); err != nil {
		return nil, err
	}
	for _, k := range []string{"code", "message", "title", "cause", "remediation"} {
		if !isNull(fields[k]) {
			data[k] = fields[k]
		}
	}
	i, err := newItem(session, "error", data)
	if err != nil {
		return nil, err
	}
	i.ResponseID = response
	return i, nil
}
