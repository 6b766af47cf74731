//go:build unix

package conformance

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// endsWithin bounds three refused attempts.
const endsWithin = 15 * time.Second

func TestClosesThatEndARunner(t *testing.T) {
	t.Parallel()
	for _, code := range []websocket.StatusCode{4001, 4002, 4004, 4500} {
		t.Run(fmt.Sprint(int(code)), func(t *testing.T) {
			u, r, l := connect(t)
			require.NoError(t, l.ws.Close(code, "because"))
			require.Equal(t, 1, r.Process.Wait(endsWithin))
			require.Contains(t, lastLine(r), fmt.Sprintf("error: runner tunnel rejected by server (close code %d); check frame protocol compatibility", code))
			require.NotNil(t, u)
		})
	}
}

func TestClosesThatDoNot(t *testing.T) {
	t.Parallel()
	u, _, l := connect(t)
	for _, code := range []websocket.StatusCode{1000, 1001, 1011, 1012, 1013, 4003} {
		require.NoError(t, l.ws.Close(code, "because"))
		l = u.next()
		l.kind("hello")
	}
	// Once it has been connected, no refusal of its credentials ends it.
	u.refuse(http.StatusUnauthorized)
	require.NoError(t, l.ws.CloseNow())
	testkit.Hold(3 * time.Second) // more than three attempts
	u.refuse(0)
	u.next().kind("hello")
}

func TestRefusedCredentials(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			u := newUpstream(t)
			u.refuse(status)
			r := testkit.NewRunner(t, u.URL)
			r.Start()
			require.Equal(t, 77, r.Process.Wait(endsWithin))
			require.Contains(t, lastLine(r), fmt.Sprintf("HTTP %d persisted across 3 attempts", status))
		})
	}
}

// A launcher that was written for the upstream runner speaks by environment.
func TestLauncherEnvironment(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	home, marker := t.TempDir(), filepath.Join(t.TempDir(), "connected")
	workspace := t.TempDir()
	const secret, id = "bind-token", "runner_token_56a71354985f77c16b45bc3b7da1abde"
	p := testkit.Run(t, testkit.Options{Home: home, Env: []string{
		"RUNNER_SERVER_URL=" + u.URL, "OMNIGENT_RUNNER_ID=" + id, "OMNIGENT_RUNNER_TUNNEL_BINDING_TOKEN=" + secret,
		"OMNIGENT_RUNNER_WORKSPACE=" + workspace, "OMNIGENT_RUNNER_CONNECT_MARKER=" + marker,
		fmt.Sprintf("OMNIGENT_RUNNER_PARENT_PID=%d", os.Getpid()),
	}}, "run")
	l := u.next()
	require.Equal(t, id, l.runner)
	require.Equal(t, secret, l.header.Get("X-Omnigent-Runner-Tunnel-Token"))
	l.kind("hello")
	require.FileExists(t, marker)

	s := l.open()
	l.get("POST", "/v1/sessions/"+session+"/events", u.message(item1, "pwd; env"))
	s.end(item1)
	said := fmt.Sprint(u.soFar())
	require.Contains(t, said, workspace)
	require.NotContains(t, said, secret, "no program inherits the secret")
	require.NotContains(t, p.Stderr.String(), secret)
}

func TestLauncherDied(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	// Not our parent, so the parent is gone.
	p := testkit.Run(t, testkit.Options{Env: []string{"OMNIGENT_RUNNER_PARENT_PID=1"}}, "run", "--server", u.URL)
	require.Equal(t, websocket.StatusNormalClosure, u.next().closed().Code)
	require.Zero(t, p.Wait(endsWithin))
	require.Contains(t, p.Stderr.String(), "parent process died")
}

func lastLine(r *testkit.Runner) string {
	lines := testkit.Lines(r.Process.Stderr.String())
	return strings.Join(lines[len(lines)-1:], "")
}
