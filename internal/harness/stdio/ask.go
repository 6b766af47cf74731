package stdio

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/runner/wire"
)

// maxWaits bounds what a program waits for at once.
const maxWaits = 128

var errTooMany = errors.New("waits for too many answers at once")

// waiting is an answer that a program waits for: its type, and the id that the
// program knows it by.
type waiting struct{ answer, id string }

// asking are the fields of a line that asks somebody.
type asking struct {
	ElicitationID json.RawMessage `json:"elicitation_id"`
	Method        json.RawMessage `json:"method"`
	Params        json.RawMessage `json:"params"`
	Tool          json.RawMessage `json:"tool"`
	EvaluationID  json.RawMessage `json:"evaluation_id"`
	Phase         json.RawMessage `json:"phase"`
	Data          json.RawMessage `json:"data"`
	InjectionID   json.RawMessage `json:"injection_id"`
}

// question is a question to a human. The id under which it is asked is ours:
// a program's may be the same in two turns.
func (a asking) question() (heard, error) {
	id := str(a.ElicitationID)
	if id == "" {
		return heard{}, fmt.Errorf("%w a question without an elicitation_id", errUnanswerable)
	}
	var params map[string]json.RawMessage
	if json.Unmarshal(a.Params, &params) != nil || str(params["message"]) == "" {
		return heard{}, fmt.Errorf("%w a question without a message in its params", errUnanswerable)
	}
	if str(params["mode"]) == "" {
		params["mode"] = json.RawMessage(`"form"`)
	}
	text, err := json.Marshal(params)
	if err != nil {
		return heard{}, fmt.Errorf("%w: %w", errUnanswerable, err)
	}
	ask := &wire.Elicitation{ID: newAskID(), Method: "elicitation/create", Params: text}
	if method := str(a.Method); method != "" {
		ask.Method = keep.WithoutNUL(method)
	}
	if len(a.Tool) > 0 && string(a.Tool) != "null" {
		var tool wire.ToolUse
		if json.Unmarshal(a.Tool, &tool) != nil || tool.Name == "" {
			return heard{}, fmt.Errorf("%w a question about a tool without a name", errUnanswerable)
		}
		if tool.Args = argsOf(tool.Args); tool.Args == nil {
			return heard{}, fmt.Errorf("%w a question about a tool whose arguments are no object", errUnanswerable)
		}
		ask.Tool = &tool
	}
	return heard{event: wire.HarnessEvent{Type: wire.ElicitationRequest, Ask: ask}, waits: waiting{wire.Approval, id}}, nil
}

// policy is a question to the server's policies.
func (a asking) policy() (heard, error) {
	id, phase := str(a.EvaluationID), str(a.Phase)
	if id == "" || phase == "" {
		return heard{}, fmt.Errorf("%w the policies without an evaluation_id or a phase", errUnanswerable)
	}
	data := a.Data
	if len(data) == 0 || string(data) == "null" {
		data = json.RawMessage("{}")
	}
	return heard{
		event: wire.HarnessEvent{Type: wire.PolicyRequested, Policy: &wire.PolicyRequest{ID: id, Phase: phase, Data: data}},
		waits: waiting{wire.PolicyVerdict, id},
	}, nil
}

// argsOf is an object, also when it comes as a text of JSON; nil for none.
func argsOf(raw json.RawMessage) json.RawMessage {
	if text := str(raw); text != "" {
		raw = json.RawMessage(text)
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return raw
}

func newAskID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return "elicit_" + hex.EncodeToString(id[:])
}

// await notes what the program waits for, before anybody can answer. It returns
// false for a question that waits already.
func (r *Run) await(h heard) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := h.waits
	for _, w := range r.waits {
		if w == h.waits && w.answer == wire.Approval {
			return false, nil
		}
	}
	if h.event.Ask != nil {
		key.id = h.event.Ask.ID
	}
	if len(r.waits) == maxWaits {
		return false, errTooMany
	}
	r.waits[key] = h.waits
	return true, nil
}

// answered takes the program's own id for an answer out of what it waits for.
func (r *Run) answered(key waiting) (id string, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, waits := r.waits[key]
	delete(r.waits, key)
	return w.id, waits
}
