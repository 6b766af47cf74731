package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Only a runner can make a context shorter, and it says whether it did.
func TestCompact(t *testing.T) {
	s, r, session, _ := started(t)
	path := "/v1/sessions/" + session + "/events"
	for status, want := range map[int]int{200: 202, 204: 400, 500: 500} {
		r.answers(func(request) (int, string) { return status, "{}" })
		s.ok(want, "POST", path, map[string]any{"type": "compact", "data": map[string]any{}})
	}
	require.Len(t, r.requests(session, "compact"), 3)
	s.ok(400, "POST", "/v1/sessions/"+s.session()+"/events", map[string]any{"type": "compact", "data": map[string]any{}})
}

// A tool's result goes to the turn that waits for it, or is refused.
func TestToolResult(t *testing.T) {
	s, r, session, _ := started(t)
	out := s.post(session, "function_call_output", map[string]any{"call_id": "c", "output": "o"})
	require.Equal(t, map[string]any{"queued": true, "item_id": "c"}, out)
	require.Equal(t, map[string]any{"type": "tool_result", "call_id": "c", "output": "o"}, r.await(s, session, "tool_result", 1)[0].body)
	path := "/v1/sessions/" + session + "/events"
	s.ok(400, "POST", path, map[string]any{"type": "function_call_output", "data": map[string]any{"call_id": "c"}})
	r.disconnect()
	s.eventually("runner offline", func() bool { return s.snapshot(session)["runner_online"] == false })
	s.ok(503, "POST", path, map[string]any{"type": "function_call_output", "data": map[string]any{"call_id": "c", "output": "o"}})
}

// The labels repeat the last error, and are there from the first turn on.
func TestErrorLabels(t *testing.T) {
	s, r, session, _ := started(t)
	labels := func() map[string]any { return s.snapshot(session)["labels"].(map[string]any) }
	require.Empty(t, labels())
	r.say(session, status(session, "running"))
	s.status(session, "running")
	require.Len(t, labels(), len(errorLabels))
	require.Equal(t, "", labels()[errorLabelPrefix+"code"])
	r.say(session, status(session, "failed", map[string]any{"error": map[string]any{"code": "c", "message": "m", "title": "t"}}))
	s.status(session, "failed")
	for k, want := range map[string]string{"code": "c", "message": "m", "title": "t", "cause": "", "remediation": "", "agent_name": "shell",
		"item_id": "", "runner_id": r.id()} {
		require.Equal(t, want, labels()[errorLabelPrefix+k], k)
	}
	require.Equal(t, map[string]any{"code": "c", "message": "m", "title": "t", "agent_name": "shell"}, s.snapshot(session)["last_task_error"])
	r.say(session, status(session, "running"))
	s.status(session, "running")
	require.Equal(t, "", labels()[errorLabelPrefix+"code"])
}
