//go:build linux

package chaos

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/journal"
	"github.com/outrunner/outrunner/runner/wire"
	"github.com/outrunner/outrunner/test/testkit"
)

// The commands of these tests append to a file as their first act: a command
// that ran twice is there twice.
const ran = "ran"

// long is a command whose output takes more than one segment, and that output.
func long() (command, output string) {
	var text strings.Builder
	for n := range 8000 {
		fmt.Fprintln(&text, n+1)
	}
	return "echo 1 >> " + ran + "; seq 1 8000", text.String()
}

// The promise of a runner that dies: whatever was accepted gets one outcome,
// whatever was begun is not begun again.
func TestRunnerKilledAtEachCrashPoint(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"accepted", "replied", "opened", "spawned", "segment", "posted", "acknowledged", "ended", "terminal",
		"accepted:2", "opened:2", "segment:2", "posted:2", "acknowledged:2", "ended:2", "terminal:2"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := testkit.NewServer(t)
			w := world{s, testkit.NewRunner(t, s.URL)}
			w.runner.StartCrashing(point)
			w.WaitOnline()
			session := w.NewSession("shell")
			command, output := long()
			items := []string{w.Send(session, command), w.Send(session, "echo 2 >> "+ran+"; echo answer")}
			require.Negative(t, w.runner.Process.Wait(testkit.Patience), "the crash point is not passed")
			w.runner.RequireGone()
			cut := w.cutTurns(t)

			w.runner.Start()
			items = append(items, w.Send(session, "echo 3 >> "+ran+"; echo answer"))
			ends := w.Settled(turnLimit, session, items...)
			started := w.runner.Lines(ran)
			for n, want := range []string{output, "answer\n", "answer\n"} {
				w.requireFair(t, session, ends[n], cut[items[n]], want)
				times := count(started, strconv.Itoa(n+1))
				if ends[n].Status == "completed" {
					require.Equal(t, 1, times, "starts of a command that completed: %v", started)
				}
				require.LessOrEqual(t, times, 1, "starts of a command: %v", started)
			}
			require.Equal(t, "completed", ends[2].Status, "the message after the restart")
			requireOrder(t, started)
		})
	}
}

func TestRunnerKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.NewSession("shell")
	var items []string
	for n := range 20 {
		items = append(items, w.Send(session, fmt.Sprintf("echo %d >> %s; echo answer %d; sleep 0.2", n, ran, n)))
	}
	random := rand.New(rand.NewPCG(7, 11))
	cut := map[string]bool{}
	for n := range 10 {
		testkit.Hold(time.Duration(random.IntN(700)) * time.Millisecond)
		w.runner.Kill()
		for item := range w.cutTurns(t) {
			cut[item] = true
		}
		if n%2 == 0 {
			w.runner.RequireGone()
		}
		w.runner.Start()
		w.WaitOnline()
	}
	for n, end := range w.Settled(turnLimit, session, items...) {
		w.requireFair(t, session, end, cut[items[n]], fmt.Sprintf("answer %d\n", n))
	}
	require.NotEmpty(t, cut, "no kill has hit a turn, so nothing was tested")
	started := w.runner.Lines(ran)
	for n := range items {
		require.LessOrEqual(t, count(started, strconv.Itoa(n)), 1, "starts of a command: %v", started)
	}
	requireOrder(t, started)
}

// Whatever a command does to outlive its runner: a session of its own, a double
// fork, deaf ears, the background.
func TestNothingIsLeftOfADeadRunner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.NewSession("shell")
	item := w.Send(session, `
		setsid sleep 301 &
		(setsid bash -c 'trap "" TERM INT HUP; echo deaf >> up; while :; do sleep 0.1; done' &)
		(sleep 302 & echo forked >> up)
		echo all >> up
		sleep 303`)
	testkit.Until(t, testkit.Patience, func() bool { return len(w.runner.Lines("up")) == 3 }, testkit.Is("all of them run"))
	const atLeast = 6 // the guard, its bash, three sleeps, the deaf one
	require.GreaterOrEqual(t, len(testkit.Leftovers(t, w.runner.Home, w.runner.Process)), atLeast)
	w.runner.Kill()
	w.runner.RequireGone()

	w.runner.Start()
	end := w.Settled(turnLimit, session, item)[0]
	require.Equal(t, wire.CodeRunnerRestarted, end.Code)
	require.Len(t, w.runner.Lines("up"), 3, "nothing is run again")
}

// cutTurns reads in the journal of the dead runner which messages have a turn
// that was opened and not ended.
func (w world) cutTurns(t *testing.T) map[string]bool {
	t.Helper()
	db, err := journal.Open(w.runner.Journal(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	records, err := db.Load()
	require.NoError(t, err)
	require.NoError(t, db.Close())
	inputs := map[string][]string{}
	for _, r := range records {
		switch r.Kind {
		case wire.RecOpened:
			inputs[r.Turn] = r.Inputs
		case wire.RecEnded:
			delete(inputs, r.Turn)
		case wire.RecSession:
			require.FailNow(t, "the journal has a checkpoint, which this test does not read")
		}
	}
	cut := map[string]bool{}
	for _, items := range inputs {
		for _, item := range items {
			cut[item] = true
		}
	}
	return cut
}

// requireFair requires the outcome that a turn must have, whether or not a kill
// fell between its begin and its end, and that what is stored of it is what it
// printed: all of it, or the start when it was cut.
func (w world) requireFair(t *testing.T, session string, end testkit.Outcome, cut bool, printed string) {
	t.Helper()
	stored := w.Answer(session, end.Response)
	if !cut {
		require.Equal(t, "completed", end.Status, "no kill fell into the turn: %s", end.Message)
		require.Equal(t, printed, stored)
		return
	}
	require.Equal(t, "failed", end.Status, "a kill fell into the turn")
	require.Equal(t, wire.CodeRunnerRestarted, end.Code)
	require.NotEmpty(t, end.Message)
	require.True(t, strings.HasPrefix(printed, stored), "what is stored of a cut turn is not the start of what it printed: %q", stored)
}

func count(lines []string, line string) int {
	n := 0
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

// requireOrder requires that the commands began in the order of their messages.
func requireOrder(t *testing.T, started []string) {
	t.Helper()
	var numbers []int
	for _, text := range started {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		numbers = append(numbers, n)
	}
	require.IsIncreasing(t, numbers, "the order in which the commands began")
}
