//go:build linux

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// one is `outrunner up`: server and runner in one process.
type one struct {
	*testkit.API
	address, home, workspace string
	process                  *testkit.Process
}

func startUp(t *testing.T) one {
	t.Helper()
	address := testkit.FreeAddress(t)
	u := one{API: testkit.NewAPI(t, "http://"+address), address: address, home: t.TempDir(), workspace: t.TempDir()}
	t.Cleanup(func() {
		u.process.Kill()
		testkit.RequireNone(t, u.home)
	})
	u.process = testkit.Run(t, testkit.Options{Home: u.home, Dir: u.workspace}, "up", "--listen", address)
	u.WaitReady(u.process)
	u.WaitOnline()
	return u
}

func (u one) send(t *testing.T, args ...string) *testkit.Process {
	t.Helper()
	return testkit.Run(t, testkit.Options{}, append([]string{"send", "--server", u.URL}, args...)...)
}

// The first minute of a newcomer. It measures, so it runs alone.
func TestUpAndASend(t *testing.T) {
	const startsWithin = 2 * time.Second
	testkit.Binary(t) // the build is not part of the start
	begin := time.Now()
	u := startUp(t)
	require.Less(t, time.Since(begin), startsWithin)
	said := u.process.Stdout.String()
	require.Contains(t, said, u.URL, "where it is")
	require.Contains(t, said, u.workspace, "where it works")
	require.Contains(t, said, "send --server "+u.URL+" --agent shell 'uname -a'", "what to do next")

	send := u.send(t, "--agent", "shell", "uname -a; pwd; for i in 1 2 3; do echo $i; sleep 1; done")
	require.Zero(t, send.Wait(testkit.Patience))
	lines := send.Stdout.Lines()
	require.Len(t, lines, 5, send.Stdout.String())
	require.Contains(t, lines[0].Text, "Linux")
	require.Equal(t, u.workspace, lines[1].Text)
	for n := 2; n < 5; n++ {
		require.Equal(t, fmt.Sprint(n-1), lines[n].Text)
		if n > 2 {
			require.Greater(t, lines[n].At.Sub(lines[n-1].At), 700*time.Millisecond, "a line is printed when it is produced")
		}
	}
	require.Empty(t, send.Stderr.String())
}

func TestUpKeepsSessionsOverRestarts(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	session := u.NewSession("shell")
	before := u.Settled(turnLimit, session, u.Send(session, "echo before"))[0]
	u.process.Signal(syscall.SIGTERM)
	require.Zero(t, u.process.Wait(testkit.Patience), "exit code of an up that was asked to stop")
	testkit.RequireNone(t, u.home)

	u.process = testkit.Run(t, testkit.Options{Home: u.home, Dir: u.workspace}, "up", "--listen", u.address)
	u.WaitReady(u.process)
	after := u.Settled(turnLimit, session, u.Send(session, "echo after"))[0]
	require.Equal(t, "before\n", u.Answer(session, before.Response))
	require.Equal(t, "after\n", u.Answer(session, after.Response))
}

// A turn that is running when everything stops, asked or not, gets its one
// outcome at the next start at the latest.
func TestUpStoppedInATurn(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*testing.T, *testkit.Process){
		"asked": func(t *testing.T, p *testkit.Process) {
			p.Signal(syscall.SIGTERM)
			require.Zero(t, p.Wait(testkit.Patience))
		},
		"killed": func(_ *testing.T, p *testkit.Process) { p.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := startUp(t)
			session := u.NewSession("shell")
			item := u.Send(session, "echo some text; touch begun; sleep 100")
			testkit.Until(t, testkit.Patience, func() bool { return exists(filepath.Join(u.workspace, "begun")) }, testkit.Is("the command begins"))
			stop(t, u.process)
			testkit.RequireNone(t, u.home)

			u.process = testkit.Run(t, testkit.Options{Home: u.home, Dir: u.workspace}, "up", "--listen", u.address)
			u.WaitReady(u.process)
			end := u.Settled(turnLimit, session, item)[0]
			require.Equal(t, "failed", end.Status)
			require.Equal(t, "runner_restarted", end.Code)
			if name == "asked" { // a kill may come before the text is closed as an item
				require.Equal(t, "some text\n", u.Answer(session, end.Response))
			}
		})
	}
}

func TestSendOfACommandThatFails(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	send := u.send(t, "echo out; echo err >&2; exit 3")
	require.Equal(t, 1, send.Wait(testkit.Patience))
	require.Equal(t, "out\nerr\n", send.Stdout.String())
	require.Len(t, send.Stderr.Lines(), 1)
	require.Contains(t, send.Stderr.String(), "bash exited with status 3")
}

func TestSendWithoutOutputSaysSo(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	send := u.send(t, "true")
	require.Zero(t, send.Wait(testkit.Patience))
	require.Equal(t, "exit 0", strings.TrimSpace(send.Stdout.String()))
}

func TestSendInterruptedByCtrlC(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	send := u.send(t, "echo begun; sleep 100")
	testkit.Until(t, testkit.Patience, func() bool { return strings.Contains(send.Stdout.String(), "begun") }, testkit.Is("the command begins"))
	send.Signal(os.Interrupt)
	require.Equal(t, 130, send.Wait(testkit.Patience), "exit code of a send that was interrupted")
	sessions, err := u.Sessions()
	require.NoError(t, err)
	require.Len(t, sessions, 1)
	items, err := u.Items(sessions[0].ID)
	require.NoError(t, err)
	end := u.Settled(turnLimit, sessions[0].ID, items[0].ID)[0]
	require.Equal(t, "cancelled", end.Status)
	require.Equal(t, "begun\n", u.Answer(sessions[0].ID, end.Response))
	testkit.RequireNone(t, u.home, u.process)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
