package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

func TestInterrupt(t *testing.T) {
	s := newStage(t)
	for _, rest := range []string{"", " fail"} {
		s.forget()
		r, ended := s.begin(script("say on", "await-cancel"+rest))
		s.untilText("on")
		r.Stop(turn.Interrupted)
		require.Equal(t, wire.Cancelled, s.await(ended).Outcome)
		require.Equal(t, "oncancelled", s.text(), "what it says then is the turn's")
	}
	require.Contains(t, s.do("seen"), "session/cancel session/cancel session/prompt session/cancel session/cancel")
	require.Equal(t, 3, s.turns(), "the process lives on")
}

func TestInterruptWithAQuestion(t *testing.T) {
	s := newStage(t)
	r, ended := s.begin(script(
		`update {"sessionUpdate":"tool_call","toolCallId":"c","title":"bash"}`,
		`ask plain {"toolCallId":"unanswered"}`, "await-cancel ask"))
	s.asked(1)
	r.Stop(turn.Interrupted)
	require.Equal(t, wire.Cancelled, s.await(ended).Outcome)
	require.Equal(t, 2, strings.Count(s.text(), `got {"outcome":{"outcome":"cancelled"}}`), "the open one and the late one: %s", s.text())
	require.Len(t, s.all(wire.ElicitationRequest), 1, "nobody is asked after that")
	require.Equal(t, result("c", "[The turn ended before this did.]"), s.items()[2])
	require.Equal(t, "x", s.do("say x"))
	require.Equal(t, 2, s.turns())
}

func TestAnAgentThatDoesNotCancel(t *testing.T) {
	s := newStage(t, "able")
	r, ended := s.begin(script("say on", "hang"))
	s.untilText("on")
	r.Stop(turn.Interrupted)
	require.Equal(t, wire.Cancelled, s.await(ended).Outcome)
	require.Nil(t, s.pool.Kept("s"), "its guard has ended it")
	require.Equal(t, "[initialize session/load session/prompt] cancels 0 model small", s.do("seen"))
}

func TestInterruptInTheHandshake(t *testing.T) {
	s := newStage(t, "mute")
	r, ended := s.begin(says("x"))
	require.Eventually(t, func() bool { return s.turns() == 1 }, patience, time.Millisecond)
	r.Stop(turn.Interrupted)
	require.Equal(t, wire.Cancelled, s.await(ended).Outcome)
	require.Empty(t, s.native)
}

func TestStops(t *testing.T) {
	for why, code := range map[turn.Reason]string{turn.RunnerStopping: wire.CodeRunnerRestarted, turn.TooLong: wire.CodeTimeout} {
		s := newStage(t)
		r, ended := s.begin(script("say on", "hang"))
		s.untilText("on")
		r.Stop(why)
		s.failed(s.await(ended), code, "")
		require.Nil(t, s.pool.Kept("s"))
	}
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan wire.TurnEnd, 1)
	go func() { ended <- s.pool.Prepare(s.opts, s.cfg, script("say on", "hang")).Do(ctx, s.take) }()
	s.untilText("on")
	cancel()
	require.Equal(t, wire.Cancelled, s.await(ended).Outcome)
	require.Nil(t, s.pool.Kept("s"))
}

func TestSilence(t *testing.T) {
	s := newStage(t)
	s.cfg.IdleTimeout = 500 * time.Millisecond
	_, end := s.run(script("hang"))
	s.failed(end, wire.CodeTimeout, "wrote nothing for 500ms")

	// A question holds the clock, and so does a tool that runs.
	r, ended := s.begin(script("ask plain", "say on"))
	question := s.asked(1)
	<-time.After(2 * s.cfg.IdleTimeout)
	require.True(t, r.Waits())
	reply(t, r, question, wire.Accept, "")
	s.completed(s.await(ended))
	require.False(t, r.Waits())
	require.Equal(t, "on", s.do(`update {"sessionUpdate":"tool_call","toolCallId":"a","title":"b"}`, "pause 1200ms", "say on"))
	_, end = s.run(script(`update {"sessionUpdate":"tool_call","toolCallId":"a","title":"b","status":"completed"}`, "pause 1200ms", "say on"))
	s.failed(end, wire.CodeTimeout, "wrote nothing for 500ms")
}

func TestDeath(t *testing.T) {
	s := newStage(t, "able")
	_, end := s.run(script("say on", "stderr boom", "exit 3"))
	s.failed(end, wire.CodeExitStatus, "exited with status 3 before it had ended the turn")
	require.Contains(t, end.Error.Remediation, "boom")
	require.NotEmpty(t, s.native, "its session is known")
	native := s.native
	require.Equal(t, "[initialize session/load session/prompt] cancels 0 model small", s.do("seen"))
	require.Equal(t, native, s.native)

	_, end = s.run(script("exit 0"))
	s.failed(end, wire.CodeExitStatus, "exited with status 0 before it had ended the turn")

	s.cfg.Command = []string{"/no/such/agent"}
	_, end = s.run(says("x"))
	s.failed(end, wire.CodeSpawnFailed, "/no/such/agent")
}

// One that leaves between turns, in peace, is started again. The answer it gave
// before is never lost, however soon it left.
func TestAnAgentThatLeavesAfterEachTurn(t *testing.T) {
	s := newStage(t, "able")
	for i := range 5 {
		require.Equal(t, fmt.Sprint(i), s.do(fmt.Sprint("say ", i), "die-after"))
	}
}

func TestAReaderThatFails(t *testing.T) {
	s := newStage(t)
	s.emit = func(e wire.HarnessEvent) error {
		if e.Type == wire.TextDelta {
			return errors.New("disk full")
		}
		return nil
	}
	_, end := s.run(script("say x", "hang"))
	s.failed(end, wire.CodeInternal, "disk full")
	require.Nil(t, s.pool.Kept("s"))
}
