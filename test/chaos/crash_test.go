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
func long() (command, printed string) {
	var text strings.Builder
	for n := range 8000 {
		fmt.Fprintln(&text, n+1)
	}
	return "seq 1 8000", text.String()
}

// story is a session with some messages, to a runner that dies of some of them.
type story struct {
	world
	session string
	items   []string
	printed []string        // what the command of each message prints
	cut     map[string]bool // the messages whose turn was cut by a death
}

func newStory(t *testing.T) *story {
	t.Helper()
	s := testkit.NewServer(t)
	return &story{world: world{s, testkit.NewRunner(t, s.URL)}, session: s.NewSession("shell"), cut: map[string]bool{}}
}

// say sends a message whose command notes its number, then does the rest.
func (s *story) say(rest, printed string) {
	s.items = append(s.items, s.Send(s.session, fmt.Sprintf("echo %d >> %s; %s", len(s.items), ran, rest)))
	s.printed = append(s.printed, printed)
}

// die waits until the runner has died of its crash point.
func (s *story) die(t *testing.T) {
	t.Helper()
	require.Negative(t, s.runner.Process.Wait(testkit.Patience), "the crash point is not passed")
	s.bury(t)
}

// bury notes what the dead runner has left undone.
func (s *story) bury(t *testing.T) {
	t.Helper()
	for item := range cutTurns(t, s.runner) {
		s.cut[item] = true
	}
}

// requireFair waits for the end of all and requires of each message exactly one
// outcome, the right one; that what is stored of it is what it printed, all or,
// of a cut one, the start; that no command was begun twice, and all in order.
func (s *story) requireFair(t *testing.T) {
	t.Helper()
	ends := s.Settled(turnLimit, s.session, s.items...)
	begun := s.runner.Lines(ran)
	for n, end := range ends {
		stored, times := s.Answer(s.session, end.Response), count(begun, strconv.Itoa(n))
		if !s.cut[s.items[n]] {
			require.Equal(t, "completed", end.Status, "no death fell into the turn of message %d: %s", n, end.Message)
			require.Equal(t, s.printed[n], stored)
			require.Equal(t, 1, times, "starts of command %d: %v", n, begun)
			continue
		}
		require.Equal(t, "failed", end.Status, "a death fell into the turn of message %d", n)
		require.Equal(t, wire.CodeRunnerRestarted, end.Code)
		require.NotEmpty(t, end.Message)
		require.True(t, strings.HasPrefix(s.printed[n], stored), "what is stored of cut turn %d is not the start of what it printed: %q", n, stored)
		require.LessOrEqual(t, times, 1, "starts of command %d: %v", n, begun)
	}
	var numbers []int
	for _, text := range begun {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		numbers = append(numbers, n)
	}
	require.IsIncreasing(t, numbers, "the order in which the commands began")
}

// The promise of a runner that dies: whatever was accepted gets one outcome,
// whatever was begun is not begun again.
func TestRunnerKilledAtEachCrashPoint(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"accepted", "replied", "opened", "spawned", "segment", "posted", "acknowledged", "ended", "terminal",
		"accepted:2", "opened:2", "segment:2", "posted:2", "acknowledged:2", "ended:2", "terminal:2"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.runner.StartCrashing(point)
			s.WaitOnline()
			s.say(long())
			s.say("echo answer", "answer\n")
			s.die(t)
			s.runner.RequireGone()
			s.runner.Start()
			s.say("echo last", "last\n")
			s.requireFair(t)
			require.False(t, s.cut[s.items[2]], "the message after the restart")
		})
	}
}

// A runner may die again of what it does about its first death.
func TestRunnerKilledWhileItRecovers(t *testing.T) {
	t.Parallel()
	for _, points := range [][2]string{{"accepted", "opened"}, {"spawned", "terminal"}, {"segment", "posted"}, {"segment:2", "terminal"},
		{"posted", "acknowledged"}, {"ended", "terminal"}} {
		t.Run(points[0]+" "+points[1], func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.runner.StartCrashing(points[0])
			s.WaitOnline()
			s.say(long())
			s.say(long())
			s.die(t)
			s.runner.StartCrashing(points[1])
			s.die(t)
			s.runner.Start()
			s.say("echo last", "last\n")
			s.requireFair(t)
		})
	}
}

func TestRunnerKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.runner.Start()
	s.WaitOnline()
	for n := range 20 {
		answer := fmt.Sprintf("answer %d\n", n)
		s.say(fmt.Sprintf("printf %q; sleep 0.2", answer), answer)
	}
	random := rand.New(rand.NewPCG(7, 11))
	for n := range 10 {
		testkit.Hold(time.Duration(random.IntN(700)) * time.Millisecond)
		s.runner.Kill()
		s.bury(t)
		if n%2 == 0 {
			s.runner.RequireGone()
		}
		s.runner.Start()
		s.WaitOnline()
	}
	s.requireFair(t)
	require.NotEmpty(t, s.cut, "no kill has hit a turn, so nothing was tested")
}

// The whole machine goes down, and the runner is up before the server.
func TestEverythingKilledAtOnce(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.runner.Start()
	s.WaitOnline()
	s.say("echo begun; sleep 100", "begun\n")
	s.say("echo answer", "answer\n")
	s.waitStored(t, s.session, 1)
	s.Kill()
	s.runner.Kill()
	s.bury(t)
	s.runner.Start()
	testkit.Until(t, testkit.Patience, func() bool { return strings.Contains(s.runner.Process.Stderr.String(), "tunnel is down") },
		testkit.Is("the runner finds no server"))
	s.Start()
	s.requireFair(t)
	require.True(t, s.cut[s.items[0]])
	require.False(t, s.cut[s.items[1]])
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

// cutTurns reads in the journal of a dead runner which messages have a turn
// that was opened and not ended.
func cutTurns(t *testing.T, r *testkit.Runner) map[string]bool {
	t.Helper()
	db, err := journal.Open(r.Journal(), slog.New(slog.DiscardHandler))
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

func count(lines []string, line string) int {
	n := 0
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}
