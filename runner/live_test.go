package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// talker is a program of these tests: it says what it hears.
type talker struct {
	*world
	emit func(wire.HarnessEvent) error
}

func (p *talker) say(ev wire.HarnessEvent) { require.NoError(p.t, p.emit(ev)) }

// hear returns what the program is told next, in short form.
func (p *talker) hear() wire.ToHarness {
	return <-p.harness.results
}

// talk has the message "talk" run by the function, in the harness acp:live.
func talk(t *testing.T, run func(p *talker)) *world {
	w := newWorld(t)
	w.server.spec = &wire.Spec{Name: "agent", Harness: "acp:live"}
	w.harness.program["talk"] = func(_ context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
		run(&talker{w, emit})
		return wire.TurnEnd{Outcome: wire.Completed}
	}
	return w.start()
}

func TestMessagesJoinATurn(t *testing.T) {
	begun := make(chan struct{})
	w := talk(t, func(p *talker) {
		p.say(wire.HarnessEvent{Type: wire.TextDelta, Delta: "one"})
		close(begun)
		for range 2 {
			msg := p.hear()
			p.say(wire.HarnessEvent{Type: wire.InjectionConsumed, Consumed: msg.InjectionID})
			p.say(wire.HarnessEvent{Type: wire.TextDelta, Delta: wire.Text(msg.Content)})
		}
	})
	e := w.stream("S")
	w.send("S", "u1", "talk")
	<-begun
	w.send("S", "u2", "two")
	w.send("S", "u3", "three")
	done := e.nextOf("response.completed")
	require.Equal(t, []any{"u1", "u2", "u3"}, done["input_item_ids"])
	_, texts := w.server.texts()
	require.Equal(t, []string{"one", "two", "three"}, texts, "in their order, and apart")
	require.Equal(t, []string{"talk"}, w.harness.starts())
}

// A message that comes while the program is being prepared is not lost on the way to it.
func TestAMessageJoinsATurnThatIsJustBeginning(t *testing.T) {
	w := talk(t, func(p *talker) {
		p.say(wire.HarnessEvent{Type: wire.InjectionConsumed, Consumed: p.hear().InjectionID})
	})
	hold, reading := make(chan struct{}), make(chan struct{}, 1)
	w.server.failing(func(call string) error {
		if call == "items" {
			reading <- struct{}{}
			<-hold
		}
		return nil
	})
	e := w.stream("S")
	w.send("S", "u1", "talk")
	<-reading
	w.send("S", "u2", "two")
	require.Empty(t, w.harness.results)
	close(hold)
	require.Equal(t, []any{"u1", "u2"}, e.nextOf("response.completed")["input_item_ids"])
}

func TestAClientRunsItsTool(t *testing.T) {
	heard := make(chan wire.ToHarness, 1)
	w := talk(t, func(p *talker) {
		p.say(wire.HarnessEvent{Type: wire.ItemDone, Item: json.RawMessage(
			`{"type":"function_call","status":"action_required","name":"look_up","arguments":"{}","call_id":"c1"}`)})
		heard <- p.hear()
	})
	e := w.stream("S")
	status, body := w.do("POST", "/v1/sessions/S/events", `{"type":"message","content":"talk","agent_id":"a1","persisted_item_id":"u1",
		"tools":[{"type":"function","function":{"name":"look_up"}}]}`)
	require.Equal(t, 202, status, body)
	call := e.nextOf("response.output_item.done")["item"].(map[string]any)
	require.Equal(t, []any{"look_up", "action_required", "c1"}, []any{call["name"], call["status"], call["call_id"]})
	status, body = w.do("POST", "/v1/sessions/S/events", `{"type":"tool_result","call_id":"c1","output":{"found":1}}`)
	require.Equal(t, 204, status, body)
	require.Equal(t, wire.ToHarness{Type: wire.ToolResult, CallID: "c1", Output: `{"found":1}`}, <-heard)
	e.nextOf("response.completed")
	ids, _ := w.server.texts()
	require.Len(t, ids, 2, "the call and its output")
	status, _ = w.do("POST", "/v1/sessions/S/events", `{"type":"tool_result","call_id":"c1","output":"late"}`)
	require.Equal(t, 409, status)
	status, _ = w.do("POST", "/v1/sessions/S/events", `{"type":"tool_result","output":"x"}`)
	require.Equal(t, 400, status)
}

