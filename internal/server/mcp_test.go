package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rpc sends one JSON-RPC request to a session's tools.
func (s *site) rpc(session, method string, params map[string]any) map[string]any {
	s.t.Helper()
	out := s.ok(200, "POST", "/v1/sessions/"+session+"/mcp", map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	require.Equal(s.t, "2.0", out["jsonrpc"])
	require.EqualValues(s.t, 7, out["id"])
	_, failed := out["error"]
	_, done := out["result"]
	require.NotEqual(s.t, failed, done, "one of the two: %v", out)
	return out
}

func code(out map[string]any) any {
	e, _ := out["error"].(map[string]any)
	return e["code"]
}

// toolbox is a session whose runner answers tool calls.
func toolbox(t *testing.T, answer func(request) (int, string), change ...func(*Config)) (*site, *fakeRunner, string) {
	s := newSite(t, change...)
	r := s.runner("secret")
	r.answers(func(q request) (int, string) {
		if strings.HasSuffix(q.path, "/mcp/execute") {
			return answer(q)
		}
		return 202, "{}"
	})
	return s, r, s.session(map[string]any{"runner_id": r.id()})
}

func TestMCPHandshake(t *testing.T) {
	s, _, session := toolbox(t, func(request) (int, string) { return 200, "{}" })
	require.Equal(t, map[string]any{"protocolVersion": "2024-11-05", "capabilities": map[string]any{"tools": map[string]any{}},
		"serverInfo": map[string]any{"name": "outrunner", "version": "test"}}, s.rpc(session, "initialize", nil)["result"])
	require.Equal(t, map[string]any{}, s.rpc(session, "ping", nil)["result"])
	path := "/v1/sessions/" + session + "/mcp"
	s.ok(202, "POST", path, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	require.EqualValues(t, mcpUnknownMethod, code(s.rpc(session, "resources/list", nil)))
	for _, bad := range []string{`[]`, `"x"`, `{"method":"ping","id":1}`, `{"jsonrpc":"2.0","id":1}`} {
		require.EqualValues(t, mcpInvalidRequest, code(s.ok(200, "POST", path, bad)), bad)
	}
	require.EqualValues(t, mcpInvalidParams, code(s.ok(200, "POST", path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`)))
	s.ok(400, "POST", path, `{`)
	s.ok(404, "POST", "/v1/sessions/0123456789abcdef0123456789abcdef/mcp", map[string]any{})
}

func TestToolsAreListed(t *testing.T) {
	s, r, session := toolbox(t, func(request) (int, string) {
		return 200, `{"result":{"schemas":[{"type":"function","name":"a__b","description":"d","parameters":{"type":"object"}},{"name":"bare"}],"tool_names":[],"failures":{}}}`
	})
	require.Equal(t, map[string]any{"tools": []any{
		map[string]any{"name": "a__b", "description": "d", "inputSchema": map[string]any{"type": "object"}},
		map[string]any{"name": "bare", "description": "", "inputSchema": map[string]any{"type": "object", "properties": map[string]any{}}},
	}}, s.rpc(session, "tools/list", map[string]any{"_omnigent_skip_registry": true})["result"])
	require.Equal(t, map[string]any{"method": "tools/list", "params": map[string]any{"_omnigent_skip_registry": true}}, r.requests(session, "")[0].body)
}

// A tool call goes to the runner with its operation, and comes back as content.
func TestAToolIsCalled(t *testing.T) {
	s, r, session := toolbox(t, func(request) (int, string) { return 200, `{"result":{"output":"two\nlines"}}` })
	out := s.rpc(session, "tools/call", map[string]any{"name": "sys_read_inbox", "arguments": map[string]any{"a": 1}, "_omnigent_operation_id": "mcpop_1"})
	require.Equal(t, map[string]any{"content": []any{map[string]any{"type": "text", "text": "two\nlines"}}, "isError": false}, out["result"])
	got := r.requests(session, "")[0]
	require.Equal(t, "POST", got.method)
	require.Equal(t, "/v1/sessions/"+session+"/mcp/execute", got.path)
	require.Equal(t, map[string]any{"method": "tools/call", "params": map[string]any{"name": "sys_read_inbox", "arguments": map[string]any{"a": 1.0}},
		"_omnigent_operation": map[string]any{"id": "mcpop_1", "step": "execute"}}, got.body)

	s.rpc(session, "tools/call", map[string]any{"name": "f", "arguments": nil})
	unnamed := r.requests(session, "")[1].body
	require.Equal(t, map[string]any{}, unnamed["params"].(map[string]any)["arguments"])
	require.Regexp(t, `^mcpop_[0-9a-f]{32}$`, unnamed["_omnigent_operation"].(map[string]any)["id"])
	for name, bad := range map[string]map[string]any{
		"no name": {}, "name": {"name": 1}, "arguments": {"name": "f", "arguments": []int{1}}, "operation": {"name": "f", "_omnigent_operation_id": 5},
		"long operation": {"name": "f", "_omnigent_operation_id": strings.Repeat("x", 129)},
	} {
		require.EqualValues(t, mcpInvalidParams, code(s.rpc(session, "tools/call", bad)), name)
	}
	require.Len(t, r.requests(session, ""), 2)
}

func TestWhatARunnerAnswersToATool(t *testing.T) {
	var mu sync.Mutex
	status, body := 200, ""
	s, _, session := toolbox(t, func(request) (int, string) { mu.Lock(); defer mu.Unlock(); return status, body })
	for name, c := range map[string]struct {
		status  int
		body    string
		code    int
		message string
	}{
		"an error":          {200, `{"error":{"code":-32601,"message":"no tool f"}}`, mcpFailed, "no tool f"},
		"a silent error":    {200, `{"error":{}}`, mcpFailed, "no reason"},
		"no manager":        {503, `{"error":{"code":-32000,"message":"no manager"}}`, mcpFailed, "no manager"},
		"it stops":          {503, `{"error":"journal_unavailable","detail":"the disk is full"}`, mcpDetached, "the disk is full"},
		"a refusal":         {400, `{"error":"invalid_request","detail":"why"}`, mcpFailed, "why"},
		"not found":         {404, `<html>`, mcpFailed, "404"},
		"garbage":           {200, `hello`, mcpFailed, "malformed"},
		"a list":            {200, `[]`, mcpFailed, "malformed"},
		"nothing":           {200, `{}`, mcpFailed, "malformed"},
		"no output":         {200, `{"result":{}}`, mcpFailed, "no output"},
		"output of no text": {200, `{"result":{"output":5}}`, mcpFailed, "no output"},
	} {
		mu.Lock()
		status, body = c.status, c.body
		mu.Unlock()
		out := s.rpc(session, "tools/call", map[string]any{"name": "f", "_omnigent_operation_id": "op"})
		require.EqualValues(t, c.code, code(out), name)
		require.Contains(t, out["error"].(map[string]any)["message"], c.message, name)
	}
	mu.Lock()
	status, body = 200, `{"result":{"input_required":{"inputRequests":{"e1":{}},"requestState":"s"}}}`
	mu.Unlock()
	require.Equal(t, map[string]any{"resultType": "input_required", "inputRequests": map[string]any{"e1": map[string]any{}}, "requestState": "s"},
		s.rpc(session, "tools/call", map[string]any{"name": "f"})["result"])
	mu.Lock()
	big := strings.Repeat("x", 3<<20)
	status, body = 200, `{"result":{"output":"`+big+`"}}`
	mu.Unlock()
	out := s.rpc(session, "tools/call", map[string]any{"name": "f"})["result"].(map[string]any)
	require.Equal(t, big, out["content"].([]any)[0].(map[string]any)["text"])
}

// A runner that is away, or goes away during the call, is a reason to repeat
// the operation; without its name the caller must not.
func TestAToolWhoseRunnerGoesAway(t *testing.T) {
	release := make(chan struct{})
	s, r, session := toolbox(t, func(request) (int, string) { <-release; return 200, `{"result":{"output":"x"}}` })
	call := func(params map[string]any) <-chan map[string]any {
		done := make(chan map[string]any, 1)
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
		require.NoError(t, err)
		go func() {
			defer close(done)
			res, err := s.http.Post(s.url+"/v1/sessions/"+session+"/mcp", "application/json", strings.NewReader(string(body)))
			if err != nil {
				return
			}
			defer res.Body.Close()
			out := map[string]any{}
			if res.StatusCode == http.StatusOK && json.NewDecoder(res.Body).Decode(&out) == nil {
				done <- out
			}
		}()
		return done
	}
	named := call(map[string]any{"name": "f", "_omnigent_operation_id": "op"})
	unnamed := call(map[string]any{"name": "f"})
	s.eventually("both calls are at the runner", func() bool { return s.srv.presences.get(r.id()) != nil && r.inFlight() == 2 })
	r.cancel()
	require.EqualValues(t, mcpDetached, code(<-named))
	out := <-unnamed
	require.EqualValues(t, mcpFailed, code(out))
	require.Contains(t, out["error"].(map[string]any)["message"], "not known")
	close(release)
	<-r.done
	s.eventually("away", func() bool { return s.snapshot(session)["runner_online"] == false })
	require.EqualValues(t, mcpDetached, code(s.rpc(session, "tools/call", map[string]any{"name": "f", "_omnigent_operation_id": "op"})))
	require.EqualValues(t, mcpFailed, code(s.rpc(s.session(), "tools/call", map[string]any{"name": "f"})), "a session without a runner")
	r.connect(s)
	require.NotNil(t, s.rpc(session, "tools/call", map[string]any{"name": "f", "_omnigent_operation_id": "op"})["result"])
}

func TestAToolThatNeverEnds(t *testing.T) {
	release := make(chan struct{})
	s, _, session := toolbox(t, func(request) (int, string) { <-release; return 200, "{}" }, func(c *Config) { c.Timing.Tool = 20 * time.Millisecond })
	defer close(release)
	out := s.rpc(session, "tools/call", map[string]any{"name": "f", "_omnigent_operation_id": "op"})
	require.EqualValues(t, mcpFailed, code(out))
	require.Contains(t, out["error"].(map[string]any)["message"], "longer than")
}
