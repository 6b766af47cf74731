package testkit

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Server is `outrunner server` on an address and a state directory that stay
// when the process does not.
type Server struct {
	*API
	Address string
	State   string
	Process *Process // of the newest start

	t testing.TB
}

// NewServer starts a server and waits until it answers.
func NewServer(t testing.TB) *Server {
	t.Helper()
	address := FreeAddress(t)
	s := &Server{API: NewAPI(t, "http://"+address), Address: address, State: filepath.Join(t.TempDir(), "state"), t: t}
	s.Start()
	return s
}

// Start starts it, again, and returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	s.Process = Run(s.t, Options{}, "server", "--listen", s.Address, "--state", s.State)
	s.WaitReady(s.Process)
}

// AddAgent gives the server an agent of its own, by its YAML file.
func (s *Server) AddAgent(name, yaml string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(filepath.Join(s.State, "server", "agents", name+".yaml"), []byte(yaml), 0o600))
}

// Kill is kill -9.
func (s *Server) Kill() { s.Process.Kill() }

// WaitReady waits until the server answers. The process is the one that should
// bring it about.
func (a *API) WaitReady(p *Process) {
	a.t.Helper()
	Until(a.t, Patience, func() bool {
		res, err := a.client.Get(a.URL + "/health")
		if err != nil {
			return p.Ended() // no use to wait
		}
		_ = res.Body.Close() // only the status matters
		return res.StatusCode == http.StatusOK
	}, Is("the server does not answer"))
	require.False(a.t, p.Ended(), "the server has ended: %s", p.Stderr)
}

// WaitOnline waits until a runner is connected, and says how long it took.
func (a *API) WaitOnline() time.Duration {
	a.t.Helper()
	begin := time.Now()
	Until(a.t, Patience, a.Online, Is("no runner is connected"))
	return time.Since(begin)
}
