package server

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// questionsOf are the ids of the questions that a session's snapshot shows.
func (s *site) questionsOf(session string) []string {
	s.t.Helper()
	out := []string{}
	for _, q := range s.snapshot(session)["pending_elicitations"].([]any) {
		out = append(out, q.(map[string]any)["elicitation_id"].(string))
	}
	return out
}

// A question of a sub-agent's turn is shown in every session above it, with the
// name of the one that asks, over a restart of the server too. An answer given
// anywhere reaches the runner of the asking session; the end is told once, also
// when the runner tells it again.
func TestAQuestionIsShownAbove(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	worker := s.child(root, "worker", "1")
	s.send(worker, "go")
	r.await(s, worker, "message", 1)
	v := s.watch(root, "")
	ask := question("e1", "May I?")
	ask["params"].(map[string]any)["phase"] = "tool"
	r.say(worker, status(worker, "running"), response("in_progress", "resp_1", nil), ask, ask)
	asked := v.until(typeQuestion)
	params := asked[len(asked)-1].data["params"].(map[string]any)
	require.Equal(t, worker, params["target_session_id"])
	require.Equal(t, "May I?", params["message"])
	require.Equal(t, "elicitation/create", asked[len(asked)-1].data["method"])

	s.restart()
	require.Equal(t, []string{"e1"}, s.questionsOf(root))
	require.Equal(t, []string{"e1"}, s.questionsOf(worker))
	own := s.snapshot(worker)["pending_elicitations"].([]any)[0].(map[string]any)
	require.Nil(t, own["params"].(map[string]any)["target_session_id"])
	row := s.ok(200, "GET", "/v1/sessions/"+root+"/child_sessions", nil)["data"].([]any)[0].(map[string]any)
	require.EqualValues(t, 1, row["pending_elicitations_count"])
	listed := s.ok(200, "GET", "/v1/sessions", nil)["data"].([]any)[0].(map[string]any)
	require.EqualValues(t, 1, listed["pending_elicitations_count"])
	path := "/v1/sessions/" + root + "/elicitations/e1"
	require.Equal(t, map[string]any{"status": "pending", "message": "May I?", "phase": "tool", "policy_name": nil, "content_preview": nil},
		s.ok(200, "GET", path, nil))

	s.eventually("the runner is back", func() bool { return s.snapshot(worker)["runner_online"] == true })
	v = s.watch(root, "")
	out := s.ok(202, "POST", path+"/resolve", map[string]any{"action": "accept", "content": map[string]any{"a": 1}})
	require.Equal(t, map[string]any{"queued": false}, out)
	got := r.await(s, worker, "approval", 1)[0].body["data"]
	require.Equal(t, map[string]any{"elicitation_id": "e1", "action": "accept", "content": map[string]any{"a": 1.0}}, got)
	over := v.until(typeAnswered)
	require.Equal(t, "accept", over[len(over)-1].data["action"])
	require.Equal(t, map[string]any{"status": "resolved"}, s.ok(200, "GET", path, nil))
	require.Empty(t, s.questionsOf(root))
	require.Empty(t, s.questionsOf(worker))

	r.say(worker, map[string]any{"type": typeAnswered, "elicitation_id": "e1", "action": "accept"}, question("e2", "And now?"))
	require.NotContains(t, types(v.until(typeQuestion)), typeAnswered, "its end is told once")
	s.ok(202, "POST", path+"/resolve", map[string]any{"action": "decline"})
	require.Len(t, r.requests(root, "approval"), 1, "a repeat is passed on as it is")
	require.Equal(t, []string{"e2"}, s.questionsOf(root))
	s.ok(200, "DELETE", "/v1/sessions/"+worker, nil)
	require.Empty(t, s.questionsOf(root), "with the session that asks its question is gone")
}

