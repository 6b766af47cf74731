package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// One message to our runner and back: what the runner gets, what a viewer sees
// and in which order, and what is stored.
func TestOneTurn(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret-1")
	session := s.session()
	v := s.watch(session, "")
	item := s.send(session, "uname -a", map[string]any{"stable_id": "0123456789abcdef0123456789abcdef"})

	got := r.await(s, session, "message", 1)[0]
	require.Equal(t, "POST", got.method)
	require.Equal(t, "/v1/sessions/"+session+"/events", got.path)
	revision := got.body["agent_revision"].(string)
	require.Regexp(t, `^`+s.shell()+`/[0-9a-f]{64}$`, revision)
	require.Equal(t, map[string]any{"type": "message", "role": "user",
		"content":  []any{map[string]any{"type": "input_text", "text": "uname -a"}},
		"agent_id": s.shell(), "model": "shell", "has_mcp_servers": false, "browser_renderer_available": false,
		"persisted_item_id": item, "agent_revision": revision, "stable_id": "0123456789abcdef0123456789abcdef"}, got.body)
	s.eventually("the message is accepted", func() bool { return len(s.snapshot(session)["pending_inputs"].([]any)) == 0 })

	r.say(session, status(session, "running", map[string]any{"response_id": "resp_1"}), response("in_progress", "resp_1", []string{item}),
		preview("turn1:1", 0, "Li"), preview("turn1:1", 1, "nux\n"))
	v.until("response.in_progress")
	require.Equal(t, "running", s.snapshot(session)["status"])
	require.Equal(t, "resp_1", s.snapshot(session)["active_response_id"])
	for n, want := range []string{"Li", "nux\n"} {
		d := v.next()
		require.Equal(t, "response.output_text.delta", d.typ)
		require.Empty(t, d.id, "a delta has no id")
		require.Equal(t, want, d.data["delta"])
		require.EqualValues(t, n, d.data["index"])
	}
	stored := s.external(session, "resp_1", "turn1:1", "Linux\n")
	done := v.next()
	require.Equal(t, "response.output_item.done", done.typ)
	require.NotEmpty(t, done.id)
	live := done.data["item"].(map[string]any)
	require.Equal(t, stored, live["id"])
	require.Equal(t, "turn1:1", live["stream_message_id"])
	require.Equal(t, "shell", live["model"])
	require.Equal(t, stored, s.external(session, "resp_1", "turn1:1", "something else"), "the first of equal source ids counts")

	r.say(session, response("completed", "resp_1", []string{item}), status(session, "idle"))
	tail := v.until("session.status")
	require.Equal(t, []string{"response.completed", "session.status"}, types(tail))
	require.Equal(t, []any{item}, tail[0].data["input_item_ids"])
	require.Equal(t, "idle", tail[1].data["status"])

	snap := s.snapshot(session)
	require.Equal(t, "idle", snap["status"])
	require.Nil(t, snap["active_response_id"])
	require.Equal(t, "uname -a", snap["title"])
	require.Equal(t, r.id(), snap["runner_id"])
	require.Equal(t, []string{"uname -a", "Linux\n"}, s.texts(session))
	require.Equal(t, "resp_1", s.items(session)[1]["response_id"])
}
