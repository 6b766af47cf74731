package server

import (
	"strings"
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

// A skill is resolved by the runner. What the user typed is shown; what it means
// goes to the runner as a message that nobody is shown.
func TestSlashCommand(t *testing.T) {
	s, r, session, _ := started(t)
	command := func(kind, name string) map[string]any {
		return map[string]any{"type": "slash_command", "data": map[string]any{"kind": kind, "name": name, "arguments": "a.go"}}
	}
	asked, sent := make(chan request, 1), make(chan request, 1)
	r.answers(func(q request) (int, string) {
		switch {
		case strings.HasSuffix(q.path, "/skills/resolve") && q.body["name"] == "review":
			asked <- q
			return 200, `{"meta_text":"Read a.go."}`
		case strings.HasSuffix(q.path, "/skills/resolve") && q.body["name"] == "broken":
			return 500, `{}`
		case strings.HasSuffix(q.path, "/skills/resolve"):
			return 404, `{"error":"skill_not_found","available":["review"]}`
		case q.body["type"] == "message":
			sent <- q
		}
		return 202, `{}`
	})
	path := "/v1/sessions/" + session + "/events"
	ack := s.ok(202, "POST", path, command("skill", "review"))
	require.Equal(t, "a.go", (<-asked).body["arguments"])
	message := (<-sent).body
	require.Equal(t, ack["item_id"], message["persisted_item_id"])
	require.Equal(t, []any{map[string]any{"type": "input_text", "text": "Read a.go."}}, message["content"])
	require.Equal(t, true, message["is_meta"])

	s.ok(400, "POST", path, command("skill", "none"))
	s.ok(400, "POST", path, command("dance", "review"))
	s.ok(400, "POST", path, command("skill", ""))
	s.ok(500, "POST", path, command("skill", "broken"))
	r.disconnect()
	s.eventually("away", func() bool { return s.snapshot(session)["runner_online"] == false })
	s.ok(503, "POST", path, command("skill", "review"))
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
