package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestInterrupt(t *testing.T) {
	tests := map[string]struct {
		run     string
		outcome wire.Outcome
		code    string
	}{
		"a plain program":              {run: "echo ready; sleep 1000", outcome: wire.Cancelled},
		"a script":                     {run: "echo ready; sleep 1000; echo after", outcome: wire.Cancelled},
		"one that cleans up":           {run: "trap 'echo bye; exit 0' INT; sleep 1000 & echo ready; wait", outcome: wire.Cancelled},
		"one that hears TERM only":     {run: "trap '' INT; echo ready; sleep 1000", outcome: wire.Cancelled},
		"one that hears nothing":       {run: "trap '' INT TERM; echo ready; while :; do sleep 0.05; done", outcome: wire.Failed, code: wire.CodeInterruptIgnored},
		"background that hears no INT": {run: "sleep 1000 & (trap '' INT TERM; while :; do sleep 0.05; done) & echo ready; wait", outcome: wire.Cancelled},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := manager(t)
			s, ended := begin(t, m, message("t", tt.run))
			s.await(t, "ready\n")
			require.NoError(t, m.Interrupt(t.Context(), "session", "t"))
			require.NoError(t, m.Interrupt(t.Context(), "session", "t"), "twice is fine")
			end := await(t, ended)
			require.Equal(t, tt.outcome, end.Outcome, "%v", end.Error)
			require.NotContains(t, s.text(), "after")
			if tt.code != "" {
				require.Equal(t, tt.code, end.Error.Code)
				require.Equal(t, "bash ignored the interrupt and had to be killed", end.Error.Message)
			}
		})
	}
}

func TestAStoppedProgramHearsTheInterrupt(t *testing.T) {
	m := manager(t, func(cfg *Config) { cfg.InterruptGrace = time.Hour })
	s, ended := begin(t, m, message("t", "echo ready; kill -STOP $$"))
	s.await(t, "ready\n")
	require.NoError(t, m.Interrupt(t.Context(), "session", "t"))
	require.Equal(t, wire.Cancelled, await(t, ended).Outcome)
}

func TestOutputDuringAnInterruptCounts(t *testing.T) {
	m := manager(t)
	s, ended := begin(t, m, message("t", "trap 'echo saved; exit 0' INT; sleep 1000 & echo ready; wait"))
	s.await(t, "ready\n")
	require.NoError(t, m.Interrupt(t.Context(), "session", "t"))
	await(t, ended)
	require.Equal(t, "ready\nsaved\n", s.text())
}

func TestAnInterruptBeforeTheTurnIsNotLost(t *testing.T) {
	m := manager(t)
	require.NoError(t, m.Interrupt(t.Context(), "session", "t"))
	text, end := run(t, m, "echo ran")
	require.Equal(t, wire.Cancelled, end.Outcome)
	require.Empty(t, text, "nothing was started")
	_, end = run(t, m, "echo ran")
	require.Equal(t, wire.Completed, end.Outcome, "it is used up")
}

func TestAnInterruptWhileStartingIsNotLost(t *testing.T) {
	m := manager(t)
	// Wherever the turn is by then: not begun, registered, starting its guard,
	// starting its program, running.
	for i := range 100 {
		turn := fmt.Sprint("t", i)
		_, ended := begin(t, m, message(turn, "sleep 1000"))
		<-time.After(time.Duration(i) * 50 * time.Microsecond)
		require.NoError(t, m.Interrupt(t.Context(), "session", turn))
		require.Equal(t, wire.Cancelled, await(t, ended).Outcome)
	}
}

func TestAnInterruptOfAnEndedTurnHitsNobody(t *testing.T) {
	m := manager(t)
	run(t, m, "true")
	require.NoError(t, m.Interrupt(t.Context(), "session", "t"))
	require.NoError(t, m.Interrupt(t.Context(), "nobody", "nothing"))
	for i := range 2 * earlyLimit {
		require.NoError(t, m.Interrupt(t.Context(), "session", fmt.Sprint(i)))
	}
	require.Len(t, m.turns.early, earlyLimit)
}

func TestTheEndOfTheContextKills(t *testing.T) {
	m := manager(t, func(cfg *Config) { cfg.InterruptGrace, cfg.TerminateGrace = time.Hour, time.Hour })
	ctx, cancel := context.WithCancel(context.Background())
	s, ended := newScreen(), make(chan wire.TurnEnd, 1)
	go func() {
		ended <- m.Turn(ctx, message("t", "trap '' INT TERM; echo ready; while :; do sleep 0.05; done"), s.emit)
	}()
	s.await(t, "ready\n")
	cancel()
	require.Equal(t, wire.Cancelled, await(t, ended).Outcome)

	require.Equal(t, wire.Cancelled, m.Turn(ctx, message("u", "echo ran"), s.emit).Outcome)
	require.NotContains(t, s.text(), "ran")
}

