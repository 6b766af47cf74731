//go:build interop

package peer

import (
	"crypto/rand"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/config"
	"github.com/outrunner/outrunner/test/testkit"
)

// secret is a new one of a runner.
func secret() string { return rand.Text() }

// TheirRunner is the published runner, on folders that stay when the process
// does not.
type TheirRunner struct {
	ID        string
	Secret    string
	Home      string
	Workspace string
	Process   *testkit.Process // of the newest start

	t   testing.TB
	url string
}

// NewTheirRunner makes a published runner for the server, as seen through url;
// "" is without anything in between. It is not started. What it leaves behind
// is ended with the test.
func (s *Server) NewTheirRunner(url string) *TheirRunner {
	s.t.Helper()
	if url == "" {
		url = s.URL
	}
	r := &TheirRunner{Secret: secret(), Home: s.t.TempDir(), Workspace: s.t.TempDir(), t: s.t, url: url}
	var err error
	r.ID, err = config.RunnerID(r.Secret)
	require.NoError(s.t, err)
	showLogs(s.t, r.Home)
	s.t.Cleanup(func() {
		if r.Process != nil {
			r.Process.Kill()
		}
		testkit.EndLeftovers(s.t, r.Home)
	})
	return r
}

// Start starts it, again, with more variables in its environment.
func (r *TheirRunner) Start(env ...string) {
	r.t.Helper()
	r.Process = testkit.RunProgram(r.t, Python(r.t), "the published runner", testkit.Options{
		Home: r.Home, Dir: r.Workspace,
		Env: append(append(private(r.Home), "RUNNER_SERVER_URL="+r.url, "OMNIGENT_RUNNER_ID="+r.ID,
			"OMNIGENT_RUNNER_TUNNEL_BINDING_TOKEN="+r.Secret, "OMNIGENT_RUNNER_WORKSPACE="+r.Workspace,
			// It would else end what other runners on this machine have left.
			"OMNIGENT_RUNNER_HOST_OWNS_GLOBAL_CLEANUP=1",
			"OMNIGENT_PROCESS_LOG_FILE="+filepath.Join(r.Home, "runner.log")), env...),
	}, "-P", "-m", "omnigent.runner._entry")
}
