package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A turn that another one goes on with has ended without answering anything:
// its message has the outcome of the other one, and a parent is told once.
func TestATurnThatIsHandedOn(t *testing.T) {
	s, r, session, input := started(t)
	v := s.watch(session, "")
	r.say(session, status(session, "running"), response("in_progress", "resp_1", []string{input}))
	v.until("response.in_progress")
	over := response("incomplete", "resp_1", []string{})
	over["response"].(map[string]any)["incomplete_details"] = map[string]any{"reason": "runner_restarted"}
	r.say(session, over, status(session, "running"), response("in_progress", "resp_2", []string{input}))
	events := v.until("response.in_progress")
	require.Equal(t, "response.incomplete", events[0].typ)
	require.Equal(t, []any{}, events[0].data["input_item_ids"])
	require.Equal(t, map[string]any{"reason": "runner_restarted"}, events[0].data["response"].(map[string]any)["incomplete_details"])
	require.Equal(t, "resp_2", s.snapshot(session)["active_response_id"])
	r.say(session, response("completed", "resp_2", []string{input}), status(session, "idle"))
	events = v.until("response.completed")
	require.Equal(t, []any{input}, events[len(events)-1].data["input_item_ids"])
}
