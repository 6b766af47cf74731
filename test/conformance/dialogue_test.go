//go:build unix

package conformance

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/config"
	"github.com/outrunner/outrunner/test/testkit"
)

// connect starts a runner and takes its hello.
func connect(t *testing.T) (*upstream, *testkit.Runner, *line) {
	t.Helper()
	u := newUpstream(t)
	r := testkit.NewRunner(t, u.URL)
	r.Start()
	l := u.next()
	require.Equal(t, "hello", l.kind("hello")["kind"])
	return u, r, l
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	r := testkit.NewRunner(t, u.URL)
	r.Start()
	l := u.next()
	secret := strings.TrimSpace(r.Secret())
	id, err := config.RunnerID(secret)
	require.NoError(t, err)
	require.Equal(t, id, l.runner)
	require.Equal(t, []string{"omnigent://internal"}, l.header["Origin"])
	require.Equal(t, []string{secret}, l.header["X-Omnigent-Runner-Tunnel-Token"])
	require.Empty(t, l.header["Authorization"])
	require.Empty(t, l.header["Sec-Websocket-Protocol"])

	hello := l.receive(func(dict) bool { return true }) // the very first
	require.Equal(t, "hello", hello["kind"])
	require.EqualValues(t, 1, hello["frame_protocol_version"])
	require.IsType(t, "", hello["runner_version"])
	require.Contains(t, hello["harnesses"], "acp:shell")
	for _, list := range []string{"harnesses", "envs"} {
		require.IsType(t, []any{}, hello[list], list)
	}
	if caps, ok := hello["capabilities"]; ok {
		require.NotEmpty(t, caps, "written only when there are any")
	}

	r.Process.Signal(syscall.SIGTERM)
	require.Equal(t, websocket.CloseError{Code: websocket.StatusNormalClosure}, l.closed())
	require.Zero(t, r.Process.Wait(testkit.Patience))
}

// One message, from its arrival to the end of its turn.
func TestTurn(t *testing.T) {
	t.Parallel()
	u, r, l := connect(t)
	s := l.open()
	status, text := l.get("POST", "/v1/sessions/"+session+"/events", u.message(item1, "echo one; sleep 0.3; echo zwei ✓"))
	require.EqualValues(t, 202, status, text)

	begin := s.next()
	require.Equal(t, "session.status", begin["type"])
	require.Equal(t, "running", begin["status"])
	require.Equal(t, session, begin["conversation_id"])
	response := begin["response_id"]
	require.NotEmpty(t, response)

	progress := s.next()
	require.Equal(t, "response.in_progress", progress["type"])
	require.Equal(t, []any{item1}, progress["input_item_ids"])
	requireResponse(t, progress, response, "in_progress")

	seen, index := map[string]string{}, map[string]int{}
	ev := s.next()
	for ; ev["type"] == "response.output_text.delta"; ev = s.next() {
		id := ev["message_id"].(string)
		require.EqualValues(t, index[id], ev["index"], "consecutive from 0")
		index[id]++
		seen[id] += ev["delta"].(string)
	}
	require.Equal(t, "response.completed", ev["type"])
	require.Equal(t, []any{item1}, ev["input_item_ids"])
	requireResponse(t, ev, response, "completed")
	stored := u.soFar() // all of it, since the end is told only after

	idle := s.next()
	require.Equal(t, "session.status", idle["type"])
	require.Equal(t, "idle", idle["status"])

	whole := ""
	for n, body := range stored {
		require.Equal(t, "external_conversation_item", body["type"])
		data := body["data"].(dict)
		require.Equal(t, "message", data["item_type"])
		require.Equal(t, response, data["response_id"])
		require.Equal(t, data["source_id"], data["message_id"])
		require.Regexp(t, fmt.Sprintf(`^turn_[0-9a-f]{32}:%d$`, n), data["source_id"])
		content := data["item_data"].(dict)
		require.NotContains(t, content, "type")
		require.Equal(t, "assistant", content["role"])
		require.Equal(t, "shell", content["agent"])
		block := content["content"].([]any)[0].(dict)
		require.Equal(t, "output_text", block["type"])
		whole += block["text"].(string)
		require.Equal(t, block["text"], seen[data["source_id"].(string)], "the previews and the stored item are the same text")
	}
	require.Equal(t, "one\nzwei ✓\n", whole)
	u.mu.Lock()
	defer u.mu.Unlock()
	require.Equal(t, "omnigent://internal", u.callback.Get("Origin"))
	require.Equal(t, strings.TrimSpace(r.Secret()), u.callback.Get("X-Omnigent-Runner-Tunnel-Token"))
}

