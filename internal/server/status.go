package server

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/outrunner/outrunner/internal/server/store"
)

// codeDisconnected is the failure that only the loss of the runner caused; the
// runner's own idle heals it.
const codeDisconnected = "runner_disconnected"

// statusChange is a new status for a session.
type statusChange struct {
	status     string
	responseID string
	err        json.RawMessage            // an object with code and message, when failed
	fromRunner bool                       // it says that no turn runs any more, so it ends what is open
	lost       bool                       // the runner is away; idle gives its turn up
	external   bool                       // a program beside the turn says it: there may be no response to tell how the turn ended
	extra      map[string]json.RawMessage // background_task_count, background_tasks, blocked_on
}

// readStatus reads a session.status, or says that its value is none.
func readStatus(fields map[string]json.RawMessage) (statusChange, bool) {
	ch := statusChange{status: text(fields["status"]), responseID: text(fields["response_id"]), fromRunner: true, extra: fields}
	switch ch.status {
	case statusFailed:
		ch.err = taskError(fields["error"])
	case statusIdle, statusLaunching, statusRunning, statusWaiting:
	default:
		return ch, false
	}
	return ch, true
}

// applyStatus changes a session's status and publishes it, under the rules of
// server.md 3: failed is sticky against a later idle, but for a failure that
// only the runner's absence caused. A status that changes nothing is no event.
func applyStatus(ctx context.Context, tx *store.Tx, session string, ch statusChange) error {
	ses, err := tx.Session(ctx, session)
	if err != nil {
		return err
	}
	if ses.Status == statusFailed && ch.status == statusIdle && (!ch.fromRunner || errorCode(ses.Error) != codeDisconnected) {
		return nil
	}
	// A runner that is away may come back and tell how its turn ended: until
	// then the response has no end, whatever the status.
	if ch.fromRunner && (ch.status == statusIdle || ch.status == statusFailed) || ch.lost && ch.status == statusIdle {
		if err := endOpenResponses(ctx, tx, ses, ch); err != nil {
			return err
		}
	}
	task := ses.Outcome
	if err := settleTask(ctx, tx, ses, ch); err != nil {
		return err
	}
	response := ses.ResponseID
	switch ch.status {
	case statusIdle, statusFailed:
		response = ""
	case statusRunning:
		if ch.responseID != "" {
			response = ch.responseID
		}
	}
	if ses.Status == ch.status && bytes.Equal(ses.Error, ch.err) && ses.ResponseID == response && ch.status != statusWaiting {
		if ses.Outcome == task {
			return nil
		}
		if err := tx.SaveSession(ses); err != nil {
			return err
		}
		return tellParent(ctx, tx, ses)
	}
	if ch.status == statusRunning || ch.status == statusFailed || len(ses.Error) > 0 {
		if err := labelError(tx, ses, ch.err); err != nil {
			return err
		}
	}
	ses.Status, ses.Error, ses.ResponseID = ch.status, ch.err, response
	if err := tx.SaveSession(ses); err != nil {
		return err
	}
	if err := emit(tx, session, typeStatus, dict{"type": typeStatus, "conversation_id": session, "status": ch.status,
		"response_id": orNull(ch.responseID), "error": rawOrNull(ch.err),
		"background_task_count": rawOrNull(ch.extra["background_task_count"]),
		"background_tasks":      rawOrNull(ch.extra["background_tasks"]),
		"blocked_on":            rawOrNull(ch.extra["blocked_on"])}); err != nil {
		return err
	}
	return tellParent(ctx, tx, ses)
}

// endOpenResponses tells the end of the responses of which no end came: the
// status says that no turn runs any more. Either the runner is gone, or this
// server died between the arrival of the end and its commit.
func endOpenResponses(ctx context.Context, tx *store.Tx, ses *store.Session, ch statusChange) error {
	open, err := tx.OpenResponses(ctx, ses.ID)
	if err != nil {
		return err
	}
	if len(open) > 0 && !ch.lost { // a lost turn may come back and still wait
		if err := endQuestions(ctx, tx, ses.ID); err != nil {
			return err
		}
	}
	for _, r := range open {
		typ := typeCompleted
		switch {
		case ch.status == statusFailed:
			typ = typeFailed
		case ch.lost:
			typ = typeCancelled
		}
		r.Status = outcome(typ)
		if ch.lost {
			r.Status = store.Lost
		} else if typ == typeFailed {
			if err := storeError(ctx, tx, ses.ID, r.ID, "harness", ch.err); err != nil {
				return err
			}
		}
		event, body := map[string]json.RawMessage{}, map[string]json.RawMessage{"error": ch.err}
		if err := publishEnd(ctx, tx, ses, r, typ, event, body); err != nil {
			return err
		}
	}
	return nil
}

// taskError makes an error of the shape that clients need: an object whose code
// and message are never empty (sessions.md 14, trap 14).
func taskError(raw json.RawMessage) json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		given = map[string]json.RawMessage{"message": raw}
	}
	out := dict{"code": firstOf(text(given["code"]), text(given["type"]), "runner_error"),
		"message": firstOf(text(given["message"]), text(given["detail"]), "The turn failed, and the runner gave no reason.")}
	for _, k := range []string{"title", "cause", "remediation", "agent_name", "item_id"} {
		if v := text(given[k]); v != "" {
			out[k] = v
		}
	}
	b, err := store.Encode(out)
	if err != nil {
		return json.RawMessage(`{"code":"runner_error","message":"The turn failed."}`)
	}
	return b
}

func errorCode(taskError json.RawMessage) string {
	var e struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(taskError, &e) != nil {
		return ""
	}
	return e.Code
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