func TestAProgramAsksThePolicies(t *testing.T) {
	verdicts := make(chan wire.ToHarness, 2)
	w := talk(t, func(p *talker) {
		for _, id := range []string{"e1", "e2"} {
			p.say(wire.HarnessEvent{Type: wire.PolicyRequested, Policy: &wire.PolicyRequest{
				ID: id, Phase: "PHASE_TOOL_CALL", Data: json.RawMessage(`{"name":"bash"}`),
			}})
			verdicts <- p.hear()
			p.server.failing(func(call string) error { return map[string]error{"judge": errDown}[call] })
		}
		p.server.failing(nil)
	})
	e := w.stream("S")
	w.send("S", "u1", "talk")
	require.Equal(t, wire.ToHarness{Type: wire.PolicyVerdict, EvaluationID: "e1", Action: wire.PolicyAllow}, <-verdicts)
	require.Equal(t, wire.PolicyDeny, (<-verdicts).Action)
	e.nextOf("response.completed")
	require.Equal(t, `PHASE_TOOL_CALL {"name":"bash"}`, w.server.judged[0])
}

func TestASkillIsResolved(t *testing.T) {
	w := newWorld(t)
	w.server.spec = &wire.Spec{Name: "agent", Harness: "acp:live", Skills: []wire.Skill{{Name: "review", Text: "Read $ARGUMENTS."}}}
	w.start()
	for body, want := range map[string]string{
		`{"name":"review","arguments":"a.go"}`: `200 {"meta_text":"Read a.go."}`,
		`{"name":"none"}`:                      `404 {"available":["review"],"detail":"The agent \"agent\" has no skill named \"none\".","error":"skill_not_found"}`,
		`{"name":""}`:                          `400`,
		`{"name":"review","arguments":1}`:      `400`,
		`[]`:                                   `400`,
	} {
		status, got := w.do("POST", "/v1/sessions/S/skills/resolve", body)
		require.Contains(t, fmt.Sprint(status, " ", got), want)
	}
	status, got := w.do("GET", "/v1/sessions/S/skills", "")
	require.Equal(t, `200 {"skills":[]}`, fmt.Sprint(status, " ", got))
}

// A program is given a compaction in the place of what it sums up.
func TestACompactionStandsForWhatWasBefore(t *testing.T) {
	user := func(id, text string) wire.Item {
		return wire.Item{ID: id, Type: "message", Role: "user", Content: json.RawMessage(`[{"type":"input_text","text":"` + text + `"}]`)}
	}
	for compaction, want := range map[string][]string{
		`{"id":"c","type":"compaction","summary":"in short"}`:                                                                   {"Sum up our conversation", `"text":"in short"`, `"text":"after"`},
		`{"id":"c","type":"compaction","summary":"s","compacted_messages":[{"type":"message","role":"user","content":"kept"}]}`: {`"kept"`, `"text":"after"`},
		`{"id":"c","type":"compaction","summary":"odd","compacted_messages":"x"}`:                                               {"Sum up our conversation", `"text":"odd"`, `"text":"after"`},
	} {
		w := newWorld(t)
		w.server.spec = &wire.Spec{Name: "agent", Harness: "acp:chat"}
		var c wire.Item
		require.NoError(t, json.Unmarshal([]byte(compaction), &c))
		w.server.items["S"] = []wire.Item{user("a", "before"), c, user("b", "after"), user("u1", "say x")}
		w.start()
		e := w.stream("S")
		w.send("S", "u1", "say x")
		e.nextOf("response.completed")
		require.Len(t, w.harness.history, len(want))
		for n, words := range want {
			require.Contains(t, w.harness.history[n], words)
		}
		w.stop()
	}
}

// A message that comes while a turn works lies before what that turn stores
// afterwards: its own turn is given all of that, and what waits behind it is not
// told before its time.
func TestTheConversationHasWhatWasStoredBehindTheMessage(t *testing.T) {
	w := newWorld(t)
	w.server.spec = &wire.Spec{Name: "agent", Harness: "acp:chat"}
	message := func(id, role, text string) wire.Item {
		return wire.Item{ID: id, Type: "message", Role: role, Content: json.RawMessage(`[{"type":"input_text","text":"` + text + `"}]`)}
	}
	marker := message("m", "user", "[System: interrupted]")
	marker.IsMeta = true
	w.server.items["S"] = []wire.Item{
		message("a", "user", "first"), {ID: "c", Type: "function_call", CallID: "1", Name: "look", Arguments: "{}"}, message("u1", "user", "say x"),
		{ID: "o", Type: "function_call_output", CallID: "1", Output: "seen"}, message("t", "assistant", "answered"), marker,
		message("later", "user", "waits"),
	}
	w.start()
	e := w.stream("S")
	w.send("S", "u1", "say x")
	e.nextOf("response.completed")
	want := []string{"first", "look", "seen", "answered", "interrupted"}
	require.Len(t, w.harness.history, len(want))
	for n, words := range want {
		require.Contains(t, w.harness.history[n], words)
	}
}
