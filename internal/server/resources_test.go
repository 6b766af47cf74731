package server

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const terminalAgent = `name: worker
prompt: You work.
executor: {harness: "acp:shell"}
terminals:
  bash: {command: bash}
  logs: {command: less, args: [log]}
`

// withTerminals is a server whose agent "worker" declares terminals.
func withTerminals(t *testing.T, change ...func(*Config)) *site {
	s := newSite(t, change...)
	require.NoError(t, os.WriteFile(filepath.Join(s.cfg.Dir, "agents", "worker.yaml"), []byte(terminalAgent), 0o600))
	return s
}

func terminalRow(session, name, key string, more ...map[string]any) map[string]any {
	row := map[string]any{"id": "terminal_" + name + "_" + key, "object": "session.resource", "type": "terminal", "session_id": session,
		"name": name + ":" + key, "environment": "env_terminal_" + name + "_" + key,
		"metadata": map[string]any{"terminal_name": name, "session_key": key, "running": true}}
	for _, m := range more {
		for k, v := range m {
			row[k] = v
		}
	}
	return row
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func listOf(rows ...any) map[string]any {
	if rows == nil {
		rows = []any{}
	}
	return map[string]any{"object": "list", "data": rows, "first_id": nil, "last_id": nil, "has_more": false}
}

// resources are the requests for resources that came for a session.
func (r *fakeRunner) resources(session string) []request {
	var out []request
	for _, q := range r.requests(session, "") {
		if strings.Contains(q.path, "/resources") {
			out = append(out, q)
		}
	}
	return out
}

// What a session's runner has is asked of it, and a refusal of its comes in the
// form that clients know (terminals.md 4.3).
func TestResourcesAreTheRunners(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.Timing.Resource = 3 * time.Second })
	base := "/v1/sessions/" + session + "/resources"
	row := terminalRow(session, "bash", "s1")
	var status int
	body := encode(t, listOf(row))
	r.answers(func(request) (int, string) { return status, body })

	status = 200
	require.Equal(t, listOf(row), s.ok(200, "GET", base+"/terminals?order=asc&limit=1000&x=y&after=terminal_a_b", nil))
	last := r.resources(session)
	require.Equal(t, "after=terminal_a_b&limit=1000&order=asc", last[len(last)-1].query)
	s.ok(200, "GET", base+"/environments", nil)
	for _, wrong := range []string{"limit=0", "limit=1001", "limit=x", "order=up"} {
		s.ok(422, "GET", base+"/terminals?"+wrong, nil)
	}
	body = encode(t, row)
	require.Equal(t, row, s.ok(200, "GET", base+"/terminals/terminal_bash_s1", nil))
	require.Equal(t, row, s.ok(200, "GET", base+"/terminal_bash_s1", nil))
	require.Equal(t, row, s.ok(200, "GET", base+"/environments/default", nil))

	for _, c := range []struct {
		status int
		body   string
		want   int
		out    string
	}{
		{404, `{"error":{"code":"path_not_found","message":"no such thing"}}`, 404, `{"error":{"code":"not_found","message":"no such thing"}}`},
		{400, `{"error":{"code":"invalid_path","message":"escapes"}}`, 502, `{"detail":"escapes"}`},
		{403, `{"error":{"code":"path_unreachable","message":"not yours"}}`, 502, `{"detail":"not yours"}`},
		{500, `boom`, 502, `{"detail":"boom"}`},
		{422, `{"detail":[{"msg":"too much"}]}`, 502, `{"detail":"too much"}`},
		{404, `{"detail":"no os_env"}`, 404, `{"error":{"code":"not_found","message":"no os_env"}}`},
		{307, `{}`, 502, `{"detail":"{}"}`},
		{200, `[]`, 502, `{"detail":"The runner returned a malformed response."}`},
		{200, `no JSON`, 502, `{"detail":"The runner returned a malformed response."}`},
	} {
		status, body = c.status, c.body
		res, raw := s.raw("GET", base+"/terminals", nil, nil)
		require.Equal(t, c.want, res.StatusCode, c.body)
		require.JSONEq(t, c.out, string(raw), c.body)
	}
	release := make(chan struct{})
	r.answers(func(request) (int, string) { <-release; return 200, `{}` })
	out := s.ok(503, "GET", base+"/terminals", nil)
	require.Equal(t, "runner_unavailable", out["error"].(map[string]any)["code"])
	s.ok(504, "DELETE", base+"/terminals/terminal_bash_s1", nil)
	close(release)
	r.disconnect()
	s.eventually("offline", func() bool { return s.snapshot(session)["runner_online"] == false })
	out = s.ok(503, "GET", base+"/terminals", nil)
	require.Equal(t, "runner_unavailable", out["error"].(map[string]any)["code"])
	s.ok(503, "GET", base+"/environments/default/filesystem", nil)
	s.ok(503, "GET", base, nil)
	free := s.session()
	for _, path := range []string{"/terminals", "/environments", "/terminals/x", "/environments/default/shell"} {
		method := "GET"
		var in any
		if strings.HasSuffix(path, "shell") {
			method, in = "POST", map[string]any{"command": "ls"}
		}
		s.ok(409, method, "/v1/sessions/"+free+"/resources"+path, in)
	}
	require.Equal(t, listOf(), s.ok(200, "GET", "/v1/sessions/"+free+"/resources", nil), "it has no files either")
}

