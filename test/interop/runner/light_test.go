//go:build interop

package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/interop/peer"
	"github.com/outrunner/outrunner/test/testkit"
)

const (
	manySessions = 200
	atOnce       = 10 // of their commands
	// maxMemory is what the runner may take after them, in bytes.
	maxMemory = 40 << 20
	// maxHello is how soon after its start its hello must come.
	maxHello = 100 * time.Millisecond
	// starts is how often that is tried; the machine may be busy with other
	// packages' tests.
	starts = 10
)

// light is the program as it is given to people: static, without the race
// detector.
func light(t *testing.T, r *peer.Runner) (run func() *testkit.Process) {
	program := released(t)
	return func() *testkit.Process {
		return testkit.RunProgram(t, program, "outrunner run", testkit.Options{Home: r.Home},
			"run", "--server", r.Server, "--state", r.State, "--workspace", r.Workspace)
	}
}

// How soon after its start a runner says hello. The tests that run beside each
// other wait until this one is over.
func TestHello(t *testing.T) {
	peer.Alone(t, peer.OursAlone, "from exec to hello", func(t *testing.T, n *peer.Notes) {
		s := peer.NewServer(t, peer.Ours)
		tap := s.NewTap()
		run := light(t, s.NewRunner(tap.URL))
		best := time.Hour
		for n := range starts {
			begin := time.Now()
			p := run()
			testkit.Until(t, testkit.Patience, func() bool { return len(tap.Hellos()) == n+1 }, testkit.Is("no hello"))
			best = min(best, tap.Hellos()[n].Sub(begin))
			p.Kill()
		}
		n.Say(fmt.Sprintf("%d ms", best.Milliseconds()))
		require.Less(t, best, maxHello, "the best of %d", starts)
	})
}

// crowded measures the runner's memory after many sessions.
func crowded(t *testing.T, s *peer.Server, n *peer.Notes) {
	r := s.NewRunner("")
	p := light(t, r)()
	s.WaitRunner(r.ID)

	var ids []string
	for n := range manySessions {
		id := s.NewSession(shell, r.ID)
		s.Send(id, "echo done; echo x >> ran")
		ids = append(ids, id)
		// Not all at once: a command is a process of this machine.
		testkit.Until(t, turnLimit, func() bool { return len(r.Lines("ran")) > n-atOnce }, testkit.Is("the commands are not run"))
	}
	for _, id := range ids {
		testkit.UntilSlow(t, turnLimit, func() bool {
			at, err := s.Session(id)
			return err == nil && at.Status == "idle" && s.Said(id) == "done\n"
		}, testkit.Is("session "+id+" does not end its turn"))
	}
	require.Len(t, r.Lines("ran"), manySessions)
	used := resident(t, p.Pid())
	n.Say(fmt.Sprintf("%.0f MB", float64(used)/(1<<20)))
	require.Less(t, used, maxMemory, "bytes after %d sessions", manySessions)
}

// released builds the program as `make build` does.
func released(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "outrunner")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "github.com/outrunner/outrunner/cmd/outrunner")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// resident is a process's memory, in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "VmRSS:")
	require.True(t, ok)
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return kb << 10
}
