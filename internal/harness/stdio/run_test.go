package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

func TestTwoTurnsInOneProcess(t *testing.T) {
	s := newStage(t, `n=0
while IFS= read -r line; do n=$((n+1)); text "turn $n of "; text "$$"; finish; done`)
	one, end := s.run("a")
	s.completed(end)
	two, end := s.run("b")
	s.completed(end)
	pid, found := strings.CutPrefix(one, "turn 1 of ")
	require.True(t, found, one)
	require.Equal(t, "turn 2 of "+pid, two)
}

func TestTheMessageIsOneLineOfJSON(t *testing.T) {
	s := newStage(t, `while IFS= read -r line; do printf '%s\n' "$line" > said; finish; done`)
	start := userSays("t", "")
	start.Inputs[0].Content = json.RawMessage(`[{"type":"input_text","text":"a <b> & \"c\"\nd é🙂"}]`)
	start.Inputs = append(start.Inputs, wire.Input{ItemID: "j", Content: json.RawMessage(`"plain"`)}, wire.Input{ItemID: "k"})
	start.Prompt, start.Model, start.Effort = "Be brief.", "big", "high"
	start.History = []json.RawMessage{json.RawMessage(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"before"}]}`)}
	start.Tools = []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"f"}}`)}
	_, ended := s.begin(start)
	s.completed(s.await(ended))
	said := s.file("said")
	require.True(t, strings.HasPrefix(said, `{"type":"message",`), said)
	require.Contains(t, said, "<b> &")
	require.JSONEq(t, `{"type":"message","role":"user","model":"helper","content":[
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"before"}]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"a <b> & \"c\"\nd é🙂"}]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"plain"}]},
		{"type":"message","role":"user","content":[]}],
		"instructions":"Be brief.","tools":[{"type":"function","function":{"name":"f"}}],"model_override":"big","reasoning":{"effort":"high"}}`, said)

	_, end := s.run("x")
	s.completed(end)
	require.JSONEq(t, `{"type":"message","role":"user","model":"helper","content":[
		{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}`, s.file("said"))
}

func TestAMessageThatIsNoJSONIsAFailedTurn(t *testing.T) {
	s := newStage(t, `finish`)
	start := userSays("t", "")
	start.Inputs[0].Content = json.RawMessage(`{"text":`)
	_, ended := s.begin(start)
	s.failed(s.await(ended), turn.CodeInvalidInput, "the message cannot be read")
	require.Nil(t, s.process(), "nothing was started")
}

func TestEventsComeInOrder(t *testing.T) {
	s := newStage(t, `read -r line
say '{"type":"response.created","response":{"id":"mine"}}'
say '{"type":"response.in_progress"}'
say '{"type":"response.heartbeat"}'
say '{"type":"response.reasoning_text.delta","delta":"hm"}'
text one
say '{"type":"response.output_item.done","item":{"type":"function_call","status":"in_progress","name":"ls","call_id":"c","arguments":{"a":1}}}'
say '{"type":"response.output_item.done","item":{"type":"function_call","status":"completed","name":"ls","call_id":"c"}}'
say '{"type":"response.output_item.done","item":{"type":"function_call_output","call_id":"c","output":["x"]}}'
say '{"type":"response.of_the_future","delta":1}'
text ""
text two
printf '{"type":"response.completed"}'`)
	_, end := s.run("x")
	s.completed(end)
	require.Equal(t, []wire.HarnessEvent{
		{Type: wire.HeartbeatEvent}, {Type: wire.ReasoningDelta, Delta: "hm"}, {Type: wire.TextDelta, Delta: "one"},
		{Type: wire.ItemDone, Item: json.RawMessage(`{"arguments":"{\"a\":1}","call_id":"c","name":"ls","status":"in_progress","type":"function_call"}`)},
		{Type: wire.ItemDone, Item: json.RawMessage(`{"arguments":"{}","call_id":"c","name":"ls","status":"completed","type":"function_call"}`)},
		{Type: wire.ItemDone, Item: json.RawMessage(`{"call_id":"c","output":"[\"x\"]","type":"function_call_output"}`)},
		{Type: wire.TextDelta, Delta: "two"},
	}, s.events)
	require.NotContains(t, s.log.String(), "no event")
}

