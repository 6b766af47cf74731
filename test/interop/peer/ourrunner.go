//go:build interop

package peer

import (
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/config"
	"github.com/outrunner/outrunner/test/testkit"
)

// Runner is our runner, connected to a server. It has its id before its first
// start.
type Runner struct {
	*testkit.Runner
	ID     string
	Secret string
}

// NewRunner makes a runner of ours for the server, as seen through url; "" is
// without anything in between. It is not started.
func (s *Server) NewRunner(url string) *Runner {
	s.t.Helper()
	if url == "" {
		url = s.URL
	}
	r := &Runner{Runner: testkit.NewRunner(s.t, url), Secret: secret()}
	var err error
	r.ID, err = config.RunnerID(r.Secret)
	require.NoError(s.t, err)
	room := filepath.Join(r.State, "runner")
	require.NoError(s.t, os.MkdirAll(room, 0o700))
	require.NoError(s.t, os.WriteFile(filepath.Join(room, "secret"), []byte(r.Secret), 0o600))
	return r
}

// StartRunner makes a runner, starts it and waits until it is connected.
func (s *Server) StartRunner() *Runner {
	s.t.Helper()
	r := s.NewRunner("")
	r.Start()
	s.WaitRunner(r.ID)
	return r
}

// Forget removes its journal: it comes back as the same runner, which has lost
// all it knew.
func (r *Runner) Forget() error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(r.Journal() + suffix); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
