package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/runner/wire"
)

// maxLine bounds one line of a program, in bytes, without its line feed.
const maxLine = 1 << 20

// The events that end a turn.
const (
	completed = "response.completed"
	failedEnd = "response.failed"
	cancelled = "response.cancelled"
)

var (
	// errNoise: a line is none of ours. It is skipped.
	errNoise = errors.New("not an event")
	// errUnanswerable: a program waits for an answer that cannot be given.
	errUnanswerable = errors.New("asked")
)

// heard is one line of a program, understood.
type heard struct {
	event wire.HarnessEvent // Type is "" when there is nothing to pass on
	waits waiting           // for an answer; the zero value does not
	end   string            // one of the three that end a turn, or ""
	fault fault             // of failedEnd
	usage json.RawMessage   // of any end, or nil
}

// fault is the error of a terminal, each part "" when it was not told.
type fault struct{ code, kind, message, title, cause, remediation string }

// terminal reads what a line that ends a turn says about that.
func terminal(kind string, own, response json.RawMessage, usage json.RawMessage) heard {
	var r struct {
		Error json.RawMessage `json:"error"`
		Usage json.RawMessage `json:"usage"`
	}
	// A response of another form has nothing in it.
	_ = json.Unmarshal(response, &r)
	h := heard{end: kind, usage: hearUsage(r.Usage)}
	if h.usage == nil {
		h.usage = hearUsage(usage)
	}
	if kind == failedEnd {
		if h.fault = hearFault(r.Error); h.fault == (fault{}) {
			h.fault = hearFault(own)
		}
	}
	return h
}

// hearUsage reads what a turn cost: its numbers, and the model's name.
func hearUsage(raw json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for key, value := range all {
		var n float64
		if json.Unmarshal(value, &n) != nil && (key != "model" || str(value) == "") || string(value) == "null" {
			delete(all, key)
		}
	}
	if len(all) == 0 {
		return nil
	}
	out, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return out
}

// hear understands a line. Its errors are errNoise and errUnanswerable,
// perhaps with a reason.
func hear(text []byte) (heard, error) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if len(text) == 0 || text[0] != '{' {
		return heard{}, errNoise
	}
	var e struct {
		Type     string          `json:"type"`
		Delta    json.RawMessage `json:"delta"`
		Item     json.RawMessage `json:"item"`
		Error    json.RawMessage `json:"error"`
		Response json.RawMessage `json:"response"`
		Usage    json.RawMessage `json:"usage"`
		asking
	}
	if err := json.Unmarshal(keep.Visible(text), &e); err != nil {
		return heard{}, fmt.Errorf("%w: %w", errNoise, err)
	}
	switch e.Type {
	case wire.TextDelta, wire.ReasoningDelta:
		var delta string
		if err := json.Unmarshal(e.Delta, &delta); err != nil {
			return heard{}, fmt.Errorf("%w: a %s without a text", errNoise, e.Type)
		}
		return heard{event: wire.HarnessEvent{Type: e.Type, Delta: keep.WithoutNUL(delta)}}, nil
	case wire.HeartbeatEvent:
		return heard{event: wire.HarnessEvent{Type: e.Type}}, nil
	case wire.ItemDone:
		return hearItem(e.Item)
	case completed, cancelled, failedEnd:
		return terminal(e.Type, e.Error, e.Response, e.Usage), nil
	case wire.ElicitationRequest:
		return e.question()
	case wire.PolicyRequested:
		return e.policy()
	case wire.InjectionConsumed:
		if id := str(e.InjectionID); id != "" {
			return heard{event: wire.HarnessEvent{Type: e.Type, Consumed: id}}, nil
		}
		return heard{}, fmt.Errorf("%w: an %s without an injection_id", errNoise, e.Type)
	}
	if strings.HasPrefix(e.Type, "response.") {
		return heard{}, nil // created, in_progress, or of a vocabulary newer than ours
	}
	return heard{}, errNoise
}

// hearItem takes a function call or its output, and mends what programs often
// get wrong: arguments and outputs that are JSON instead of a string of it.
func hearItem(raw json.RawMessage) (heard, error) {
	var item map[string]json.RawMessage
	if err := json.Unmarshal(raw, &item); err != nil {
		return heard{}, fmt.Errorf("%w: an item that is not an object", errNoise)
	}
	tidy(item)
	kind, callID, status := str(item["type"]), str(item["call_id"]), str(item["status"])
	h := heard{event: wire.HarnessEvent{Type: wire.ItemDone}}
	mend := "output"
	switch kind {
	case "function_call":
		waits := status == "action_required"
		if callID == "" || str(item["name"]) == "" {
			if waits {
				return heard{}, fmt.Errorf("%w for a tool without a name or a call_id", errUnanswerable)
			}
			return heard{}, fmt.Errorf("%w: a function_call without a name or a call_id", errNoise)
		}
		if waits {
			h.waits = waiting{wire.ToolResult, callID}
		}
		mend = "arguments"
	case "function_call_output":
		if callID == "" {
			return heard{}, fmt.Errorf("%w: a function_call_output without a call_id", errNoise)
		}
	default:
		return heard{}, fmt.Errorf("%w: an item of type %q; text is told by %s", errNoise, kind, wire.TextDelta)
	}
	text, err := json.Marshal(textOf(item[mend], mend))
	if err != nil {
		return heard{}, fmt.Errorf("%w: %w", errNoise, err)
	}
	item[mend] = text
	if h.event.Item, err = json.Marshal(item); err != nil {
		return heard{}, fmt.Errorf("%w: %w", errNoise, err)
	}
	return h, nil
}

// tidy removes what a reader of the item could take for one of its keys: JSON
// in Go does not tell "Name" from "name"; and a status that is no text.
func tidy(item map[string]json.RawMessage) {
	for _, key := range []string{"type", "status", "call_id", "name", "arguments", "output"} {
		for other := range item {
			if other != key && strings.EqualFold(other, key) {
				delete(item, other)
			}
		}
	}
	if str(item["status"]) == "" {
		delete(item, "status")
	}
}

// textOf is a string, or the JSON of what should have been one.
func textOf(raw json.RawMessage, what string) string {
	var s *string
	switch {
	case len(raw) > 0 && json.Unmarshal(raw, &s) != nil:
		return keep.WithoutNUL(string(raw))
	case s != nil && *s != "":
		return keep.WithoutNUL(*s)
	case what == "arguments":
		return "{}"
	}
	return ""
}

// hearFault reads an error: an object, or just its text. null is none.
func hearFault(raw json.RawMessage) fault {
	var e struct {
		Code        json.RawMessage `json:"code"` // a number, in some libraries
		Type        json.RawMessage `json:"type"`
		Message     string          `json:"message"`
		Title       json.RawMessage `json:"title"`
		Cause       json.RawMessage `json:"cause"`
		Remediation string          `json:"remediation"`
	}
	if text := str(raw); text != "" {
		return fault{message: keep.WithoutNUL(text)}
	}
	// Whatever else it is, what could be read of it counts.
	_ = json.Unmarshal(raw, &e)
	code := str(e.Code)
	if code == "" && string(e.Code) != "null" {
		code = strings.Trim(string(e.Code), `"`)
	}
	return fault{
		code: keep.WithoutNUL(code), kind: keep.WithoutNUL(str(e.Type)), message: keep.WithoutNUL(e.Message),
		title: keep.WithoutNUL(str(e.Title)), cause: keep.WithoutNUL(str(e.Cause)), remediation: keep.WithoutNUL(e.Remediation),
	}
}

// str is a JSON string's text, or "".
func str(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
