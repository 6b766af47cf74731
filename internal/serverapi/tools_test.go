package serverapi

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestCallTool(t *testing.T) {
	var rec recorder
	c := rec.serve(t, answer(200, asJSON, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"one"},{"type":"image","data":"x"},{"type":"text","text":"two"}],"isError":false}}`))
	output, err := c.CallTool(t.Context(), "s", wire.ToolCall{Op: "mcpop_1", Name: "sys_read_inbox", Args: []byte(`{"a":[1]}`)})
	require.NoError(t, err)
	require.Equal(t, "one\ntwo", output)
	got := rec.only(t)
	require.Equal(t, "POST /base/v1/sessions/s/mcp", got.line)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sys_read_inbox","arguments":{"a":[1]},"_omnigent_operation_id":"mcpop_1"}}`, got.body)
}

func TestWhatAToolAnswers(t *testing.T) {
	for text, want := range map[string]string{
		`{"result":{"content":[{"type":"text","text":"it broke"}],"isError":true}}`: "it broke",
		`{"result":{"content":[]}}`:                                        "",
		`{"result":{"content":[{"type":"text","text":"x"}]},"error":null}`: "x",
	} {
		c := serve(t, answer(200, asJSON, text))
		output, err := c.CallTool(t.Context(), "s", wire.ToolCall{Op: "o", Name: "n"})
		require.NoError(t, err, text)
		require.Equal(t, want, output, text)
	}
	for text, want := range map[string]string{
		`{}`:                            "no content",
		`{"result":null}`:               "no content",
		`{"result":{}}`:                 "no content",
		`{"result":{"content":"text"}}`: "no content",
		`{"result":{"resultType":"input_required","inputRequests":{}}}`: "no content",
		`{"error":{"code":-32601}}`:                                     "code -32601",
		`{"error":"odd"}`:                                               "code 0",
	} {
		var rec recorder
		c := rec.serve(t, answer(200, asJSON, text))
		_, err := c.CallTool(t.Context(), "s", wire.ToolCall{Op: "o", Name: "n"})
		require.ErrorContains(t, err, want, text)
		require.Len(t, rec.requests(), 1, text)
	}
}

func TestAToolThatIsRefusedSaysSoInTheServersWords(t *testing.T) {
	c := serve(t, answer(200, asJSON, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Denied by policy"}}`))
	_, err := c.CallTool(t.Context(), "s", wire.ToolCall{Op: "o", Name: "n"})
	require.EqualError(t, err, "Denied by policy")
	var refused *ToolError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, -32000, refused.Code)
}

func TestALostToolCallIsAskedForAgain(t *testing.T) {
	found := answer(200, asJSON, `{"result":{"content":[{"type":"text","text":"done"}]}}`)
	for name, lose := range map[string]http.HandlerFunc{
		"detached":   answer(200, asJSON, `{"error":{"code":-32098,"message":"detached"}}`),
		"cut":        hangUp,
		"cut short":  answer(200, asJSON, `{"result":{"content":[{"ty`),
		"a gateway":  answer(502, "text/html", "<p>"),
		"a gateway2": answer(504, "text/plain", "timeout"),
		"restarting": answer(503, asJSON, `{"error":{"code":"runner_unavailable","message":"x"}}`),
	} {
		var rec recorder
		c := rec.serve(t, lose, lose, lose, found)
		c.Timing.AwayPause = time.Millisecond
		output, err := c.CallTool(t.Context(), "s", wire.ToolCall{Op: "o", Name: "n", Args: []byte(`{}`)})
		require.NoError(t, err, name)
		require.Equal(t, "done", output, name)
		all := rec.requests()
		require.Len(t, all, 4, name)
		for _, again := range all[1:] {
			require.Equal(t, all[0].body, again.body, "%s: the same operation", name)
		}
	}
}

func TestWhatIsSettledIsNotAskedForAgain(t *testing.T) {
	for _, status := range []int{400, 404, 409, 429, 500} {
		var rec recorder
		c := rec.serve(t, answer(status, asJSON, `{}`))
		c.Timing.AwayPause = time.Millisecond
		_, err := c.CallTool(t.Context(), "s", wire.ToolCall{Op: "o", Name: "n"})
		require.Error(t, err)
		require.Len(t, rec.requests(), 1, status)
	}
}

func TestAServerThatStaysAway(t *testing.T) {
	var rec recorder
	c := rec.serve(t, answer(200, asJSON, `{"error":{"code":-32098,"message":"detached"}}`))
	c.Timing.AwayPause, c.Timing.Away = time.Millisecond, 40*time.Millisecond
	_, err := c.CallTool(t.Context(), "s", wire.ToolCall{Op: "o", Name: "n"})
	require.ErrorContains(t, err, "calling tool n for session s: the server is away: detached")
	require.Greater(t, len(rec.requests()), 2)
}

// What was held had reached the server: the time it may be away begins anew.
func TestAToolThatRunsLongMayBeCutOften(t *testing.T) {
	const held = 30 * time.Millisecond
	var n atomic.Int64
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 5 {
			answer(200, asJSON, `{"result":{"content":[{"type":"text","text":"done"}]}}`)(w, r)
			return
		}
		<-time.After(held)
		hangUp(w, r)
	})
	c.Timing = Timing{AwayPause: time.Millisecond, Away: held, ToolConnect: held / 2}
	output, err := c.CallTool(t.Context(), "s", wire.ToolCall{Op: "o", Name: "n"})
	require.NoError(t, err)
	require.Equal(t, "done", output)
}

func TestAToolCallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		hangUp(w, r)
	})
	c.Timing.AwayPause = time.Hour
	_, err := c.CallTool(ctx, "s", wire.ToolCall{Op: "o", Name: "n"})
	require.ErrorIs(t, err, context.Canceled)
}
