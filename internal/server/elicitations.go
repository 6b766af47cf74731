package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/outrunner/outrunner/internal/server/store"
)

// relayQuestion takes a question of a runner's turn to a human. A runner tells
// it again on each new stream; only the first time is an event.
func (s *Server) relayQuestion(ctx context.Context, session string, fields map[string]json.RawMessage) error {
	if text(fields["elicitation_id"]) == "" {
		return badInput("%s needs an elicitation_id", typeQuestion)
	}
	if _, err := object(fields["params"], "params"); err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *store.Tx) error { return ask(ctx, tx, session, fields, true) })
}

// ask stores a question in the session that asks and, with the session's name,
// in all above it: whoever watches the root must see what its children wait for.
func ask(ctx context.Context, tx *store.Tx, session string, fields map[string]json.RawMessage, turn bool) error {
	ses, err := tx.Session(ctx, session)
	if err != nil {
		return err
	}
	raw, err := store.Encode(fields)
	if err != nil {
		return err
	}
	own, err := wholeEvent(typeQuestion, raw)
	if err != nil {
		return err
	}
	q := store.Elicitation{ID: text(fields["elicitation_id"]), Session: session, Target: session, Turn: turn, Event: own}
	for above := ses; ; {
		added, err := tx.Ask(q)
		if err != nil {
			return err
		}
		if added {
			if err := emit(tx, q.Session, typeQuestion, q.Event); err != nil {
				return err
			}
		}
		if above.ParentID == "" {
			break
		}
		if above, err = tx.Session(ctx, above.ParentID); err != nil {
			return ignoreNotFound(err)
		}
		q.Session = above.ID
		if q.Event, err = pointedAt(own, session); err != nil {
			return err
		}
	}
	if ses, err = tx.Session(ctx, session); err != nil { // with its new count
		return err
	}
	return tellParent(ctx, tx, ses)
}

// pointedAt is a question as the sessions above the asking one show it.
func pointedAt(event json.RawMessage, target string) (json.RawMessage, error) {
	fields, err := object(event, "question")
	if err != nil {
		return nil, err
	}
	params, err := object(fields["params"], "params")
	if err != nil {
		return nil, err
	}
	if params["target_session_id"], err = store.Encode(target); err != nil {
		return nil, err
	}
	if fields["params"], err = store.Encode(params); err != nil {
		return nil, err
	}
	return store.Encode(fields)
}

// relayAnswered takes the end of a question that the runner tells. That nobody
// answered it is not the runner's to say where no turn of its own asked: it is
// how a runner takes the very answer that is on its way to whoever did.
func (s *Server) relayAnswered(ctx context.Context, session string, fields map[string]json.RawMessage) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		q, err := tx.Elicitation(ctx, session, text(fields["elicitation_id"]))
		switch {
		case err != nil:
			return ignoreNotFound(err)
		case !q.Turn && isNull(fields["action"]):
			return nil
		}
		return answered(ctx, tx, session, fields)
	})
}

// answered ends a question wherever it is shown. One that is over already is no
// event: the runner tells the end of what was answered here too.
func answered(ctx context.Context, tx *store.Tx, target string, fields map[string]json.RawMessage) error {
	shown, err := tx.Answered(ctx, target, text(fields["elicitation_id"]))
	if err != nil || len(shown) == 0 {
		return err
	}
	for _, session := range shown {
		if err := emit(tx, session, typeAnswered, fields); err != nil {
			return err
		}
	}
	ses, err := tx.Session(ctx, target)
	if err != nil {
		return err
	}
	return tellParent(ctx, tx, ses)
}

// endQuestions ends what a turn that is over still asked: nobody waits for it.
func endQuestions(ctx context.Context, tx *store.Tx, session string) error {
	open, err := tx.Asked(ctx, session)
	if err != nil {
		return err
	}
	for _, q := range open {
		id, err := store.Encode(q.ID)
		if err != nil {
			return err
		}
		if err := answered(ctx, tx, session, map[string]json.RawMessage{"elicitation_id": id, "reason": json.RawMessage(`"unanswered"`)}); err != nil {
			return err
		}
	}
	return nil
}

