//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
	"github.com/outrunner/outrunner/test/testkit"
)

// Two waves of children, of which each is given its tasks, ends and loses its
// runner while the line is cut again and again.
const (
	waves       = 2
	perWave     = 16
	cutsPerWave = 10
	readsOfWave = 3

	mostPause = 100 * time.Millisecond // between two steps of a wave
	settling  = 2 * time.Minute        // of all that a wave has left, on a busy machine
)

// chaosSeed is the variable that chooses another order of the steps.
const chaosSeed = "OUTRUNNER_CHAOS_SEED"

// storm is a family in its waves.
type storm struct {
	*family
	t      *testing.T
	random *rand.Rand
	how    map[string]string // that the gate of a child was opened, and how
	tasks  []string          // the messages that had children dispatched
	cuts   int
	lists  int
	told   []reading
	killed map[string]bool // the children that a death of the runner has cut off
}

// reading is what one operation of reading the inbox was told.
type reading struct{ operation, text string }

// 32 children end at random moments, well and badly, while the tunnel is cut
// twenty times and the runner killed twice. Nothing is lost, and nothing told
// twice: neither a task, nor an end, nor a result.
func TestChildrenOverCutsAndKills(t *testing.T) {
	t.Parallel()
	seed := uint64(20)
	if text := os.Getenv(chaosSeed); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, chaosSeed)
	}
	t.Logf("the steps are those of %s=%d", chaosSeed, seed)
	s := &storm{family: newFamily(t, waves*perWave), t: t, random: rand.New(rand.NewPCG(seed, 1)), how: map[string]string{}, killed: map[string]bool{}}
	for n := range waves {
		s.wave(n*perWave+1, (n+1)*perWave)
	}
	s.calm()
	s.requireEnds()
	s.requireResults()
	s.runner.RequireGone()
}

// wave has children of these titles dispatched, and does its steps in a random
// order.
func (s *storm) wave(from, to int) {
	task := s.Send(s.root, fmt.Sprintf("GO:%d-%d", from, to))
	s.tasks = append(s.tasks, task)
	var steps []func()
	for n := from; n <= to; n++ {
		steps = append(steps, func() { s.endOne(strconv.Itoa(n)) })
	}
	steps = append(steps, slices.Repeat([]func(){s.cut}, cutsPerWave)...)
	steps = append(steps, slices.Repeat([]func(){s.read}, readsOfWave)...)
	steps = append(steps, func() { s.kill(task) })
	s.random.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	for _, step := range steps {
		testkit.Hold(time.Duration(s.random.Int64N(int64(mostPause))))
		step()
	}
}

func (s *storm) endOne(title string) {
	how := "well"
	if s.random.IntN(4) == 0 {
		how = "badly"
	}
	s.how[title] = how
	s.end(s.t, title, how)
}

// cut breaks the line, in one of three ways, as soon as it stands again. The
// server may take it for standing a moment longer than it does.
func (s *storm) cut() {
	s.mended()
	s.cuts++
	broken := func() bool { return s.line.Cuts() >= s.cuts }
	switch s.random.IntN(3) {
	case 0:
		testkit.Until(s.t, testkit.Patience, func() bool { s.line.Cut(); return broken() }, testkit.Is("there is no line to cut"))
	case 1:
		s.line.CutAfter(s.random.Int64N(4096))
	case 2:
		testkit.Until(s.t, testkit.Patience, func() bool {
			s.line.Refuse()
			if !broken() {
				s.line.Heal()
			}
			return broken()
		}, testkit.Is("there is no line to cut"))
		testkit.Hold(time.Duration(s.random.Int64N(int64(mostPause))))
		s.line.Heal()
	}
}

// mended waits until the last cut is done, and over. A tool's call makes the
// bytes that it may wait for.
func (s *storm) mended() {
	testkit.Until(s.t, testkit.Patience, func() bool {
		if s.line.Cuts() < s.cuts {
			s.lists++
			_, _ = s.Tool(s.root, "sys_session_list", fmt.Sprintf("mcpop_list%d", s.lists), "{}") // it may be cut
			return false
		}
		return s.Online()
	}, testkit.Is("the runner does not come back"))
}

// read reads the parent's inbox beside its program, as often as it takes, and
// asks again what the last such operation was told.
func (s *storm) read() {
	s.readAgain()
	operation := fmt.Sprintf("mcpop_%032x", len(s.told)+1)
	s.told = append(s.told, reading{operation, s.readBy(operation)})
	s.readAgain()
}

func (s *storm) readAgain() {
	if n := len(s.told); n > 0 {
		require.Equal(s.t, s.told[n-1].text, s.readBy(s.told[n-1].operation), "one operation is told the same again")
	}
}

func (s *storm) readBy(operation string) (text string) {
	s.t.Helper()
	var err error
	testkit.Until(s.t, testkit.Patience, func() bool {
		text, err = s.Tool(s.root, "sys_read_inbox", operation, "{}")
		return err == nil
	}, func() string { return fmt.Sprintf("the inbox cannot be read: %v", err) })
	return text
}

// kill kills the runner in the middle of its children's work, after the task
// that began them is done.
func (s *storm) kill(task string) {
	testkit.Until(s.t, settling, func() bool {
		found, err := s.Outcomes(s.root)
		return err == nil && len(found[task]) > 0
	}, testkit.Is("the children are not all dispatched"))
	s.runner.Kill()
	for item := range cutTurns(s.t, s.runner) {
		s.killed[item] = true
	}
	s.runner.RequireGone()
	s.runner.Start()
	s.WaitOnline()
	s.readAgain()
}

// calm lets everything come to its end.
func (s *storm) calm() {
	s.mended()
	require.GreaterOrEqual(s.t, s.line.Cuts(), waves*cutsPerWave)
	var open []string
	var list []testkit.Child
	var root testkit.Session
	testkit.Until(s.t, settling, func() bool {
		open = nil
		var err error
		if list, err = s.Children(s.root); err != nil {
			return false
		}
		for _, c := range list {
			if _, read := c.Dispatched(); c.Busy || !read {
				items, _ := s.Items(c.ID) // only to tell
				open = append(open, fmt.Sprintf("%+v with %d items", c, len(items)))
			}
		}
		root, err = s.Session(s.root)
		return err == nil && len(open) == 0 && len(list) == waves*perWave && atRest(root)
	}, func() string {
		return fmt.Sprintf("no rest: the parent is %+v and has %d children; not read:\n%s", root, len(list), strings.Join(open, "\n"))
	})
	require.Equal(s.t, emptyInbox, s.readBy("mcpop_last"))
	for _, r := range s.told {
		require.Equal(s.t, r.text, s.readBy(r.operation), "one operation is told the same again")
	}
}

// atRest tells whether a session is done with all, also if a death of the runner
// has cut off the last of it.
func atRest(s testkit.Session) bool {
	return len(s.Pending) == 0 && (s.Status == "idle" || s.Status == "failed" && s.LastError != nil && s.LastError.Code == wire.CodeRunnerRestarted)
}

const emptyInbox = "Inbox is empty — no completed tasks."