func requireResponse(t *testing.T, ev dict, id any, status string) {
	t.Helper()
	body := ev["response"].(dict)
	require.Equal(t, id, body["id"])
	require.Equal(t, "response", body["object"])
	require.Equal(t, status, body["status"])
	require.NotEmpty(t, body["model"])
	require.NotZero(t, body["created_at"])
	require.Equal(t, []any{}, body["output"])
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	u, r, l := connect(t)
	s := l.open()
	l.get("POST", "/v1/sessions/"+session+"/events", u.message(item1, "echo begun; sleep 100"))
	s.until(func(ev dict) bool { return ev["type"] == "response.output_text.delta" })
	status, text := l.get("POST", "/v1/sessions/"+session+"/events", dict{"type": "interrupt", "data": dict{}})
	require.Contains(t, []float64{200, 202, 204}, status, text)
	require.Equal(t, "response.cancelled", s.end(item1)["type"])
	require.Equal(t, "idle", s.next()["status"])
	r.RequireGone()
}

func TestFailedTurn(t *testing.T) {
	t.Parallel()
	u, _, l := connect(t)
	s := l.open()
	l.get("POST", "/v1/sessions/"+session+"/events", u.message(item1, "exit 3"))
	ev := s.end(item1)
	require.Equal(t, "response.failed", ev["type"])
	failure := ev["response"].(dict)["error"].(dict)
	require.Equal(t, "exit_status", failure["code"])
	require.Contains(t, failure["message"], "bash exited with status 3")
	status := s.next()
	require.Equal(t, "session.status", status["type"])
	require.Equal(t, "failed", status["status"])
	require.Equal(t, ev["response"].(dict)["id"], status["response_id"])
	require.Equal(t, failure["code"], status["error"].(dict)["code"])
	require.NotEmpty(t, status["error"].(dict)["message"])
}

// A message that was taken is not run again, however often it is repeated, on
// this connection or the next.
func TestRepeatedForward(t *testing.T) {
	t.Parallel()
	u, r, l := connect(t)
	s := l.open()
	message := u.message(item1, "echo once >> ran")
	for range 3 {
		status, text := l.get("POST", "/v1/sessions/"+session+"/events", message)
		require.EqualValues(t, 202, status, text)
	}
	s.end(item1)
	require.NoError(t, l.ws.Close(1012, ""))
	l = u.next()
	l.kind("hello")
	s = l.open()
	status, _ := l.get("POST", "/v1/sessions/"+session+"/events", message)
	require.EqualValues(t, 202, status)
	status, _ = l.get("POST", "/v1/sessions/"+session+"/events", u.message(item2, "echo twice >> ran"))
	require.EqualValues(t, 202, status)
	require.Equal(t, "response.completed", s.end(item2)["type"])
	require.Equal(t, []string{"once", "twice"}, r.Lines("ran"))
}

// What a runner must take without a word, and what it must answer.
func TestFramesOfAllSorts(t *testing.T) {
	t.Parallel()
	_, _, l := connect(t)
	for _, text := range []string{
		``, `{`, `[]`, `"hello"`, `{}`, `{"kind":null}`, `{"kind":"dance"}`, `{"kind":"request"}`, `{"kind":"request.cancel","id":"nobody"}`,
		`{"kind":"ws.frame","ch_id":"nobody","data":"x"}`, `{"kind":"event.ready"}`, strings.Repeat(`{"kind":`, 100_000),
		`{"kind":"pong","ts":1}`,
	} {
		l.sendText(text)
	}
	l.sendText(`{"kind":"ping","ts":12345678901234567890123,"more":{"a":[1,2]}}`)
	require.Contains(t, l.pong(), `"ts":12345678901234567890123`, "the number comes back as it went")

	status, text := l.get("GET", "/health", nil)
	require.EqualValues(t, 200, status)
	require.Contains(t, text, "ok")
	status, text = l.get("GET", "/nothing/here", nil)
	require.EqualValues(t, 404, status)
	require.JSONEq(t, `{"detail":"Not Found"}`, text)
	status, text = l.get("POST", "/v1/sessions/"+session+"/events", dict{"type": "an_event_of_the_future"})
	require.EqualValues(t, 204, status)
	require.Empty(t, text)

	l.send(dict{"kind": "request", "id": "bad", "method": "POST", "path": "/v1/sessions/" + session + "/events", "body": "?", "encoding": "rot13"})
	require.EqualValues(t, 400, l.of("bad")["status"])

	l.send(dict{"kind": "ws.open", "ch_id": "c0ffee00", "path": "/v1/sessions/" + session + "/resources/terminals/main/attach"})
	refused := l.receive(func(f dict) bool { return f["ch_id"] == "c0ffee00" })
	require.Equal(t, "ws.close", refused["kind"])
	require.EqualValues(t, 4404, refused["code"])
}
