package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A fork has the history and the files of its source, and nothing of its life.
func TestFork(t *testing.T) {
	s, r, source, _ := started(t)
	r.say(source, status(source, "running"), response("in_progress", "resp_1", nil))
	s.external(source, "resp_1", "t:0", "one")
	r.say(source, response("completed", "resp_1", nil), status(source, "idle"))
	s.status(source, "idle")
	_, file := s.attach(source, "a.txt", "text/plain", []byte("x"))
	s.ok(200, "PATCH", "/v1/sessions/"+source, map[string]any{"labels": map[string]string{"color": "blue"}, "workspace": "/w",
		"reasoning_effort": "high", "model_override": "m", "archived": true, "external_session_id": "x"})
	r.disconnect() // what waits is work of the source
	s.send(source, "not yet")

	path := "/v1/sessions/" + source + "/fork"
	made := s.ok(201, "POST", path, map[string]any{})
	fork := made["id"].(string)
	labels := made["labels"].(map[string]any)
	require.Equal(t, "blue", labels["color"])
	require.Equal(t, source, labels[labelForkOf])
	require.Empty(t, labels[errorLabelPrefix+"code"])
	require.Contains(t, labels, errorLabelPrefix+"code")
	require.NotContains(t, labels, labelArchivedAt)
	for k, want := range map[string]any{"title": "Fork of go", "runner_id": nil, "runner_online": nil, "status": "idle", "archived": false, "workspace": nil,
		"reasoning_effort": "high", "model_override": "m", "external_session_id": nil, "parent_session_id": nil, "root_conversation_id": fork,
		"agent_name": "shell", "pending_inputs": []any{}} {
		require.Equal(t, want, made[k], k)
	}
	require.Equal(t, false, s.snapshot(fork)["runner_online"])
	require.Equal(t, []string{"go", "one"}, s.texts(fork))
	theirs, ours := s.items(source), s.items(fork)
	require.NotEqual(t, theirs[0]["id"], ours[0]["id"])
	require.Equal(t, theirs[1]["response_id"], ours[1]["response_id"])

	files := s.ok(200, "GET", "/v1/sessions/"+fork+"/resources/files", nil)["data"].([]any)
	require.Len(t, files, 1)
	id := files[0].(map[string]any)["id"].(string)
	require.NotEqual(t, file["id"], id)
	require.Equal(t, id, ours[2]["resource_id"], "its history names its own file")
	s.ok(200, "DELETE", "/v1/sessions/"+source, nil)
	_, raw := s.raw("GET", "/v1/sessions/"+fork+"/resources/files/"+id+"/content", nil, nil)
	require.Equal(t, "x", string(raw))
}

func TestForkOfAPart(t *testing.T) {
	s := newSite(t)
	source := s.session()
	for _, n := range []string{"1", "2", "3"} {
		s.external(source, "resp_"+n, "t:"+n, n)
	}
	path := "/v1/sessions/" + source + "/fork"
	made := s.ok(201, "POST", path, map[string]any{"up_to_response_id": "resp_2", "title": "mine", "reasoning_effort": "low"})
	require.Equal(t, []string{"1", "2"}, s.texts(made["id"].(string)))
	require.Equal(t, "mine", made["title"])
	require.Equal(t, "low", made["reasoning_effort"])
	require.Len(t, made["items"], 2)
	before := len(s.ok(200, "GET", "/v1/sessions", nil)["data"].([]any))
	s.ok(400, "POST", path, map[string]any{"up_to_response_id": "resp_9"})
	s.ok(404, "POST", path, map[string]any{"agent_id": "0123456789abcdef0123456789abcdef"})
	s.ok(422, "POST", path, map[string]any{"title": 5})
	s.ok(404, "POST", "/v1/sessions/0123456789abcdef0123456789abcdef/fork", map[string]any{})
	require.Len(t, s.ok(200, "GET", "/v1/sessions", nil)["data"], before, "a refused fork leaves nothing")
	require.Equal(t, "Fork of session", s.ok(201, "POST", path, map[string]any{})["title"])
}
