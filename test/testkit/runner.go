package testkit

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// GoneWithin is how soon after a runner's death nothing of it may be left.
const GoneWithin = 3 * time.Second

// Runner is `outrunner run` on a state directory that stays when the process
// does not.
type Runner struct {
	Server    string // URL
	State     string
	Home      string // its HOME, by which its programs are known
	Workspace string
	Process   *Process // of the newest start

	t testing.TB
}

// NewRunner makes a runner for the server at the URL. It is not started.
func NewRunner(t testing.TB, server string) *Runner {
	t.Helper()
	r := &Runner{Server: server, State: filepath.Join(t.TempDir(), "state"), Home: t.TempDir(), Workspace: t.TempDir(), t: t}
	t.Cleanup(r.RequireGone)
	return r
}

// Configure writes its config file, for the next start.
func (r *Runner) Configure(yaml string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(r.State, 0o700))
	require.NoError(r.t, os.WriteFile(filepath.Join(r.State, "config.yaml"), []byte(yaml), 0o600))
}

// Start starts it, again, with more variables in its environment.
func (r *Runner) Start(env ...string) {
	r.t.Helper()
	r.Process = Run(r.t, Options{Home: r.Home, Env: env},
		"run", "--server", r.Server, "--state", r.State, "--workspace", r.Workspace)
}

// StartCrashing starts it so that it kills itself at the named crash point, for
// the n-th time that it passes it.
func (r *Runner) StartCrashing(point string) { r.t.Helper(); r.Start("OUTRUNNER_CRASH_AT=" + point) }

// Kill is kill -9.
func (r *Runner) Kill() { r.Process.Kill() }

// Journal is the file of its journal.
func (r *Runner) Journal() string { return filepath.Join(r.State, "runner", "journal.db") }

// Secret is what proves its id.
func (r *Runner) Secret() string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.State, "runner", "secret"))
	require.NoError(r.t, err)
	return string(text)
}

// Path is a file in its workspace.
func (r *Runner) Path(name string) string { return filepath.Join(r.Workspace, name) }

// Lines are the lines of a file in its workspace; none when there is no file.
func (r *Runner) Lines(name string) []string {
	r.t.Helper()
	text, err := os.ReadFile(r.Path(name))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(r.t, err)
	return Lines(string(text))
}
