package testkit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// RequireGone ends the runner as kill -9 does, if it still runs, and fails the
// test unless soon after nothing that it started is left.
func (r *Runner) RequireGone() {
	r.t.Helper()
	if r.Process == nil {
		return
	}
	r.Kill()
	RequireNone(r.t, r.Home)
}

// RequireNone fails the test unless soon nothing is left but the given ones.
func RequireNone(t testing.TB, home string, but ...*Process) {
	t.Helper()
	// A test that fails here must not leave them to the machine.
	defer EndLeftovers(t, home, but...)
	Until(t, GoneWithin, func() bool { return len(Leftovers(t, home, but...)) == 0 },
		func() string { return fmt.Sprintf("processes are left: %v", Leftovers(t, home, but...)) })
}

// EndLeftovers kills what is left, each process by its id.
func EndLeftovers(t testing.TB, home string, but ...*Process) {
	t.Helper()
	for _, l := range Leftovers(t, home, but...) {
		if p, err := os.FindProcess(l.pid); err == nil {
			_ = p.Kill() // it may have ended meanwhile
		}
	}
}

// Leftover is a process that a runner has left behind.
type Leftover struct {
	pid  int
	argv string
}

// Leftovers are the processes whose HOME is the folder, the given ones left
// out. Everything that a runner starts inherits its HOME, whatever it does to
// its group, session or parent.
func Leftovers(t testing.TB, home string, but ...*Process) []Leftover {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	var left []Leftover
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !slices.Contains(variables(env), "HOME="+home) {
			continue // gone meanwhile, a zombie, or not ours
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		require.NoError(t, err)
		if slices.ContainsFunc(but, func(p *Process) bool { return p.Pid() == pid }) {
			continue
		}
		argv, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil {
			left = append(left, Leftover{pid, string(bytes.ReplaceAll(argv, []byte{0}, []byte{' '}))})
		}
	}
	return left
}

// variables splits an environment as the kernel shows it.
func variables(b []byte) []string {
	var out []string
	for part := range bytes.SplitSeq(b, []byte{0}) {
		out = append(out, string(part))
	}
	return out
}
