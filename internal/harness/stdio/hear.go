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
	// errUnanswerable: a program waits for a tool that cannot be run for it.
	errUnanswerable = errors.New("asked for a tool without a name or a call_id")
)

// heard is one line of a program, understood.
type heard struct {
	event  wire.HarnessEvent // Type is "" when there is nothing to pass on
	callID string            // of a tool call that waits for its result
	end    string            // one of the three that end a turn, or ""
	fault  fault             // of failedEnd
}

// fault is the error of a terminal, each part "" when it was not told.
type fault struct{ code, message, remediation string }

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
	case completed, cancelled:
		return heard{end: e.Type}, nil
	case failedEnd:
		var response struct {
			Error json.RawMessage `json:"error"`
		}
		// A response of another form has no error in it.
		_ = json.Unmarshal(e.Response, &response)
		f := hearFault(response.Error)
		if f == (fault{}) {
			f = hearFault(e.Error)
		}
		return heard{end: e.Type, fault: f}, nil
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
				return heard{}, errUnanswerable
			}
			return heard{}, fmt.Errorf("%w: a function_call without a name or a call_id", errNoise)
		}
		if waits {
			h.callID = callID
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
		Message     string          `json:"message"`
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
	return fault{code: keep.WithoutNUL(code), message: keep.WithoutNUL(e.Message), remediation: keep.WithoutNUL(e.Remediation)}
}

// str is a JSON string's text, or "".
func str(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
