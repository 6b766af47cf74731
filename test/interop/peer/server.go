//go:build interop

package peer

import (
	"net"
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

	t       testing.TB
	machine *machine
}

// machine is what all tests of a server share.
type machine struct {
	owner   testing.TB // with whose end the server ends
	dir     string
	agents  []string         // folders of agents that it offers
	process *testkit.Process // of the newest start
}

// NewServer starts a server that offers the agents in those folders, and waits
// until it answers. The folders are among the temporary files, where every
// program sees them.
func NewServer(t testing.TB, kind Kind, agents ...string) *Server {
	t.Helper()
	address := testkit.FreeAddress(t)
	s := &Server{API: testkit.NewAPI(t, "http://"+address), Kind: kind, Address: address, t: t,
		machine: &machine{owner: t, dir: t.TempDir(), agents: agents}}
	if kind == Ours {
		for _, dir := range agents {
			require.NoError(t, os.CopyFS(filepath.Join(s.machine.dir, "state", "server", "agents", filepath.Base(dir)), os.DirFS(dir)))
		}
	}
	showLogs(t, s.machine.dir)
	s.Start()
	return s
}

// For is the same server, for another test: what fails, fails that one. The
// server stays the first one's.
func (s *Server) For(t testing.TB) *Server {
	other := *s
	other.API, other.t = testkit.NewAPI(t, s.URL), t
	return &other
}

// Start starts it, again, and returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	m := s.machine
	if s.Kind == Ours {
		m.process = testkit.Run(m.owner, testkit.Options{}, "server", "--listen", s.Address, "--state", filepath.Join(m.dir, "state"))
	} else {
		_, port, err := net.SplitHostPort(s.Address)
		require.NoError(s.t, err)
		data := filepath.Join(m.dir, "data")
		require.NoError(s.t, os.MkdirAll(data, 0o700))
		args := []string{"-m", "omnigent", "server", "--host", "127.0.0.1", "--port", port, "--database-uri", "sqlite:///" + filepath.Join(data, "chat.db"),
			"--artifact-location", filepath.Join(m.dir, "artifacts"), "--no-open"}
		for _, dir := range m.agents {
			args = append(args, "--agent", dir)
		}
		m.process = testkit.RunProgram(m.owner, Python(s.t), "the published server", testkit.Options{
			Home: data,
			Env:  append(private(data), "OMNIGENT_LOCAL_SINGLE_USER=1"),
		}, args...)
	}
	testkit.UntilSlow(s.t, boots, func() bool {
		if m.process.Ended() {
			return true // no use to wait
		}
		status, _, err := s.Do(http.MethodGet, "/health", nil)
		return err == nil && status == http.StatusOK
	}, testkit.Is("the server does not answer"))
	require.False(s.t, m.process.Ended(), "the server has ended: %s", m.process.Stderr)
}

// private is the environment of a published program that leaves everybody's
// folders alone and tells nobody about itself.
func private(data string) []string {
	return []string{"OMNIGENT_DATA_DIR=" + data, "OMNIGENT_CONFIG_HOME=" + data, "OMNIGENT_ANALYTICS=0", "PYTHONDONTWRITEBYTECODE=1"}
}

// Kill is kill -9.
func (s *Server) Kill() { s.machine.process.Kill() }

// Stop asks it to stop, and waits until it has.
func (s *Server) Stop() {
	s.t.Helper()
	s.machine.process.Signal(syscall.SIGTERM)
	s.machine.process.Wait(stops)
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
	testkit.UntilSlow(s.t, testkit.Patience, func() bool { return s.Row(runner).Online }, testkit.Is("the runner "+runner+" is not connected"))
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