func TestAToolCallIsAnswered(t *testing.T) {
	s := newStage(t, `
ask() { say '{"type":"response.output_item.done","item":{"type":"function_call","status":"action_required","name":"sys_x","call_id":"'"$1"'","arguments":"{}"}}'; }
while IFS= read -r line; do
  case $line in
  '{"type":"message"'*) ask a; ask b ;;
  *'"a"'*) text "a: $(printf %s "$line" | tr -d '"'); " ;;
  *'"b"'*) text "b: $(printf %s "$line" | tr -d '"')"; finish ;;
  esac
done`)
	r, ended := s.begin(userSays("t", "x"))
	s.until("two calls", func() bool { return len(s.items()) == 2 })
	require.JSONEq(t, `{"type":"function_call","status":"action_required","name":"sys_x","call_id":"a","arguments":"{}"}`, s.items()[0])
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.ToolResult, CallID: "unknown", Output: "lost"}))
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.ToolResult, CallID: "a", Output: "é <1>"}))
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.ToolResult, CallID: "a", Output: "again"}))
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.ToolResult, CallID: "b", Output: "2"}))
	require.Error(t, r.Send(wire.ToHarness{Type: "gossip"}))
	s.completed(s.await(ended))
	require.Equal(t, "a: {type:tool_result,call_id:a,output:é <1>}; b: {type:tool_result,call_id:b,output:2}", s.text())
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.ToolResult, CallID: "b", Output: "late"}), "too late is no error")
}

func TestWaitingForAToolIsNotSilence(t *testing.T) {
	s := newStage(t, `read -r line
say '{"type":"response.output_item.done","item":{"type":"function_call","status":"action_required","name":"f","call_id":"a","arguments":"{}"}}'
read -r line; finish; read -r line; sleep 1000`)
	s.cfg.IdleTimeout = 200 * time.Millisecond
	r, ended := s.begin(userSays("t", "x"))
	s.until("the call", func() bool { return len(s.items()) == 1 })
	select {
	case end := <-ended:
		require.FailNow(t, "it ended", "%v", end.Error)
	case <-time.After(4 * s.cfg.IdleTimeout):
	}
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.ToolResult, CallID: "a"}))
	s.completed(s.await(ended))
	_, end := s.run("y")
	s.failed(end, wire.CodeTimeout, "sh wrote nothing for 200ms")
}

func TestTerminals(t *testing.T) {
	tests := map[string]struct {
		line    string
		outcome wire.Outcome
		err     *wire.TurnError
	}{
		"completed":        {`{"type":"response.completed","response":{"status":"completed","error":null}}`, wire.Completed, nil},
		"cancelled":        {`{"type":"response.cancelled"}`, wire.Cancelled, nil},
		"error":            {`{"type":"response.failed","error":{"code":"c","message":"m","remediation":"r"}}`, wire.Failed, &wire.TurnError{Code: "c", Message: "m", Remediation: "r"}},
		"response.error":   {`{"type":"response.failed","response":{"error":{"code":"c","message":"m"}},"error":null}`, wire.Failed, &wire.TurnError{Code: "c", Message: "m"}},
		"both":             {`{"type":"response.failed","response":{"error":{"code":"c","message":"m"}},"error":{"code":"d","message":"n"}}`, wire.Failed, &wire.TurnError{Code: "c", Message: "m"}},
		"null":             {`{"type":"response.failed","response":{"error":null},"error":{"code":null,"message":"m"}}`, wire.Failed, &wire.TurnError{Code: CodeFailed, Message: "m"}},
		"nothing":          {`{"type":"response.failed"}`, wire.Failed, &wire.TurnError{Code: CodeFailed, Message: "sh failed without saying why"}},
		"all null":         {`{"type":"response.failed","response":null,"error":null}`, wire.Failed, &wire.TurnError{Code: CodeFailed, Message: "sh failed without saying why"}},
		"empty":            {`{"type":"response.failed","error":{"code":"","message":""}}`, wire.Failed, &wire.TurnError{Code: CodeFailed, Message: "sh failed without saying why"}},
		"code only":        {`{"type":"response.failed","error":{"code":"rate_limit"}}`, wire.Failed, &wire.TurnError{Code: "rate_limit", Message: "sh failed with rate_limit"}},
		"number":           {`{"type":"response.failed","error":{"code":429,"message":"m"}}`, wire.Failed, &wire.TurnError{Code: "429", Message: "m"}},
		"text":             {`{"type":"response.failed","error":"m"}`, wire.Failed, &wire.TurnError{Code: CodeFailed, Message: "m"}},
		"carriage returns": {`{"type":"response.completed"}` + "\r", wire.Completed, nil},
		"byte order mark":  {"\ufeff" + `{"type":"response.completed"}`, wire.Completed, nil},
	}
	s := newStage(t, `while IFS= read -r line; do cat answer; done`)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s.write("answer", tt.line+"\n")
			_, end := s.run("x")
			require.Equal(t, wire.TurnEnd{Outcome: tt.outcome, Error: tt.err}, end)
		})
	}
	require.Equal(t, len(tests), s.process().Turns(), "it lived on all the time")
}

