package testkit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	Until(r.t, GoneWithin, func() bool { return len(Leftovers(r.t, r.Home)) == 0 },
		func() string { return fmt.Sprintf("a dead runner has left processes: %q", Leftovers(r.t, r.Home)) })
}

// Leftovers are the processes whose HOME is the folder, the given ones left
// out. Everything that a runner starts inherits its HOME, whatever it does to
// its group, session or parent.
func Leftovers(t testing.TB, home string, but ...*Process) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	var left []string
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !slices.Contains(variables(env), "HOME="+home) {
			continue // gone meanwhile, a zombie, or not ours
		}
		known := func(p *Process) bool { return filepath.Base(dir) == fmt.Sprint(p.Pid()) }
		if slices.ContainsFunc(but, known) {
			continue
		}
		argv, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil {
			left = append(left, filepath.Base(dir)+" "+string(bytes.ReplaceAll(argv, []byte{0}, []byte{' '})))
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
