package stdio

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// obedient answers an interrupt, and goes on.
const obedient = `n=0
while IFS= read -r line; do
  case $line in
  '{"type":"message"'*) n=$((n+1)); text "turn $n" ;;
  '{"type":"interrupt"}') text " stopped"; say '{"type":"response.cancelled"}' ;;
  esac
done`

func TestAProgramThatAnswersAnInterruptLivesOn(t *testing.T) {
	s := newStage(t, obedient)
	s.cfg.InterruptGrace = time.Hour
	for n := 1; n <= 3; n++ {
		s.forget()
		r, ended := s.begin(userSays("t", "x"))
		s.untilText(fmt.Sprint("turn ", n))
		r.Stop(turn.Interrupted)
		r.Stop(turn.Interrupted)
		require.Equal(t, wire.TurnEnd{Outcome: wire.Cancelled}, s.await(ended))
		require.Equal(t, fmt.Sprintf("turn %d stopped", n), s.text(), "what it says then counts, and once")
		r.Stop(turn.Interrupted) // too late
	}
}

func TestAnInterruptThatIsNotAnswered(t *testing.T) {
	tests := map[string]struct {
		run     string
		outcome wire.Outcome
		code    string
		text    string
	}{
		"ends by INT":         {run: `sleep 1000`, outcome: wire.Cancelled},
		"cleans up":           {run: `trap 'text " bye"; exit 0' INT; sleep 1000 & wait`, outcome: wire.Cancelled, text: " bye"},
		"answers INT":         {run: `trap 'say "{\"type\":\"response.cancelled\"}"' INT; while :; do sleep 0.02; done`, outcome: wire.Cancelled},
		"was about to finish": {run: `trap 'text " done"; finish' INT; while :; do sleep 0.02; done`, outcome: wire.Completed, text: " done"},
		"says why":            {run: `trap 'say "{\"type\":\"response.failed\",\"error\":{\"code\":\"mine\",\"message\":\"m\"}}"; exit' INT; while :; do sleep 0.02; done`, outcome: wire.Failed, code: "mine"},
		"exits by the line":   {run: `read -r line; exit 3`, outcome: wire.Cancelled},
		"hears TERM only":     {run: `trap '' INT; sleep 1000`, outcome: wire.Cancelled},
		"hears nothing":       {run: `trap '' INT TERM; while :; do sleep 0.05; done`, outcome: wire.Failed, code: wire.CodeInterruptIgnored},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "read -r line; text ready; "+tt.run)
			r, ended := s.begin(userSays("t", "x"))
			s.untilText("ready")
			r.Stop(turn.Interrupted)
			end := s.await(ended)
			require.Equal(t, tt.outcome, end.Outcome, "%v", end.Error)
			require.Equal(t, "ready"+tt.text, s.text())
			if tt.code != "" {
				require.Equal(t, tt.code, end.Error.Code)
			}
			if tt.run != `read -r line; exit 3` {
				require.Nil(t, s.process(), "it is gone when the turn returns")
			}
			_, end = s.runInterrupted()
			require.Equal(t, wire.Cancelled, end.Outcome, "the next turn is not held up")
		})
	}
}

func TestAnAnswerToAnInterruptNeverEndsTheNextTurn(t *testing.T) {
	s := newStage(t, `while IFS= read -r line; do
  case $line in
  '{"type":"message"'*) text ready ;;
  '{"type":"interrupt"}') finish; sleep 0.2; say '{"type":"response.cancelled"}' ;;
  esac
done`)
	for range 2 {
		s.forget()
		r, ended := s.begin(userSays("t", "x"))
		s.untilText("ready")
		r.Stop(turn.Interrupted)
		s.completed(s.await(ended))
		require.Nil(t, s.process())
	}
}

// runInterrupted runs a turn that was interrupted before it began.
func (s *stage) runInterrupted() (*Run, wire.TurnEnd) {
	r := s.pool.Prepare(s.cfg, userSays("t", "x"))
	r.Stop(turn.Interrupted)
	return r, r.Do(context.Background(), s.take)
}

func TestAnInterruptBeforeTheTurnStartsNothing(t *testing.T) {
	s := newStage(t, obedient)
	_, end := s.runInterrupted()
	require.Equal(t, wire.TurnEnd{Outcome: wire.Cancelled}, end)
	require.Nil(t, s.process())
}

func TestAnInterruptWhileStartingIsNotLost(t *testing.T) {
	s := newStage(t, obedient)
	for range 20 {
		r, ended := s.begin(userSays("t", "x"))
		// At this moment the turn may be anywhere between not begun and running.
		r.Stop(turn.Interrupted)
		require.Equal(t, wire.Cancelled, s.await(ended).Outcome)
	}
}