// A terminal that the user starts, moves or ends is told and remembered by the
// server; what an agent does not declare does not start.
func TestTerminalsOfAUser(t *testing.T) {
	s := withTerminals(t)
	r := s.runner("secret")
	agent := shortHash("builtin:worker")
	require.Equal(t, []any{"bash", "logs"}, s.ok(200, "GET", "/v1/agents/"+agent, nil)["terminals"])
	session := s.session(map[string]any{"agent_id": agent})
	v := s.watch(session, "")
	base := "/v1/sessions/" + session + "/resources/terminals"
	row := terminalRow(session, "bash", "u-1")
	status, body := 200, encode(t, row)
	r.answers(func(request) (int, string) { return status, body })

	for _, wrong := range []any{`{}`, `{"terminal":"bash"}`, `{"terminal":"","session_key":"x"}`, `{"terminal":"vim","session_key":"x"}`, `[]`,
		`{"terminal":"bash","session_key":"a\nb"}`, `{"terminal":"bash","session_key":"a\u0000b"}`, `{"terminal":7,"session_key":"x"}`,
		`{"terminal":"claude","session_key":"main"}`, `{"terminal":"claude","session_key":"other","ensure_native_terminal":true}`,
		`{"terminal":"bash2","session_key":"main","ensure_native_terminal":true}`} {
		out := s.ok(400, "POST", base, wrong)
		require.Equal(t, "invalid_input", out["error"].(map[string]any)["code"], wrong)
	}
	require.Empty(t, r.resources(session), "none of them reached the runner")
	require.Empty(t, s.snapshot(session)["runner_id"], "nor bound the session")

	require.Equal(t, row, s.ok(200, "POST", base, map[string]any{"terminal": "bash", "session_key": "u-1"}))
	require.Equal(t, r.id(), s.snapshot(session)["runner_id"], "it is bound as by a first message")
	sent := r.resources(session)
	require.Equal(t, map[string]any{"terminal": "bash", "session_key": "u-1"}, sent[0].body)
	created := v.until("session.resource.created")
	require.Equal(t, row, created[len(created)-1].data["resource"])
	s.ok(200, "POST", base, map[string]any{"terminal": "bash", "session_key": "u-1"})
	v.until("session.resource.created")
	require.Equal(t, []string{"session.resource.created terminal_bash_u-1"}, s.resourceItems(session), "the same terminal is told once")

	r.say(session, map[string]any{"type": "session.resource.created", "resource": row})
	v.until("session.resource.created")
	require.Len(t, s.resourceItems(session), 1, "also when the runner tells it again")

	changed := terminalRow(session, "bash", "u-1", map[string]any{"metadata": map[string]any{"running": true, "tmux_socket": "/other"}})
	body = encode(t, changed)
	s.ok(200, "POST", base, map[string]any{"terminal": "bash", "session_key": "u-1"})
	again := v.until("session.resource.created")
	require.Equal(t, []string{"session.resource.deleted", "session.resource.created"}, types(again), "viewers ignore what they know")

	other := s.session(map[string]any{"agent_id": agent, "runner_id": r.id()})
	moved := terminalRow(other, "bash", "u-1")
	body = encode(t, moved)
	w := s.watch(other, "")
	require.Equal(t, moved, s.ok(200, "POST", base+"/terminal_bash_u-1/transfer", map[string]any{"target_session_id": other}))
	v.until("session.resource.deleted")
	w.until("session.resource.created")
	s.ok(404, "POST", base+"/terminal_bash_u-1/transfer", map[string]any{"target_session_id": strings.Repeat("0", 32)})

	body = `{"id":"terminal_bash_u-1","object":"session.resource.deleted","deleted":true}`
	there := "/v1/sessions/" + other + "/resources/terminals/terminal_bash_u-1"
	require.Equal(t, true, s.ok(200, "DELETE", there, nil)["deleted"])
	gone := w.until("session.resource.deleted")
	require.Equal(t, other, gone[len(gone)-1].data["session_id"])
	require.Equal(t, []string{"session.resource.created terminal_bash_u-1", "session.resource.deleted terminal_bash_u-1"}, s.resourceItems(other))
	status, body = 404, `{"error":{"code":"not_found","message":"Terminal not found"}}`
	s.ok(404, "DELETE", there, nil)
	require.Len(t, s.resourceItems(other), 2)

	status, body = 200, encode(t, terminalRow(session, "claude", "main"))
	s.ok(200, "POST", base, map[string]any{"terminal": "claude", "session_key": "main", "ensure_native_terminal": true, "persist_resource_event": false})
	v.until("session.resource.created")
	require.NotContains(t, s.resourceItems(session), "session.resource.created terminal_claude_main", "only for viewers")
}

