package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func card(status, name, args, id string) string {
	raw, _ := json.Marshal(map[string]string{"type": "function_call", "status": status, "name": name, "arguments": args, "call_id": id})
	return string(raw)
}

func result(id, text string) string {
	raw, _ := json.Marshal(map[string]string{"type": "function_call_output", "status": "completed", "call_id": id, "output": text})
	return string(raw)
}

func TestToolCards(t *testing.T) {
	s := newStage(t)
	s.do(
		`update {"sessionUpdate":"tool_call","toolCallId":"a","title":"bash","kind":"execute","status":"pending","rawInput":{}}`,
		`update {"sessionUpdate":"tool_call_update","toolCallId":"a","title":"echo x","rawInput":{"command": "echo x"}}`,
		`update {"sessionUpdate":"tool_call_update","toolCallId":"a","status":"in_progress"}`,
		`update {"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","content":[{"type":"content","content":{"type":"text","text":"x"}}]}`,
		`update {"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","content":[]}`,
		`update {"sessionUpdate":"tool_call","toolCallId":"a","title":"bash","status":"pending"}`,
	)
	require.Equal(t, []string{
		card("in_progress", "bash", "{}", "a"), card("completed", "bash", `{"command":"echo x"}`, "a"), result("a", "x"),
	}, s.items(), "each once")

	s.do(
		`update {"sessionUpdate":"tool_call_update","toolCallId":"b","kind":"read","title":"Read the file","status":"failed"}`,
		`update {"sessionUpdate":"tool_call","toolCallId":"c","title":"echo x > f","rawInput":["x"],"_meta":{"claudeCode":{"toolName":"Bash"}}}`,
		`update {"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":{"output":"done","metadata":1}}`,
		`update {"sessionUpdate":"tool_call","toolCallId":"d","title":"Thinking hard","kind":"other"}`,
		`update {"sessionUpdate":"tool_call"}`,
		`say over`,
	)
	require.Equal(t, []string{
		card("in_progress", "read", "{}", "b"), card("completed", "read", "{}", "b"), result("b", "It failed."),
		card("in_progress", "Bash", `{"input":["x"]}`, "c"), card("completed", "Bash", `{"input":["x"]}`, "c"), result("c", "done"),
		card("in_progress", "Thinking hard", "{}", "d"), card("completed", "Thinking hard", "{}", "d"), result("d", "[The turn ended before this did.]"),
	}, s.items())
}

func TestToolNames(t *testing.T) {
	for want, text := range map[string]string{
		"n":       `{"name":"n","title":"t"}`,
		"g":       `{"title":"t t","kind":"edit","_meta":{"goose":{"toolCall":{"toolName":"g"}}}}`,
		"old":     `{"title":"t t","_meta":{"goose":{"toolName":"old"}}}`,
		"edit":    `{"title":"Edit x.go","kind":"edit"}`,
		"a__b.c":  `{"title":"a__b.c","kind":"edit"}`,
		"tool":    `{"kind":"other"}`,
		`a\x00 b`: `{"title":"a\u0000 b"}`,
	} {
		var m toolMessage
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		require.Equal(t, want, m.name(), text)
	}
}

func TestToolResults(t *testing.T) {
	for _, test := range []struct{ content, raw, want string }{
		{`null`, `"text"`, "text"},
		{`7`, `{"error":"no"}`, "no"},
		{`[]`, `{"x":1}`, `{"x":1}`},
		{`[{"type":"diff","path":"f","oldText":"a\nb\n","newText":"c\n"},{"type":"terminal"}]`, ``, "f\n-a\n-b\n+c"},
		{`[{"type":"content","content":{"text":"one"}},{"type":"content","content":{"text":"two"}}]`, `"raw"`, "one\ntwo"},
	} {
		require.Equal(t, test.want, resultOf(json.RawMessage(test.content), json.RawMessage(test.raw)))
	}
	long, err := json.Marshal(strings.Repeat("ü", maxResult))
	require.NoError(t, err)
	cut := resultOf(nil, long)
	require.LessOrEqual(t, len(cut), maxResult)
	require.True(t, strings.HasSuffix(cut, "ü…\n[The rest is left out.]"))
	require.Len(t, callID(strings.Repeat("x", 300)), len("call_")+64)
}
