//go:build unix

package answers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

// A server from before 0.12: a session is initialised with three keys, its
// snapshot has no labels, a message no revision, and what is deleted is told by
// its resources.
func TestOlderServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Break("GET", "/v1/sessions/"+session, 0, fakeserver.Body(`{"id":"`+session+`","agent_id":"`+agent+`","status":"idle","created_at":1750000000,"items":[],"skills":[]}`))
	for range 2 {
		code, text := w.Do("POST", "/v1/sessions", fakeserver.Dict{"session_id": session, "agent_id": agent, "sub_agent_name": nil})
		require.Contains(t, []int{200, 201}, code, text)
	}
	send := func(text string) (item string) {
		item, body := w.Message(session, text)
		for _, key := range []string{"agent_revision", "browser_renderer_available", "has_mcp_servers"} {
			delete(body, key)
		}
		code, answer := w.Do("POST", "/v1/sessions/"+session+"/events", body)
		require.Equal(t, http.StatusAccepted, code, answer)
		return item
	}
	require.Equal(t, "completed", w.Ended(session, send("echo one")))
	require.Contains(t, w.Said(session), "one\n")

	send("echo begun > up; sleep 300")
	testkit.Until(t, testkit.Patience, func() bool { return len(w.runner.Lines("up")) == 1 }, testkit.Is("the command does not run"))
	code, text := w.Do("DELETE", "/v1/sessions/"+session+"/resources", nil)
	require.Less(t, code, 300, text)
	testkit.RequireNone(t, w.runner.Home, w.runner.Process)
	require.False(t, w.runner.Process.Ended())
	require.Empty(t, w.complaints())
}

// A server of some later day: more keys everywhere, items, events and statuses
// that nobody here knows.
func TestNewerServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Break("GET", "/v1/sessions/"+session, 0, fakeserver.Body(`{"id":"`+session+`","agent_id":"`+agent+`","status":"dreaming",
		"created_at":1750000000.5,"labels":{"a":"b"},"moods":{"deep":[1,{"x":null}]},"last_task_error":{"code":7},"pending_inputs":[{"kind":"song"}]}`))
	code, text := w.Do("POST", "/v1/sessions", fakeserver.Dict{"session_id": session, "agent_id": agent, "sub_agent_name": nil, "orchestra": []int{1},
		"session_init": fakeserver.Dict{"protocol_version": 9, "server_version": "9.0.0", "session_id": session, "agent_id": agent, "sub_agent_name": nil,
			"snapshot":                fakeserver.Dict{"created_at": 1, "labels": fakeserver.Dict{}, "inference_config": fakeserver.Dict{"a": 1}, "aura": "blue"},
			"suppress_recovery_turn":  false,
			"resume_interrupted_turn": false, "recovery_id": nil, "rewind": true}})
	require.Contains(t, []int{200, 201}, code, text)
	for _, event := range []fakeserver.Dict{{"type": "dance"}, {"type": "mood_change", "mood": "calm"}, {"type": "approval"}, {"type": "external_session_status", "data": fakeserver.Dict{"status": "dreaming"}}} {
		code, text := w.Do("POST", "/v1/sessions/"+session+"/events", event)
		require.Less(t, code, 500, "%v: %s", event, text)
	}
	code, text = w.Do("POST", "/v1/sessions/"+session+"/incantations", fakeserver.Dict{})
	require.Equal(t, http.StatusNotFound, code, text)

	item, body := w.Message(session, "echo one")
	body["hologram"], body["tools"] = fakeserver.Dict{"a": []int{1}}, []fakeserver.Dict{{"type": "telepathy"}}
	body["content"] = append(body["content"].([]fakeserver.Dict), fakeserver.Dict{"type": "input_scent", "scent": "moss"})
	code, text = w.Do("POST", "/v1/sessions/"+session+"/events", body)
	require.Equal(t, http.StatusAccepted, code, text)
	require.Equal(t, "completed", w.Ended(session, item))

	// What a scan reads of it.
	w.Break("GET", "/v1/sessions/"+session+"/items", 1, fakeserver.Body(`{"object":"list","data":[
		{"id":"17e3000000000000000000000000000a","type":"hologram","status":"glowing","response_id":null,"created_at":1.5,"shape":{"x":1}},
		{"id":"17e3000000000000000000000000000b","type":"message","role":"oracle","content":"not a list","response_id":"r","status":"completed"},
		{"id":"17e3000000000000000000000000000c","type":"message","role":"user","status":"completed","response_id":"turn_x","content":[{"type":"input_text","text":"echo scanned >> ran"}]}
		],"first_id":null,"last_id":"17e3000000000000000000000000000c","has_more":false,"cursor2":"x"}`))
	w.Drop()
	w.Connected(2)
	testkit.Until(t, testkit.Patience, func() bool { return len(w.runner.Lines("ran")) == 1 }, func() string {
		return "what was sent meanwhile is not run: " + strings.Join(w.complaints(), "\n")
	})
	require.Equal(t, []string{"scanned"}, w.runner.Lines("ran"))
	w.requireWell()
	require.Empty(t, w.complaints())
}