// The end of a turn ends what it still asks; what a program beside it asks stays.
func TestAQuestionEndsWithItsTurn(t *testing.T) {
	s, r, session, _ := started(t)
	beside := s.post(session, "mcp_elicitation", map[string]any{"message": "Sure?", "requestedSchema": map[string]any{"type": "object"}})["elicitation_id"].(string)
	v := s.watch(session, "")
	r.say(session, map[string]any{"type": typeAnswered, "elicitation_id": beside, "reason": "unanswered"}) // not its question
	r.say(session, response("in_progress", "resp_1", nil), question("e1", "May I?"), response("completed", "resp_1", nil))
	all := v.until("response.completed")
	over := all[len(all)-2]
	require.Equal(t, typeAnswered, over.typ)
	require.Equal(t, map[string]any{"type": typeAnswered, "sequence_number": nil, "elicitation_id": "e1", "action": nil, "reason": "unanswered"}, over.data)
	require.Equal(t, []string{beside}, s.questionsOf(session))

	r.say(session, response("in_progress", "resp_2", nil), question("e2", "Still?"), status(session, "running"), status(session, "idle"))
	require.Contains(t, types(v.until("response.completed")), typeAnswered, "also by an end that only the status tells")
	require.Equal(t, []string{beside}, s.questionsOf(session))
	s.post(session, "external_elicitation_resolved", map[string]any{"elicitation_id": beside})
	require.Empty(t, s.questionsOf(session))
}

// An answer that does not reach the runner ends nothing: it can be given again.
func TestAnAnswerThatDoesNotArrive(t *testing.T) {
	s, r, session, _ := started(t)
	r.say(session, question("e1", "May I?"))
	s.eventually("asked", func() bool { return len(s.questionsOf(session)) == 1 })
	answer := map[string]any{"elicitation_id": "e1", "action": "decline"}
	r.answers(func(request) (int, string) { return http.StatusServiceUnavailable, "{}" })
	s.post(session, "approval", answer)
	require.Equal(t, []string{"e1"}, s.questionsOf(session))
	r.disconnect()
	s.eventually("runner offline", func() bool { return s.snapshot(session)["runner_online"] == false })
	s.post(session, "approval", answer)
	require.Equal(t, []string{"e1"}, s.questionsOf(session))
	r.answers(nil)
	r.connect(s)
	s.post(session, "approval", answer)
	require.Empty(t, s.questionsOf(session))

	free := s.session()
	id := s.post(free, "mcp_elicitation", map[string]any{"message": "x"})["elicitation_id"].(string)
	s.post(free, "approval", map[string]any{"elicitation_id": id, "action": "cancel"})
	require.Empty(t, s.questionsOf(free), "nobody waits in a session without a runner")
}

func TestWrongAnswers(t *testing.T) {
	s := newSite(t)
	session := s.session()
	path := "/v1/sessions/" + session + "/elicitations/e/resolve"
	out := s.ok(422, "POST", path, map[string]any{"action": "perhaps"})
	require.Equal(t, []any{map[string]any{"type": "literal_error", "loc": []any{"body", "action"}, "input": "perhaps",
		"msg": "Input should be 'accept', 'decline' or 'cancel'", "ctx": map[string]any{"expected": "'accept', 'decline' or 'cancel'"}}}, out["detail"])
	s.ok(422, "POST", path, map[string]any{})
	s.ok(422, "POST", path, map[string]any{"action": 5})
	s.ok(404, "POST", "/v1/sessions/0123456789abcdef0123456789abcdef/elicitations/e/resolve", map[string]any{"action": "accept"})
	s.ok(404, "GET", "/v1/sessions/0123456789abcdef0123456789abcdef/elicitations/e", nil)
	s.ok(400, "POST", "/v1/sessions/"+session+"/events", map[string]any{"type": "approval", "data": map[string]any{}})
	s.ok(400, "POST", "/v1/sessions/"+session+"/events", map[string]any{"type": "external_elicitation_resolved", "data": map[string]any{}})
	s.ok(400, "POST", "/v1/sessions/"+session+"/events", map[string]any{"type": "mcp_elicitation", "data": map[string]any{"message": 5}})
}
