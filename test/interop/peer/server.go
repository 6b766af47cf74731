//go:build interop

package peer

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// Kind says whose a program is.
type Kind string

const (
	// Theirs is the published program.
	Theirs Kind = "their"
	// Ours is the one of this project.
	Ours Kind = "our"
)

const (
	// boots is how long the published server may take to its first answer; the
	// very first start of a fresh install reads a cold disk.
	boots = 3 * time.Minute
	// stops is how long a server that was asked to stop may take.
	stops = 20 * time.Second
)

// Server is a server on an address and in folders that stay when the process
// does not.
type Server struct {
	*testkit.API
	Kind    Kind
	Address string
	Process *testkit.Process // of the newest start

	t     testing.TB
	dir   string
	state string
}

// NewServer starts a server and waits until it answers.
func NewServer(t testing.TB, kind Kind) *Server {
	t.Helper()
	address := testkit.FreeAddress(t)
	s := &Server{API: testkit.NewAPI(t, "http://"+address), Kind: kind, Address: address, t: t, dir: t.TempDir()}
	s.state = filepath.Join(s.dir, "state")
	showLogs(t, s.dir)
	s.Start()
	return s
}

// For is the same server, for another test: what fails, fails that one.
func (s *Server) For(t testing.TB) *Server {
	other := *s
	other.API, other.t = testkit.NewAPI(t, s.URL), t
	return &other
}

// Start starts it, again, and returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	if s.Kind == Ours {
		s.Process = testkit.Run(s.t, testkit.Options{}, "server", "--listen", s.Address, "--state", s.state)
	} else {
		_, port, _ := cutLast(s.Address, ':')
		data := filepath.Join(s.dir, "data")
		require.NoError(s.t, os.MkdirAll(data, 0o700))
		s.Process = testkit.RunProgram(s.t, Python(s.t), "the published server", testkit.Options{
			Home: data,
			Env:  append(private(data), "OMNIGENT_LOCAL_SINGLE_USER=1"),
		}, "-m", "omnigent", "server", "--host", "127.0.0.1", "--port", port, "--database-uri", "sqlite:///"+filepath.Join(data, "chat.db"),
			"--artifact-location", filepath.Join(s.dir, "artifacts"), "--no-open")
	}
	process := s.Process
	testkit.Until(s.t, boots, func() bool {
		if process.Ended() {
			return true // no use to wait
		}
		status, _, err := s.Do(http.MethodGet, "/health", nil)
		return err == nil && status == http.StatusOK
	}, testkit.Is("the server does not answer"))
	require.False(s.t, process.Ended(), "the server has ended: %s", process.Stderr)
}

// private is the environment of a published program that leaves everybody's
// folders alone and tells nobody about itself.
func private(data string) []string {
	return []string{"OMNIGENT_DATA_DIR=" + data, "OMNIGENT_CONFIG_HOME=" + data, "OMNIGENT_ANALYTICS=0", "PYTHONDONTWRITEBYTECODE=1"}
}

// Kill is kill -9.
func (s *Server) Kill() { s.Process.Kill() }

// Stop asks it to stop, and waits until it has.
func (s *Server) Stop() {
	s.t.Helper()
	s.Process.Signal(syscall.SIGTERM)
	s.Process.Wait(stops)
}

// Row is what GET /v1/runners says of a runner.
func (s *Server) Row(runner string) testkit.RunnerRow {
	rows, err := s.Runners()
	if err != nil {
		return testkit.RunnerRow{}
	}
	if n := slices.IndexFunc(rows, func(r testkit.RunnerRow) bool { return r.ID == runner }); n >= 0 {
		return rows[n]
	}
	return testkit.RunnerRow{}
}

// WaitRunner waits until that runner is connected.
func (s *Server) WaitRunner(runner string) {
	s.t.Helper()
	testkit.Until(s.t, testkit.Patience, func() bool { return s.Row(runner).Online }, testkit.Is("the runner "+runner+" is not connected"))
}

// Bind binds a session to a runner.
func (s *Server) Bind(session, runner string) {
	s.t.Helper()
	s.Must(http.MethodPatch, "/v1/sessions/"+session, map[string]any{"runner_id": runner})
}

// Event posts an event of a session that is not a message.
func (s *Server) Event(session, kind string, data map[string]any) {
	s.t.Helper()
	s.Must(http.MethodPost, "/v1/sessions/"+session+"/events", map[string]any{"type": kind, "data": data})
}