func TestWhatComesAfterTheTerminalIsNobodys(t *testing.T) {
	s := newStage(t, `n=0
while IFS= read -r line; do n=$((n+1)); text "$n"; finish; text late; finish; until [ -e go$n ]; do sleep 0.01; done; done`)
	text, end := s.run("x")
	s.completed(end)
	require.Equal(t, "1", text)
	require.Eventually(t, func() bool { return s.strays() == 2 }, patience, 5*time.Millisecond)
	require.Equal(t, 1, strings.Count(s.log.String(), "while it had no turn"))
	s.write("go1", "")
	s.write("go2", "")
	text, end = s.run("y")
	s.completed(end)
	require.Equal(t, "2", text)
}

func TestUnicode(t *testing.T) {
	s := newStage(t, `read -r line; cat answer; finish`)
	s.write("answer", `{"type":"response.output_text.delta","delta":"é漢🙂 \ud83d\ude42 \u0000 `+"\xe9\xff"+` \"\\"}`+"\n")
	text, end := s.run("x")
	s.completed(end)
	require.Equal(t, `é漢🙂 🙂 \x00 \xe9\xff "\`, text)
}

func TestALongDeltaIsCutBetweenCharacters(t *testing.T) {
	long := strings.Repeat("é🙂x", 40_000)
	s := newStage(t, `read -r line; cat answer; finish`)
	s.write("answer", `{"type":"response.output_text.delta","delta":"`+long+`"}`+"\n")
	text, end := s.run("x")
	s.completed(end)
	require.Equal(t, long, text)
	for _, e := range s.events {
		require.LessOrEqual(t, len(e.Delta), turn.DeltaSize)
	}
}

func TestALongConversationAndAProgramThatIsSlowToRead(t *testing.T) {
	s := newStage(t, `sleep 0.2; head -n 1 | wc -c > size; finish`)
	_, end := s.run(strings.Repeat("0123456789", 500_000))
	s.completed(end)
	require.Regexp(t, "^50001..$", s.file("size"))
}

func TestASlowReaderSlowsTheProgramAndIsNotSilence(t *testing.T) {
	s := newStage(t, `read -r line; i=0; while [ $i -lt 300 ]; do i=$((i+1)); cat piece; echo $i > progress; done; finish`)
	s.write("piece", `{"type":"response.output_text.delta","delta":"`+strings.Repeat("x", 2000)+`"}`+"\n")
	s.cfg.IdleTimeout = 500 * time.Millisecond
	reading := make(chan struct{})
	s.emit = func(wire.HarnessEvent) error { <-reading; return nil }
	_, ended := s.begin(userSays("t", "x"))
	last, since := "", time.Now()
	require.Eventually(t, func() bool {
		if now := s.file("progress"); now != last || now == "" {
			last, since = now, time.Now()
		}
		return time.Since(since) > 2*s.cfg.IdleTimeout
	}, patience, 10*time.Millisecond)
	require.Less(t, len(last), 4, "two digits: it stands still once the pipes are full")
	close(reading)
	s.completed(s.await(ended))
	require.Len(t, s.text(), 300*2000)
}

func TestWhenEventsCannotBePassedOnTheTurnFails(t *testing.T) {
	for name, emit := range map[string]func(wire.HarnessEvent) error{
		"error": func(wire.HarnessEvent) error { return errors.New("the reader left") },
		"panic": func(wire.HarnessEvent) error { panic("the reader left") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, `trap '' TERM INT; read -r line; while :; do text x; done`)
			s.cfg.TerminateGrace = time.Hour
			s.emit = emit
			_, end := s.run("x")
			s.failed(end, wire.CodeInternal, "the output of sh could not be passed on")
			require.Contains(t, end.Error.Message, "the reader left")
			require.Nil(t, s.process())
		})
	}
}

func TestTheEndOfTheContextKills(t *testing.T) {
	s := newStage(t, `trap '' TERM INT; read -r line; text ready; while :; do sleep 0.05; done`)
	s.cfg.InterruptGrace, s.cfg.TerminateGrace = time.Hour, time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan wire.TurnEnd, 1)
	go func() { ended <- s.pool.Prepare(s.cfg, userSays("t", "x")).Do(ctx, s.take) }()
	s.untilText("ready")
	cancel()
	require.Equal(t, wire.TurnEnd{Outcome: wire.Cancelled}, s.await(ended))
	require.Nil(t, s.process(), "it is gone when the turn returns")
	require.Equal(t, wire.Cancelled, s.pool.Prepare(s.cfg, userSays("u", "x")).Do(ctx, s.take).Outcome)
	require.Nil(t, s.process())
}

func TestLimits(t *testing.T) {
	tests := map[string]struct {
		limit func(*turn.Config)
		run   string
		code  string
		says  string
		next  string
	}{
		"silence": {func(c *turn.Config) { c.IdleTimeout = 200 * time.Millisecond }, `text a; sleep 1000`,
			wire.CodeTimeout, "sh wrote nothing for 200ms and was stopped", "idle_timeout of acp:x"},
		"time": {func(c *turn.Config) { c.TurnTimeout = 300 * time.Millisecond }, `while :; do text a; sleep 0.01; done`,
			wire.CodeTimeout, "sh ran for 300ms and was stopped", "turn_timeout of acp:x"},
		"output": {func(c *turn.Config) { c.MaxOutput = 100_000 }, `trap '' TERM PIPE; while :; do text abcdefghi; done`,
			wire.CodeOutputLimit, "sh wrote more than 100000 bytes and was stopped", "max_output of acp:x"},
		"a terminal that comes too late": {func(c *turn.Config) { c.IdleTimeout = 200 * time.Millisecond }, `trap 'finish; exit 0' TERM; text a; sleep 1000 & wait`,
			wire.CodeTimeout, "sh wrote nothing for 200ms and was stopped", "idle_timeout"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "read -r line; "+tt.run)
			tt.limit(&s.cfg)
			text, end := s.run("x")
			s.failed(end, tt.code, tt.says)
			require.Contains(t, end.Error.Remediation, tt.next)
			require.NotEmpty(t, text)
			require.Less(t, len(text), 100_000)
			require.Nil(t, s.process())
		})
	}
}

func TestManySessionsAtOnce(t *testing.T) {
	s := newStage(t, `while IFS= read -r line; do text "$$"; finish; done`)
	ends := make([]<-chan wire.TurnEnd, 8)
	for i := range ends {
		start := userSays("t", "x")
		start.Session = fmt.Sprint("s", i)
		_, ends[i] = s.begin(start)
	}
	for _, ended := range ends {
		s.completed(s.await(ended))
	}
	require.Equal(t, len(ends), s.pool.Size())
}
