package client

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTurn(t *testing.T) {
	ours := `{"response":{"id":"r"},"input_item_ids":["x","i"]}`
	other := `{"response":{"id":"q"},"input_item_ids":["x"]}`
	bare := `{"response":{"id":"r"}}`
	type step struct{ typ, data string }
	for name, c := range map[string]struct {
		steps  []step
		end    *End
		active bool
	}{
		"ours": {steps: []step{{"response.in_progress", ours}}, active: true},
		"ours, ended": {steps: []step{{"response.in_progress", ours}, {"response.completed", ours}},
			end: &End{Outcome: Completed, Response: "r"}, active: true},
		"only the end": {steps: []step{{"response.cancelled", ours}}, end: &End{Outcome: Cancelled, Response: "r"}},
		"failed": {steps: []step{{"response.failed", `{"response":{"id":"r","error":{"code":"c","message":"m","remediation":"do"}},"input_item_ids":["i"]}`}},
			end: &End{Outcome: Failed, Response: "r", Error: &Error{Code: "c", Message: "m", Remediation: "do"}}},
		"failed, error beside": {steps: []step{{"response.failed", `{"response":{"id":"r"},"error":{"code":"c","message":"m"},"input_item_ids":["i"]}`}},
			end: &End{Outcome: Failed, Response: "r", Error: &Error{Code: "c", Message: "m"}}},
		"incomplete is failed": {steps: []step{{"response.incomplete", ours}}, end: &End{Outcome: Failed, Response: "r"}},
		"handed on is no end":  {steps: []step{{"response.in_progress", ours}, {"response.incomplete", `{"response":{"id":"r","incomplete_details":{"reason":"runner_restarted"}},"input_item_ids":[]}`}}},
		"handed on, and ended": {steps: []step{{"response.in_progress", ours}, {"response.incomplete", `{"response":{"id":"r","incomplete_details":{"reason":"runner_restarted"}},"input_item_ids":[]}`},
			{"response.in_progress", `{"response":{"id":"s"},"input_item_ids":["i"]}`}, {"response.completed", `{"response":{"id":"s"},"input_item_ids":["i"]}`}},
			end: &End{Outcome: Completed, Response: "s"}, active: true},
		"another's": {steps: []step{{"response.in_progress", other}, {"response.completed", other}}},
		"another's before ours": {steps: []step{{"response.in_progress", other}, {"response.completed", other}, {"response.in_progress", ours}},
			active: true},
		"another's after ours": {steps: []step{{"response.in_progress", ours}, {"response.in_progress", other}}},
		"idle says nothing":    {steps: []step{{"response.in_progress", ours}, {"session.status", `{"status":"idle"}`}}, active: true},
		"away is no end": {steps: []step{{"response.in_progress", ours}, {"session.status", `{"status":"failed","error":{"code":"runner_disconnected"}}`}},
			active: true},
		"refused": {steps: []step{{"session.status", `{"status":"failed","error":{"code":"runner_rejected_event","message":"m"}}`}},
			end: &End{Outcome: Failed, Error: &Error{Code: "runner_rejected_event", Message: "m"}}},
		"another's refusal": {steps: []step{{"response.in_progress", ours}, {"session.status", `{"status":"failed","error":{"code":"runner_rejected_event","item_id":"x"}}`}},
			active: true},
		"a server that names no items": {steps: []step{{"response.in_progress", bare}, {"response.completed", bare}},
			end: &End{Outcome: Completed, Response: "r"}, active: true},
		"a server that names no items and forgets the end": {steps: []step{{"response.in_progress", bare}, {"session.status", `{"status":"idle"}`}},
			end: &End{Outcome: Completed, Response: "r"}, active: true},
		"one that waits for its sub-agents has ended its turn": {steps: []step{{"response.in_progress", bare}, {"session.status", `{"status":"waiting"}`}},
			end: &End{Outcome: Completed, Response: "r"}, active: true},
		"idle before the turn": {steps: []step{{"session.status", `{"status":"idle"}`}}},
	} {
		turn := turn{item: "i"}
		var end *End
		for _, s := range c.steps {
			b, err := read(Event{Type: s.typ, Data: json.RawMessage(s.data)})
			require.NoError(t, err)
			end = turn.take(Event{Type: s.typ}, &b)
		}
		require.Equal(t, c.end, end, name)
		require.Equal(t, c.active, turn.active, name)
	}
}