func TestWhenOutputCannotBePassedOnTheTurnFails(t *testing.T) {
	m := manager(t, func(cfg *Config) { cfg.InterruptGrace, cfg.TerminateGrace = time.Hour, time.Hour })
	for name, emit := range map[string]func(wire.HarnessEvent) error{
		"error": func(wire.HarnessEvent) error { return errors.New("the reader left") },
		"panic": func(wire.HarnessEvent) error { panic("the reader left") },
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			end := m.Turn(t.Context(), message("t", "trap '' INT TERM; while :; do echo x; done"), func(e wire.HarnessEvent) error {
				calls++
				return emit(e)
			})
			require.Equal(t, wire.Failed, end.Outcome)
			require.Equal(t, wire.CodeInternal, end.Error.Code)
			require.Contains(t, end.Error.Message, "the reader left")
			require.Equal(t, 1, calls, "not called again")
		})
	}
}

func TestLimits(t *testing.T) {
	tests := map[string]struct {
		limit func(*Definition)
		run   string
		code  string
		says  string
		next  string
	}{
		"silence": {
			func(d *Definition) { d.IdleTimeout = time.Second },
			"echo a; sleep 1000", wire.CodeTimeout, "bash wrote nothing for 1s and was stopped", "idle_timeout of acp:shell",
		},
		"time": {
			func(d *Definition) { d.TurnTimeout = 2 * time.Second },
			"while :; do echo a; sleep 0.01; done", wire.CodeTimeout, "bash ran for 2s and was stopped", "turn_timeout of acp:shell",
		},
		"output": {
			func(d *Definition) { d.MaxOutput = 100_000 },
			"yes abcdefghi", wire.CodeOutputLimit, "bash wrote more than 100000 bytes and was stopped", "Redirect the output to a file, or raise max_output of acp:shell",
		},
		"output of one that does not listen": {
			func(d *Definition) { d.MaxOutput = 100_000 },
			"trap '' TERM PIPE; while :; do echo abcdefghi; done", wire.CodeOutputLimit, "bash wrote more than", "max_output",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, end := run(t, manager(t, shell(tt.limit)), tt.run)
			require.Equal(t, wire.Failed, end.Outcome)
			require.Equal(t, tt.code, end.Error.Code)
			require.Contains(t, end.Error.Message, tt.says)
			require.Contains(t, end.Error.Remediation, tt.next)
			require.NotEmpty(t, text)
			require.LessOrEqual(t, len(text), 100_000)
			if tt.code == wire.CodeOutputLimit {
				require.Len(t, text, 100_000, "what fits is passed on")
			}
		})
	}
}

func TestExactlyTheOutputLimitIsFine(t *testing.T) {
	m := manager(t, shell(func(d *Definition) { d.MaxOutput = 1000 }))
	text, end := run(t, m, "head -c 1000 /dev/zero | tr '\\0' x")
	require.Equal(t, wire.Completed, end.Outcome)
	require.Len(t, text, 1000)
}

func TestASlowReaderIsNotSilence(t *testing.T) {
	t.Parallel()
	const idle = 2 * time.Second
	m := manager(t, shell(func(d *Definition) { d.IdleTimeout = idle }))
	var once sync.Once
	// More than a pipe holds, so the program waits for the reader, too.
	end := m.Turn(t.Context(), message("t", "head -c 300000 /dev/zero | tr '\\0' x"), func(wire.HarnessEvent) error {
		once.Do(func() { <-time.After(idle + idle/2) })
		return nil
	})
	require.Equal(t, wire.Completed, end.Outcome, "%v", end.Error)
}

func TestCloseEndsTheTurnsOfItsSession(t *testing.T) {
	m := manager(t)
	other := message("u", "echo ready; sleep 1000")
	other.Session = "other"
	s1, ended1 := begin(t, m, message("t", "echo ready; sleep 1000"))
	s2, ended2 := begin(t, m, other)
	s1.await(t, "ready")
	s2.await(t, "ready")
	require.NoError(t, m.Close(t.Context(), "session"))
	require.Equal(t, wire.Cancelled, await(t, ended1).Outcome)
	select {
	case <-ended2:
		require.FailNow(t, "the other session's turn ended too")
	default:
	}
	require.NoError(t, m.Close(t.Context(), "session"), "nothing to close is no error")

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, m.Shutdown(ctx))
	end := await(t, ended2)
	require.Equal(t, wire.CodeRunnerRestarted, end.Error.Code)
	end = m.Turn(t.Context(), message("v", "echo"), s1.emit)
	require.Equal(t, wire.CodeRunnerRestarted, end.Error.Code, "no more turns")
}

func TestCloseWaitsNoLongerThanItsContext(t *testing.T) {
	m := manager(t, func(cfg *Config) { cfg.TerminateGrace = time.Hour })
	s, ended := newScreen(), make(chan wire.TurnEnd, 1)
	turn, kill := context.WithCancel(context.Background())
	go func() {
		ended <- m.Turn(turn, message("t", "trap '' TERM; echo ready; while :; do sleep 0.05; done"), s.emit)
	}()
	s.await(t, "ready")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, m.Close(ctx, "session"), context.DeadlineExceeded)
	require.ErrorIs(t, m.Shutdown(ctx), context.DeadlineExceeded)
	kill()
	await(t, ended)
}
