package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// After an interrupt the rest of the response is held back, but never an item
// that the runner posts, nor the end.
func TestInterrupt(t *testing.T) {
	s, r, session, input := started(t)
	v := s.watch(session, "")
	r.say(session, status(session, "running"), response("in_progress", "resp_1", []string{input}), question("e", "May I?"), preview("t:1", 0, "a"))
	v.until("response.output_text.delta")
	require.Equal(t, map[string]any{"queued": false}, s.post(session, "interrupt", nil))
	require.Len(t, r.requests(session, "interrupt"), 1)
	interrupted := v.until("session.interrupted")
	require.Equal(t, "resp_1", interrupted[len(interrupted)-1].data["data"].(map[string]any)["response_id"])

	r.say(session, preview("t:1", 1, "late"), item("message", map[string]any{"role": "assistant", "content": "late"}),
		map[string]any{"type": "response.elicitation_resolved", "elicitation_id": "e", "action": "cancel"})
	v.until("response.elicitation_resolved")
	s.external(session, "resp_1", "t:1", "kept")
	r.say(session, response("cancelled", "resp_1", []string{input}), status(session, "idle"))
	require.Equal(t, []string{"response.output_item.done", "response.cancelled", "session.status"}, types(v.until("session.status")))
	require.Equal(t, []string{"go", "kept"}, s.texts(session))

}

// The end of the interrupted response lifts the fence, and so does the begin of
// the next turn.
func TestWhatLiftsTheFence(t *testing.T) {
	for name, lift := range map[string]func(session string) map[string]any{
		"the end":   func(string) map[string]any { return response("cancelled", "resp_1", nil) },
		"next turn": func(session string) map[string]any { return status(session, "running") },
	} {
		t.Run(name, func(t *testing.T) {
			s, r, session, _ := started(t)
			r.say(session, status(session, "waiting"), response("in_progress", "resp_1", nil))
			v := s.watch(session, "")
			s.status(session, "waiting")
			s.post(session, "interrupt", nil)
			r.say(session, preview("t:1", 0, "held"), lift(session), preview("u:1", 0, "free"))
			events := v.until("response.output_text.delta")
			require.Equal(t, "free", events[len(events)-1].data["delta"])
		})
	}
}

func TestAnInterruptThatDoesNotArriveHoldsNothing(t *testing.T) {
	s, r, session, _ := started(t)
	r.say(session, status(session, "running"), response("in_progress", "resp_1", nil))
	s.status(session, "running")
	r.answers(func(request) (int, string) { return 500, "{}" })
	v := s.watch(session, "")
	s.post(session, "interrupt", nil)
	r.say(session, preview("t:1", 0, "still"))
	require.Equal(t, "response.output_text.delta", v.next().typ)
	out := s.ok(503, "POST", "/v1/sessions/"+session+"/events", map[string]any{"type": "stop_session"})
	require.Equal(t, "runner_unavailable", out["error"].(map[string]any)["code"])
	r.say(session, preview("t:1", 1, " here"))
	require.Equal(t, "response.output_text.delta", v.next().typ)
}

func TestControlsWithoutARunner(t *testing.T) {
	s, r, session, _ := started(t)
	r.say(session, response("in_progress", "resp_1", nil), status(session, "running"))
	s.status(session, "running")
	r.disconnect()
	s.eventually("away", func() bool { return s.snapshot(session)["runner_online"] == false })
	s.post(session, "interrupt", nil)
	require.Equal(t, "running", s.snapshot(session)["status"], "an interrupt changes nothing")
	out := s.ok(503, "POST", "/v1/sessions/"+session+"/events", map[string]any{"type": "retry_session"})
	require.Equal(t, "No runner is available to recover this session.", out["error"].(map[string]any)["message"])
	v := s.watch(session, "")
	s.post(session, "stop_session", nil)
	require.Equal(t, "idle", s.snapshot(session)["status"], "a stop settles")
	require.Equal(t, []string{"response.cancelled", "session.status"}, types(v.until("session.status")))
	r.connect(s)
	require.Equal(t, "already_connected", s.post(session, "retry_session", nil)["recovery"])
	s.post(session, "approval", map[string]any{"elicitation_id": "e1", "action": "accept"})
	require.Equal(t, map[string]any{"elicitation_id": "e1", "action": "accept"}, r.await(s, session, "approval", 1)[0].body["data"])
	s.ok(400, "POST", "/v1/sessions/"+session+"/events", map[string]any{"type": "approval", "data": map[string]any{}})
}