// resourceItems is a session's history of resources.
func (s *site) resourceItems(session string) []string {
	s.t.Helper()
	var out []string
	for _, i := range s.items(session) {
		if i["type"] == "resource_event" {
			out = append(out, i["event_type"].(string)+" "+i["resource_id"].(string))
		}
	}
	return out
}

// A stream begins with the terminals that there are; a runner that does not say
// which does not hold it up for long.
func TestAStreamBeginsWithTheTerminals(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.Timing.Terminals = 3 * time.Second })
	one, two := terminalRow(session, "bash", "s1"), terminalRow(session, "bash", "s2")
	r.answers(func(request) (int, string) { return 200, encode(t, listOf(one, two)) })
	v := s.watch(session, "")
	require.Equal(t, one, v.next().data["resource"])
	second := v.next()
	require.Equal(t, two, second.data["resource"])
	require.Empty(t, second.id, "it is no event of the session's")
	asked := r.resources(session)
	require.Equal(t, "limit=1000&order=asc", asked[len(asked)-1].query)

	release := make(chan struct{})
	defer close(release)
	r.answers(func(request) (int, string) { <-release; return 200, `{}` })
	late := s.watch(session, "")
	r.say(session, map[string]any{"type": "session.todos", "conversation_id": session, "todos": []any{}})
	require.Equal(t, "session.todos", late.next().typ)
}

// Cleaning up ends all terminals of a session and tells of each.
func TestCleaningUp(t *testing.T) {
	s, r, session, _ := started(t)
	rows := listOf(terminalRow(session, "bash", "s1"), terminalRow(session, "bash", "s2"))
	r.answers(func(q request) (int, string) {
		if q.method == http.MethodGet {
			return 200, encode(t, rows)
		}
		return 200, `{"session_id":"` + session + `","object":"session.resources.cleaned","cleaned":true}`
	})
	v := s.watch(session, "")
	require.Equal(t, true, s.ok(200, "DELETE", "/v1/sessions/"+session+"/resources", nil)["cleaned"])
	events := append(v.until("session.resource.deleted"), v.until("session.resource.deleted")...)
	require.Equal(t, "terminal_bash_s2", events[len(events)-1].data["resource_id"])
}

func TestPagesOfResources(t *testing.T) {
	s, r, session, _ := started(t)
	var rows []any
	for _, key := range []string{"a", "b", "c", "d"} {
		rows = append(rows, terminalRow(session, "bash", key))
	}
	r.answers(func(request) (int, string) { return 200, encode(t, listOf(rows...)) })
	_, uploaded := s.attach(session, "note.txt", "text/plain", []byte("text"))
	file := uploaded["id"].(string)
	keys := func(query string) (out []string, more bool) {
		page := s.ok(200, "GET", "/v1/sessions/"+session+"/resources?"+query, nil)
		for _, row := range page["data"].([]any) {
			out = append(out, strings.TrimPrefix(row.(map[string]any)["id"].(string), "terminal_bash_"))
		}
		return out, page["has_more"].(bool)
	}
	for query, want := range map[string][]string{
		"":                  {file, "d", "c", "b", "a"},
		"order=asc":         {"a", "b", "c", "d", file},
		"order=asc&limit=2": {"a", "b", "more"},
		"order=asc&limit=2&after=terminal_bash_b":  {"c", "d", "more"},
		"order=asc&limit=2&before=terminal_bash_d": {"b", "c", "more"},
		"order=asc&limit=9&before=terminal_bash_c": {"a", "b"},
		"limit=9&after=terminal_bash_b":            {"a"},
		"limit=9&after=nonsense&type=file":         {file},
		"type=environment":                         nil,
	} {
		got, more := keys(query)
		if more {
			got = append(got, "more")
		}
		require.Equal(t, want, got, query)
	}
	require.Equal(t, file, s.ok(200, "GET", "/v1/sessions/"+session+"/resources/"+file, nil)["id"])
	s.ok(404, "GET", "/v1/sessions/"+session+"/resources/github", nil)
	s.ok(422, "GET", "/v1/sessions/"+session+"/resources?type=planet", nil)
}

func TestSignInLink(t *testing.T) {
	s, r, session, _ := started(t)
	r.answers(func(request) (int, string) {
		return 200, `{"pending":true,"url":"https://x.example","code":"1","terminal_id":"t"}`
	})
	require.Equal(t, true, s.ok(200, "GET", "/v1/sessions/"+session+"/sign-in-link", nil)["pending"])
	r.answers(func(request) (int, string) { return 404, `{}` })
	require.Equal(t, map[string]any{"pending": false, "url": nil, "code": nil}, s.ok(200, "GET", "/v1/sessions/"+session+"/sign-in-link", nil))
}
