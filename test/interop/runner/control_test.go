//go:build interop

package runner

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/interop/peer"
	"github.com/outrunner/outrunner/test/testkit"
)

// controls are flows of how turns are stopped, and runners told to go.
var controls = []flow{
	{"interrupt in mid-turn, and what it leaves", interrupt},
	{"stop in mid-turn ends idle", stop},
	{"wrong token is fatal", wrongToken},
	{"replaced connection (4000)", replaced},
	{"environment of the Python runner", environment},
}

// crowds are flows of many sessions.
var crowds = []flow{{"200 sessions: memory", crowded}}

// begun starts a turn that prints and then waits, and returns when the line
// was seen and, with the text before it, stored.
func begun(t *testing.T, s *peer.Server, w *peer.Watch, session string) {
	t.Helper()
	s.Send(session, "echo before; sleep 1.5; echo begun; sleep 300; echo never")
	testkit.UntilSlow(t, turnLimit, func() bool { return strings.Contains(w.Live(), "begun") }, testkit.Is("the turn has not begun"))
}

func interrupt(t *testing.T, s *peer.Server, _ *peer.Notes) {
	r := s.StartRunner()
	session := s.NewSession(shell, r.ID)
	w := s.Watch(session)
	begun(t, s, w, session)
	s.Event(session, "interrupt", peer.Dict{})
	end := w.Settled(turnLimit, 1)[0]
	require.Equal(t, "cancelled", end.Status)
	at, err := s.Session(session)
	require.NoError(t, err)
	require.Equal(t, "idle", at.Status)
	require.NotEmpty(t, w.Of("session.interrupted"))
	testkit.RequireNone(t, r.Home, r.Process)

	// All that was printed stays, under its response; no error is added.
	require.Equal(t, "before\nbegun\n", s.Said(session))
	for _, row := range s.Rows(session)[1:] {
		require.Equal(t, "message", row["type"])
		require.Equal(t, end.Response, row["response_id"])
	}
	s.Send(session, "echo after")
	require.Equal(t, "completed", w.Settled(turnLimit, 2)[1].Status)
	require.Equal(t, "before\nbegun\nafter\n", s.Said(session))
}

func stop(t *testing.T, s *peer.Server, _ *peer.Notes) {
	r := s.StartRunner()
	session := s.NewSession(shell, r.ID)
	w := s.Watch(session)
	begun(t, s, w, session)
	s.Event(session, "stop_session", peer.Dict{})
	w.Settled(turnLimit, 1)
	at, err := s.Session(session)
	require.NoError(t, err)
	require.Equal(t, "idle", at.Status)
	testkit.RequireNone(t, r.Home, r.Process)
	require.Equal(t, "before\nbegun\n", s.Said(session))
	s.Send(session, "echo after")
	require.Equal(t, "completed", w.Settled(turnLimit, 2)[1].Status)
}

// On loopback a server believes a runner that its id and secret belong
// together, and our runner never claims another pair: something in between does.
func wrongToken(t *testing.T, s *peer.Server, _ *peer.Notes) {
	tap := s.NewTap()
	tap.Claim("somebody else's")
	r := s.NewRunner(tap.URL)
	r.Start()
	code := r.Process.Wait(testkit.Patience)
	lines := testkit.Lines(r.Process.Stderr.String())
	last := lines[len(lines)-1]
	if s.Kind == peer.Theirs {
		require.Equal(t, 1, code)
		require.Contains(t, last, "error: runner tunnel rejected by server (close code 4004)")
	} else {
		require.Contains(t, []int{1, 77}, code)
		require.Contains(t, last, "error: runner tunnel rejected by server")
	}
	require.False(t, s.Row(r.ID).Online)
}

// Somebody else connects with the runner's id: the newest wins, and the other
// stands back instead of fighting for it every second.
func replaced(t *testing.T, s *peer.Server, _ *peer.Notes) {
	first, second := s.NewTap(), s.NewTap()
	r := s.NewRunner(first.URL)
	r.Start()
	s.WaitRunner(r.ID)
	session := s.NewSession(shell, r.ID)
	w := s.Watch(session)
	s.Send(session, "echo one")
	w.Settled(turnLimit, 1)

	twin := s.NewRunner(second.URL)
	require.NoError(t, os.WriteFile(filepath.Join(twin.State, "runner", "secret"), []byte(r.Secret), 0o600))
	twin.Start()
	testkit.UntilSlow(t, testkit.Patience, func() bool { return len(second.Hellos()) == 1 }, testkit.Is("the other has not connected"))
	testkit.UntilSlow(t, testkit.Patience, func() bool { return strings.Contains(r.Process.Stderr.String(), "4000") },
		testkit.Is("the first was not told that it is replaced"))
	testkit.Hold(3 * time.Second) // two that fight change places every second
	require.Len(t, first.Hellos(), 1)
	require.False(t, r.Process.Ended())
	s.Send(session, "echo two")
	ends := w.Settled(turnLimit, 2)
	require.Equal(t, "completed", ends[1].Status, ends[1].Message)
	require.Contains(t, s.Said(session), "two\n")

	// The other goes: the first is there again, by itself.
	twin.Kill()
	testkit.UntilSlow(t, turnLimit, func() bool { return len(first.Hellos()) > 1 && s.Row(r.ID).Online }, testkit.Is("the first does not come back"))
	s.Send(session, "pwd")
	ends = w.Settled(turnLimit, 3)
	require.Equal(t, "completed", ends[2].Status, ends[2].Message)
	require.Contains(t, s.Said(session), r.Workspace)
}

// A launcher that was written for the Python runner starts ours.
func environment(t *testing.T, s *peer.Server, _ *peer.Notes) {
	r := s.NewRunner("") // for its id and secret
	workspace, marker := t.TempDir(), filepath.Join(t.TempDir(), "connected")
	p := testkit.Run(t, testkit.Options{Home: r.Home, Env: []string{
		"RUNNER_SERVER_URL=" + s.URL, "OMNIGENT_RUNNER_ID=" + r.ID, "OMNIGENT_RUNNER_TUNNEL_BINDING_TOKEN=" + r.Secret,
		"OMNIGENT_RUNNER_WORKSPACE=" + workspace, "OMNIGENT_RUNNER_CONNECT_MARKER=" + marker,
	}}, "run")
	s.WaitRunner(r.ID)
	require.FileExists(t, marker)
	session := s.NewSession(shell, r.ID)
	w := s.Watch(session)
	s.Send(session, "pwd")
	require.Equal(t, "completed", w.Settled(turnLimit, 1)[0].Status)
	require.Equal(t, workspace+"\n", s.Said(session))
	p.Kill()

	// An id that is not the secret's is a mistake of the launcher's.
	p = testkit.Run(t, testkit.Options{Env: []string{"RUNNER_SERVER_URL=" + s.URL, "OMNIGENT_RUNNER_ID=runner_token_0",
		"OMNIGENT_RUNNER_TUNNEL_BINDING_TOKEN=" + r.Secret}}, "run")
	require.Equal(t, 2, p.Wait(testkit.Patience))
	status, _, err := s.Do(http.MethodGet, "/v1/sessions/"+session, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
}
