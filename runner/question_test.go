package runner

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// A question of a program reaches the stream, and a human's answer the program,
// in both shapes that servers send.
func TestProgramAsksAHuman(t *testing.T) {
	for _, answer := range []string{
		`{"type":"approval","data":{"elicitation_id":"q1","action":"accept","content":{"answer":"yes"}}}`,
		`{"type":"approval","elicitation_id":"q1","action":"accept","content":{"answer":"yes"}}`,
	} {
		w := newWorld(t)
		w.harness.program["ask"] = func(_ context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
			ask := &wire.Elicitation{
				ID: "q1", Method: "elicitation/create", Params: json.RawMessage(`{"message":"may I?"}`),
				Tool: &wire.ToolUse{Name: "bash", Args: json.RawMessage(`{"command":"ls"}`)},
			}
			if err := emit(wire.HarnessEvent{Type: wire.ElicitationRequest, Ask: ask}); err != nil {
				return failed("x", err.Error())
			}
			msg := <-w.harness.results
			said, err := json.Marshal(msg)
			if err != nil {
				return failed("x", err.Error())
			}
			if err := emit(wire.HarnessEvent{Type: wire.TextDelta, Delta: string(said)}); err != nil {
				return failed("x", err.Error())
			}
			return wire.TurnEnd{Outcome: wire.Completed, Usage: json.RawMessage(`{"total_tokens":7}`)}
		}
		w.start()
		e := w.stream("S")
		w.send("S", "u1", "ask")
		asked := e.nextOf("response.elicitation_request")
		require.Equal(t, map[string]any{
			"type": "response.elicitation_request", "elicitation_id": "q1", "method": "elicitation/create",
			"params": map[string]any{"message": "may I?"},
		}, asked)
		status, body := w.do("POST", "/v1/sessions/S/events", answer)
		require.Equal(t, 204, status, body)
		require.Equal(t, map[string]any{"type": "response.elicitation_resolved", "elicitation_id": "q1", "action": "accept"},
			e.nextOf("response.elicitation_resolved"))
		done := e.nextOf("response.completed")
		require.Equal(t, map[string]any{"total_tokens": 7.0}, done["response"].(map[string]any)["usage"])
		_, texts := w.server.texts()
		require.Equal(t, []string{`{"type":"approval","elicitation_id":"q1","action":"accept","content":{"answer":"yes"}}`}, texts)
		w.stop()
	}
}

func TestApprovalsThatAreNone(t *testing.T) {
	w := newWorld(t).start()
	for body, want := range map[string]int{
		`{"type":"approval","data":{"elicitation_id":"q9","action":"accept"}}`: 204, // nobody asks that
		`{"type":"approval","data":{"action":"accept"}}`:                       400,
		`{"type":"approval","data":{"elicitation_id":"q9","action":"maybe"}}`:  400,
		`{"type":"approval","data":[]}`:                                        400,
		`{"type":"approval","elicitation_id":9}`:                               400,
	} {
		status, got := w.do("POST", "/v1/sessions/S/events", body)
		require.Equal(t, want, status, "%s: %s", body, got)
	}
}

// nextOf skips to the next event of a type.
func (e *events) nextOf(typ string) map[string]any {
	e.t.Helper()
	for {
		ev := e.next()
		if ev["type"] == typ {
			return ev
		}
		require.NotEqual(e.t, "EOF", ev["type"], "no %s came", typ)
	}
}
