package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What this server does not have it answers like one that has nothing in it.
func TestSparseRoutes(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	id := s.session()
	const unknown = "0123456789abcdef0123456789abcdef"
	for path, want := range map[string]string{
		"GET /v1/hosts":             `{"hosts":[]}`,
		"GET /v1/harnesses":         `{"data":[]}`,
		"GET /v1/extensions":        `{"object":"list","data":[]}`,
		"GET /v1/policies":          `{"object":"list","data":[]}`,
		"GET /v1/policy-registry":   `{"object":"list","data":[]}`,
		"GET /v1/projects":          `{"object":"list","data":[]}`,
		"GET /v1/projects/order":    `{"sort_mode":"alphabetical","ordered_project_ids":null}`,
		"GET /v1/sessions/projects": `[]`,
		"GET /v1/scheduled-tasks":   `{"scheduled_tasks":[]}`,
		"GET /.well-known/omnigent.json": `{"manifest_version":1,"server_version":"test","min_desktop_version":null,"ui":{"server_picker":"sidebar"},
			"auth":{"mode":"header","session_cookie":null,"native_redirect_uris":null},"server_name":null}`,
		"GET /v1/sessions/ID/owner":        `{"owner":"local"}`,
		"GET /v1/sessions/ID/permissions":  `{"permissions":[{"user_id":"local","conversation_id":"` + id + `","level":4}],"next_cursor":null}`,
		"GET /v1/sessions/ID/policies":     `{"object":"list","data":[]}`,
		"GET /v1/sessions/ID/comments":     `[]`,
		"GET /v1/sessions/ID/sign-in-link": `{"pending":false,"url":null,"code":null}`,
	} {
		method, where, _ := strings.Cut(path, " ")
		res, raw := s.raw(method, strings.ReplaceAll(where, "ID", id), nil, nil)
		require.Equal(t, 200, res.StatusCode, path)
		require.JSONEq(t, want, string(raw), path)
		if strings.Contains(where, "ID") {
			s.ok(404, method, strings.ReplaceAll(where, "ID", unknown), nil)
		}
	}
	for path, want := range map[string]int{
		"GET /v1/sharing": 200, "GET /v1/usage": 200, "GET /v1/skills": 422, "GET /v1/skills?session_id=" + id: 409, "GET /v1/hosts/" + unknown: 404,
		"POST /v1/hosts/" + unknown + "/runners": 404, "GET /v1/agents/" + unknown: 404, "GET /v1/agents/x": 404, "DELETE /v1/agents/" + unknown: 404,
		"POST /v1/agents": 404, "GET /v1/agents/" + unknown + "/config": 404, "GET /v1/sessions/ID/resources/environments/default/changes": 409,
		"GET /v1/sessions/ID/resources/github": 404, "GET /v1/sessions/ID/codex_goal": 400, "POST /v1/sessions/ID/switch-agent": 410,
		"GET /v1/mcp-servers": 404, "GET /v1/connections": 404, "GET /v1/sandbox-providers": 404, "GET /v1/imports": 404, "GET /auth/me": 404,
		"GET /oauth/x": 404, "GET /v1/dictation": 404, "POST /v1/sessions/ID/policies": 404, "GET /v1/sessions/updates": 404,
		"POST /v1/runners/" + r.id() + "/token": 401, "POST /v1/responses": 404, "GET /v1/responses/x": 404,
	} {
		method, where, _ := strings.Cut(path, " ")
		code, out := s.call(method, strings.ReplaceAll(where, "ID", id), nil)
		require.Equal(t, want, code, "%s: %v", path, out)
	}
	res, _ := s.raw("POST", "/v1/runners/"+r.id()+"/token", nil, map[string]string{headerClaim: "secret"})
	require.Equal(t, 400, res.StatusCode)
}

func TestSmallChanges(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	id := s.session(map[string]any{"runner_id": r.id(), "model_override": "m"})
	path := "/v1/sessions/" + id
	row := func() map[string]any {
		return s.ok(200, "GET", "/v1/sessions", nil)["data"].([]any)[0].(map[string]any)
	}
	require.NotContains(t, row(), "viewer_last_seen")
	before := row()["updated_at"]
	s.ok(204, "PUT", path+"/read-state", map[string]any{"last_seen": 5, "unread": true})
	require.EqualValues(t, 5, row()["viewer_last_seen"])
	require.Equal(t, true, row()["viewer_unread"])
	require.Equal(t, before, row()["updated_at"])
	s.ok(204, "PUT", "/v1/sessions/0123456789abcdef0123456789abcdef/read-state", map[string]any{"last_seen": 5, "unread": true})
	out := s.ok(422, "PUT", path+"/read-state", map[string]any{"last_seen": 5})
	require.Equal(t, map[string]any{"type": "missing", "loc": []any{"body", "unread"}, "msg": "Field required", "input": map[string]any{"last_seen": 5.0}},
		out["detail"].([]any)[0])
	s.ok(422, "PUT", path+"/read-state", map[string]any{"last_seen": "x", "unread": true})
	s.ok(422, "PUT", path+"/read-state", map[string]any{"last_seen": 5, "unread": "x"})

	v := s.watch(id, "")
	for _, how := range []string{"/auto-title", "/agent-title"} {
		require.Equal(t, map[string]any{"renamed": true, "title": "a name", "reason": nil}, s.ok(200, "POST", path+how, map[string]any{"title": " a  name "}))
		titled := v.until("session.title")
		require.Equal(t, "a name", titled[len(titled)-1].data["title"])
		s.ok(422, "POST", path+how, map[string]any{"title": "x"})
	}
	require.Equal(t, "a name", s.snapshot(id)["title"])

	reset := func(expected string) any {
		return s.ok(200, "POST", path+"/model-override/reset", map[string]any{"expected_model_override": expected})["reset"]
	}
	require.Equal(t, false, reset("other"))
	require.Equal(t, "m", s.snapshot(id)["model_override"])
	require.Equal(t, true, reset("m"))
	require.Nil(t, s.snapshot(id)["model_override"])
	require.Nil(t, r.await(s, id, "model_change", 1)[0].body["model"])
}
