package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

var lead = &wire.Spec{Name: "lead", Harness: "acp:chat", Agents: []*wire.Spec{{Name: "worker", Harness: "acp:shell"}}}

func (w *world) tool(session, name, op, args string) string {
	w.t.Helper()
	status, body := w.do("POST", "/v1/sessions/"+session+"/mcp/execute", fmt.Sprintf(
		`{"method":"tools/call","params":{"name":%q,"arguments":%s},"_omnigent_operation":{"id":%q,"step":"1"}}`, name, args, op))
	require.Equal(w.t, 200, status)
	var answer struct {
		Result struct {
			Output string `json:"output"`
		} `json:"result"`
	}
	require.NoError(w.t, json.Unmarshal([]byte(body), &answer))
	return answer.Result.Output
}

// A parent gives a child a task, the child runs in its own harness, and its
// result is in the parent's inbox once, under every repeat of a reading.
func TestChildReportsToItsParent(t *testing.T) {
	w := newWorld(t)
	w.server.spec = lead
	w.start()
	w.server.snaps["P"] = wire.Snapshot{ID: "P", AgentID: "a1", RunnerID: "me"}
	handle := w.tool("P", "sys_session_send", "o1", `{"agent":"worker","title":"one","args":"say hello"}`)
	require.Contains(t, handle, `"conversation_id":"kid"`)
	require.Equal(t, handle, w.tool("P", "sys_session_send", "o1", `{"agent":"worker","title":"one","args":"say hello"}`))

	e := w.stream("kid")
	w.send("kid", "u1", "say hello")
	e.until("response.completed")
	require.Eventually(t, func() bool {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		return len(w.server.messages) == 2
	}, patience, 1)
	require.Equal(t, []string{
		"kid: say hello",
		"P: [System: sub-agent worker/one finished (completed) — 1 result waiting in inbox. Call sys_read_inbox to collect.]",
	}, w.server.messages)

	const want = "[System: sub-agent task kid completed — worker:one returned: hello]"
	require.Equal(t, want, w.tool("P", "sys_read_inbox", "o2", `{}`))
	require.Equal(t, want, w.tool("P", "sys_read_inbox", "o2", `{}`))
	require.Equal(t, "Inbox is empty — no completed tasks.", w.tool("P", "sys_read_inbox", "o3", `{}`))
	require.Eventually(t, func() bool {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		return len(w.server.labels) == 1
	}, patience, 1)
}

// A program's own tool call goes through the server and its result comes back
// to the program; the conversation before is given to it.
func TestProgramCallsATool(t *testing.T) {
	w := newWorld(t)
	w.server.spec = lead
	w.server.items["P"] = []wire.Item{
		{ID: "h1", Type: "message", Role: "user", Content: []byte(`"before"`)},
		{ID: "u1", Type: "message", Role: "user", Content: []byte(`"call"`)},
	}
	w.server.tool = func(c wire.ToolCall) (string, error) { return "ran " + c.Name, nil }
	w.harness.program["call"] = func(_ context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
		item := json.RawMessage(`{"type":"function_call","status":"action_required","name":"look","call_id":"c1","arguments":"{}"}`)
		if err := emit(wire.HarnessEvent{Type: wire.ItemDone, Item: item}); err != nil {
			return failed("x", err.Error())
		}
		msg := <-w.harness.results
		if err := emit(wire.HarnessEvent{Type: wire.TextDelta, Delta: msg.CallID + " " + msg.Output}); err != nil {
			return failed("x", err.Error())
		}
		return wire.TurnEnd{Outcome: wire.Completed}
	}
	w.start()
	e := w.stream("P")
	w.send("P", "u1", "call")
	e.until("response.completed")
	_, texts := w.server.texts()
	require.Contains(t, texts, "c1 ran look")
	require.Equal(t, []string{`{"content":"before","role":"user","type":"message"}`}, w.harness.history)
}

func TestMCPEndpoint(t *testing.T) {
	w := newWorld(t).start()
	for body, want := range map[string]string{
		`{"method":"tools/list"}`:                                                       `{"result":{"schemas":[],"tool_names":[],"failures":{}}}`,
		`{"method":"resources/list"}`:                                                   `{"error":{"code":-32601,"message":"no method resources/list"}}`,
		`{"method":"tools/call","params":{}}`:                                           `{"error":{"code":-32000,"message":"tools/call needs the name of a tool"}}`,
		`{"method":"tools/call","params":{"name":"sys_none"}}`:                          `{"error":{"code":-32000,"message":"this runner has no tool named \"sys_none\""}}`,
		`{"method":"tools/call","params":{"name":"x"},"_omnigent_operation":{"id":""}}`: `{"error":{"code":-32000,"message":"the operation needs an id of 1 to 128 and a step of 1 to 64 characters"}}`,
	} {
		status, got := w.do("POST", "/v1/sessions/S/mcp/execute", body)
		require.Equal(t, 200, status)
		require.JSONEq(t, want, got, body)
	}
	status, _ := w.do("POST", "/v1/sessions/S/mcp/execute", `{"method":7}`)
	require.Equal(t, 400, status)
}

func TestStatusEndpoint(t *testing.T) {
	w := newWorld(t).start()
	w.server.snaps["C"] = wire.Snapshot{ID: "C", AgentID: "a1", ParentID: "P", SubAgentName: "worker"}
	status, body := w.do("POST", "/v1/sessions/C/events", `{"type":"external_session_status","data":{"status":"idle","output":"done"}}`)
	require.Equal(t, 503, status)
	require.Contains(t, body, `"reason":"missing_parent_inbox"`)
	for _, b := range []string{
		`{"type":"external_session_status","data":{"status":"bogus"}}`, `{"type":"external_session_status"}`,
		`{"type":"external_session_status","data":{"status":"running","turn_completed":"true","turn_outcome":"weird","output":7}}`,
	} {
		status, _ = w.do("POST", "/v1/sessions/C/events", b)
		require.Equal(t, 204, status, b)
	}
	w.stream("P") // names the parent: what waited is handed over
	require.Equal(t, "[System: sub-agent task C completed — worker:worker returned: done]", w.tool("P", "sys_read_inbox", "o1", `{}`))
}