// onElicitation asks a human on behalf of a program beside the turn; the answer
// goes to the session's runner.
func (s *Server) onElicitation(ctx context.Context, _ Principal, session string, ev inputEvent) (dict, error) {
	var in struct {
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(ev.Data, &in); err != nil {
		return nil, badInput("mcp_elicitation: malformed data: %v", err)
	}
	id := "elicit_" + store.NewID()
	raw, err := store.Encode(dict{"elicitation_id": id, "params": dict{"message": in.Message, "requestedSchema": rawOrNull(in.Schema)}})
	if err != nil {
		return nil, err
	}
	fields, err := object(raw, "question")
	if err != nil {
		return nil, err
	}
	if err := s.db.Write(ctx, func(tx *store.Tx) error { return ask(ctx, tx, session, fields, false) }); err != nil {
		return nil, err
	}
	return dict{"queued": false, "elicitation_id": id}, nil
}

// onApproval takes a human's answer as an event.
func (s *Server) onApproval(ctx context.Context, _ Principal, session string, ev inputEvent) (dict, error) {
	data, err := object(ev.Data, "data")
	if err != nil {
		return nil, err
	}
	if text(data["elicitation_id"]) == "" {
		return nil, badInput("an approval needs an elicitation_id")
	}
	return dict{"queued": false}, s.resolve(ctx, session, data)
}

// onExternalResolved ends a question that was answered where it was asked.
func (s *Server) onExternalResolved(ctx context.Context, _ Principal, session string, ev inputEvent) (dict, error) {
	data, err := object(ev.Data, "data")
	if err != nil {
		return nil, err
	}
	if text(data["elicitation_id"]) == "" {
		return nil, badInput("external_elicitation_resolved needs an elicitation_id")
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error { return answered(ctx, tx, session, data) })
	return dict{"queued": false}, err
}

// resolveElicitation is POST …/elicitations/{id}/resolve.
func (s *Server) resolveElicitation(w http.ResponseWriter, r *http.Request) error {
	session, err := s.sessionID(r)
	if err != nil {
		return err
	}
	body, err := readObject(w, r, maxBody)
	if err != nil {
		return err
	}
	switch text(body["action"]) {
	case "accept", "decline", "cancel":
	case "":
		if isNull(body["action"]) {
			return invalid("action", "missing", "Field required").given(body)
		}
		fallthrough
	default:
		const expected = "'accept', 'decline' or 'cancel'"
		return invalid("action", "literal_error", "Input should be %s", expected).given(body["action"]).about(dict{"expected": expected})
	}
	if _, err := s.db.Read().Session(r.Context(), session); err != nil {
		return err
	}
	data := map[string]json.RawMessage{"action": body["action"]}
	if !isNull(body["content"]) {
		data["content"] = body["content"]
	}
	if data["elicitation_id"], err = store.Encode(r.PathValue("elicitation_id")); err != nil {
		return err
	}
	if err := s.resolve(r.Context(), session, data); err != nil {
		return err
	}
	answer(w, s.log, http.StatusAccepted, dict{"queued": false})
	return nil
}

// resolve passes an answer on to the runner of the session that asks, also when
// it was given in a session above. The question is over when the runner has the
// answer, or when the session has no runner that could want it; until then it
// stays, and can be answered again.
func (s *Server) resolve(ctx context.Context, session string, data map[string]json.RawMessage) error {
	target := session
	q, err := s.db.Read().Elicitation(ctx, session, text(data["elicitation_id"]))
	switch {
	case err == nil:
		target = q.Target
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	ses, err := s.db.Read().Session(ctx, target)
	if err != nil {
		return err
	}
	if ses.RunnerID != "" {
		status, here, err := s.control(ctx, target, dict{"type": "approval", "data": data})
		if !here || !delivered(status, err) && !(err == nil && status == http.StatusNotFound) { // a runner that knows nothing of it does not wait
			s.log.Warn("the runner did not take an approval; it can be given again", "session", target, "online", here, "status", status, "error", err)
			return nil
		}
	}
	return ignoreNotFound(s.db.Write(ctx, func(tx *store.Tx) error { return answered(ctx, tx, target, data) }))
}

// getElicitation is GET …/elicitations/{id}: what a page of its own shows of a
// question.
func (s *Server) getElicitation(w http.ResponseWriter, r *http.Request) error {
	session, err := s.sessionID(r)
	if err != nil {
		return err
	}
	ctx, db := r.Context(), s.db.Read()
	if _, err := db.Session(ctx, session); err != nil {
		return err
	}
	q, err := db.Elicitation(ctx, session, r.PathValue("elicitation_id"))
	if errors.Is(err, store.ErrNotFound) {
		answer(w, s.log, http.StatusOK, dict{"status": "resolved"})
		return nil
	}
	if err != nil {
		return err
	}
	var event struct {
		Params map[string]json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(q.Event, &event); err != nil {
		return err
	}
	out := dict{"status": "pending"}
	for _, k := range []string{"message", "phase", "policy_name", "content_preview"} {
		out[k] = rawOrNull(event.Params[k])
	}
	answer(w, s.log, http.StatusOK, out)
	return nil
}

// questions are the events of the questions that a session shows.
func (s *Server) questions(ctx context.Context, session string) ([]any, error) {
	open, err := s.db.Read().Elicitations(ctx, session)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(open))
	for _, q := range open {
		out = append(out, q.Event)
	}
	return out, nil
}
