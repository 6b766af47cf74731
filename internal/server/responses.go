package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// beginResponse takes a response.in_progress. The first of a response is stored
// and published, and one that takes up a lost response again; a repeated one,
// which a runner sends on each new stream, only settles its inputs. It answers
// whether the response is running.
func beginResponse(ctx context.Context, tx *store.Tx, ses *store.Session, fields map[string]json.RawMessage) (store.Response, bool, error) {
	r, body, err := readResponse(ctx, tx, ses, fields)
	if err != nil {
		return r, false, err
	}
	if err := settleInputs(ctx, tx, ses.ID, r.Inputs); err != nil {
		return r, false, err
	}
	news := r.Status == "" || r.Status == store.Lost
	if news {
		r.Status = store.InProgress
	}
	if err := tx.SaveResponse(r); err != nil {
		return r, false, err
	}
	if r.Open() && ses.ResponseID != r.ID {
		ses.ResponseID = r.ID
		if err := tx.SaveSession(ses); err != nil {
			return r, false, err
		}
	}
	if !news {
		return r, r.Open(), nil
	}
	fields["response"], fields["input_item_ids"], err = completeResponse(tx, r, body, ses.AgentName)
	if err != nil {
		return r, false, err
	}
	return r, true, emit(tx, ses.ID, typeInProgress, fields)
}

// finishResponse takes a terminal response event. The end of a response is
// stored and published once, however often the runner tells it.
func finishResponse(ctx context.Context, tx *store.Tx, ses *store.Session, typ string, fields map[string]json.RawMessage) error {
	r, body, err := readResponse(ctx, tx, ses, fields)
	if err != nil {
		return err
	}
	if err := settleInputs(ctx, tx, ses.ID, r.Inputs); err != nil {
		return err
	}
	if r.Status != "" && !r.Open() {
		return nil
	}
	if isNull(body["error"]) {
		body["error"] = fields["error"] // some harnesses put it beside the response
	}
	if typ == typeFailed {
		body["error"] = taskError(body["error"])
		if err := storeError(ctx, tx, ses.ID, r.ID, firstOf(text(fields["source"]), "harness"), body["error"]); err != nil {
			return err
		}
	}
	r.Status = outcome(typ)
	if handedOn(typ, fields) {
		r.Inputs = nil
	}
	return publishEnd(ctx, tx, ses, r, typ, fields, body)
}

// handedOn says that a response ended because another one goes on in its place:
// it is incomplete, and answers nothing any more.
func handedOn(typ string, fields map[string]json.RawMessage) bool {
	return typ == typeIncomplete && !isNull(fields["input_item_ids"]) && len(list(fields["input_item_ids"])) == 0
}

// outcome is the status of a response that ended with that event.
func outcome(typ string) string { return strings.TrimPrefix(typ, "response.") }

// publishEnd stores a response with the status that it has, and publishes that
// it is over: event is the event to complete, body the response object in it.
func publishEnd(ctx context.Context, tx *store.Tx, ses *store.Session, r store.Response, typ string, event, body map[string]json.RawMessage) error {
	if err := tx.SaveResponse(r); err != nil {
		return err
	}
	if ses.ResponseID == r.ID {
		ses.ResponseID = ""
	}
	// A turn that was lost may come back and end in its own way, and one that was
	// handed on goes on.
	goesOn := r.Status == store.Lost || handedOn(typ, event)
	r.Status = outcome(typ)
	var err error
	if !handedOn(typ, event) {
		if err = endTask(ctx, tx, ses, r.Status); err != nil {
			return err
		}
	}
	if err := tx.SaveSession(ses); err != nil {
		return err
	}
	if !goesOn {
		if err := noteReturned(ctx, tx, ses, r.ID, taskOutcome(r.Status)); err != nil {
			return err
		}
	}
	if event["response"], event["input_item_ids"], err = completeResponse(tx, r, body, ses.AgentName); err != nil {
		return err
	}
	if event["type"], err = store.Encode(typ); err != nil {
		return err
	}
	return emit(tx, ses.ID, typ, event)
}

// storeError stores an error item, unless the same error is already told in
// this turn.
func storeError(ctx context.Context, tx *store.Tx, session, response, source string, taskError json.RawMessage) error {
	i, err := errorItem(session, response, source, taskError)
	if err != nil {
		return err
	}
	told, err := tx.LastError(ctx, session)
	if ignoreNotFound(err) != nil {
		return err
	}
	if told != nil && told.ResponseID == response && errorCode(told.Data) == errorCode(i.Data) {
		return nil
	}
	_, err = storeItem(ctx, tx, i)
	return err
}

// readResponse reads the response that an event is about: what is stored of it,
// joined with the inputs that the event names. Status is "" for a new one.
func readResponse(ctx context.Context, tx *store.Tx, ses *store.Session, fields map[string]json.RawMessage) (store.Response, map[string]json.RawMessage, error) {
	body := map[string]json.RawMessage{}
	if !isNull(fields["response"]) {
		var err error
		if body, err = object(fields["response"], "response"); err != nil {
			return store.Response{}, nil, err
		}
	}
	id := clip(firstOf(text(body["id"]), ses.ResponseID, "turn_"+store.NewID()), maxResponseID)
	r, err := tx.Response(ctx, ses.ID, id)
	if errors.Is(err, store.ErrNotFound) {
		r, err = store.Response{Session: ses.ID, ID: id}, nil
	}
	if err != nil {
		return r, nil, err
	}
	r.Model = firstOf(text(body["model"]), r.Model, ses.AgentName)
	for _, item := range list(fields["input_item_ids"]) {
		if item = bareID(item); !slices.Contains(r.Inputs, item) {
			r.Inputs = append(r.Inputs, item)
		}
	}
	return r, body, nil
}

// maxResponseID bounds a response id (server.md 0).
const maxResponseID = 64

// completeResponse is a response object with every field that clients require,
// and its list of inputs.
func completeResponse(tx *store.Tx, r store.Response, body map[string]json.RawMessage, agent string) (response, inputs json.RawMessage, err error) {
	full := make(dict, len(body)+8)
	for _, k := range []string{"usage", "previous_response_id", "conversation", "instructions", "reasoning", "error", "incomplete_details", "completed_at"} {
		full[k] = nil
	}
	full["created_at"], full["output"], full["background"], full["store"] = tx.Now(), []any{}, false, true
	if r.Status != store.InProgress {
		full["completed_at"] = tx.Now()
	}
	for k, v := range body {
		if !isNull(v) {
			full[k] = v
		}
	}
	full["id"], full["object"], full["status"], full["model"] = r.ID, "response", r.Status, firstOf(r.Model, agent)
	if response, err = store.Encode(full); err != nil {
		return nil, nil, err
	}
	ids := r.Inputs
	if ids == nil {
		ids = []string{}
	}
	inputs, err = store.Encode(ids)
	return response, inputs, err
}