func TestAnInterruptOfAProgramThatDoesNotRead(t *testing.T) {
	s := newStage(t, `text ready; sleep 1000`)
	r, ended := s.begin(userSays("t", strings.Repeat("x", 1<<20))) // more than a pipe holds
	s.untilText("ready")
	r.Stop(turn.Interrupted)
	require.Equal(t, wire.Cancelled, s.await(ended).Outcome)
}

func TestAProgramThatIsNotReadingIsNotFedForEver(t *testing.T) {
	s := newStage(t, `read -r line; i=0; while [ $i -lt 20 ]; do i=$((i+1))
say '{"type":"response.output_item.done","item":{"type":"function_call","status":"action_required","name":"f","call_id":"'$i'"}}'; done; sleep 1000`)
	r, ended := s.begin(userSays("t", "x"))
	s.until("all calls", func() bool { return len(s.items()) == 20 })
	result := strings.Repeat("x", 1<<20)
	var err error
	for i := 1; i <= 20 && err == nil; i++ {
		err = r.Send(wire.ToHarness{Type: wire.ToolResult, CallID: fmt.Sprint(i), Output: result})
	}
	require.ErrorIs(t, err, keep.ErrNotReading)
	s.failed(s.await(ended), turn.CodeProtocol, "sh does not read what it is told, and was stopped")
}

func TestCloseEndsARestingProgram(t *testing.T) {
	s := newStage(t, `trap 'echo term > left; exit' TERM; while IFS= read -r line; do finish; done; echo eof > left`)
	require.NoError(t, s.pool.Close(t.Context(), "s"), "nothing to close is no error")
	_, end := s.run("x")
	s.completed(end)
	require.NoError(t, s.pool.Close(t.Context(), "nobody"))
	require.NotNil(t, s.process())
	require.NoError(t, s.pool.Close(t.Context(), "s"))
	require.Nil(t, s.process())
	require.NotEmpty(t, s.file("left"), "it was asked first")
	_, end = s.run("x")
	s.completed(end)
}

func TestCloseEndsTheInput(t *testing.T) {
	s := newStage(t, `trap '' TERM; while IFS= read -r line; do finish; done; echo eof > left`)
	s.cfg.TerminateGrace = time.Hour
	_, end := s.run("x")
	s.completed(end)
	require.NoError(t, s.pool.Close(t.Context(), "s"))
	require.Equal(t, "eof", s.file("left"))
}

func TestCloseLeavesAProgramWithATurnToThat(t *testing.T) {
	s := newStage(t, obedient)
	r, ended := s.begin(userSays("t", "x"))
	s.untilText("turn 1")
	require.NoError(t, s.pool.Close(t.Context(), "s"))
	r.Stop(turn.SessionClosed)
	require.Equal(t, wire.TurnEnd{Outcome: wire.Cancelled}, s.await(ended))
	require.Nil(t, s.process())
}

func TestCloseWaitsNoLongerThanItsContext(t *testing.T) {
	s := newStage(t, `trap '' TERM; while IFS= read -r line; do finish; done; while :; do sleep 0.02; done`)
	_, end := s.run("x")
	s.completed(end)
	s.cfg.TerminateGrace = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.pool.Close(ctx, "s"), context.DeadlineExceeded)
}

func TestShutdownEndsAllAndStartsNoMore(t *testing.T) {
	s := newStage(t, obedient)
	r, ended := s.begin(userSays("t", "x"))
	s.untilText("turn 1")
	r.Stop(turn.RunnerStopping)
	require.NoError(t, s.pool.Shutdown(t.Context()))
	s.failed(s.await(ended), wire.CodeRunnerRestarted, "the runner was stopped while sh was running")
	_, end := s.run("y")
	s.failed(end, wire.CodeRunnerRestarted, "the runner was stopped")
	require.Nil(t, s.process())
}

func TestARestIsLimited(t *testing.T) {
	s := newStage(t, `while IFS= read -r line; do sleep 0.3; text "$$"; finish; done`)
	s.cfg.IdleReap = 100 * time.Millisecond
	one, end := s.run("a turn longer than the rest that is allowed")
	s.completed(end)
	s.left()
	two, end := s.run("b")
	s.completed(end)
	require.NotEqual(t, one, two, "another process")
}

func TestTwoTurnsOfOneSessionAreNeverAtOnce(t *testing.T) {
	s := newStage(t, obedient)
	r, ended := s.begin(userSays("t", "x"))
	s.untilText("turn 1")
	_, second := s.begin(userSays("u", "x"))
	s.failed(s.await(second), wire.CodeInternal, "another turn of this session is running")
	s.cfg.Command = append(s.cfg.Command, "other")
	_, third := s.begin(userSays("v", "x"))
	s.failed(s.await(third), wire.CodeInternal, "another turn of this session is running")
	r.Stop(turn.Interrupted)
	require.Equal(t, wire.Cancelled, s.await(ended).Outcome)
}
