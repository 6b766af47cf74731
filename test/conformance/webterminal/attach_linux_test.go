package webterminal

import (
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// attach starts what the agent declares, shows it in the size of the person's
// terminal, and leaves it running at the detach key.
func TestAttachFromATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.server.NewSession("helper")
	p := w.sits(append(at(w.server.URL), session)...)
	p.shows(`(?m)^\$$`)
	rows := w.lists(session)
	require.Len(t, rows, 1)
	require.Equal(t, "terminal_sh_main", rows[0].ID)
	p.types("stty size\r")
	p.shows(`(?m)^30 100$`)
	require.NoError(t, pty.Setsize(p.master, &pty.Winsize{Cols: 120, Rows: 40}))
	p.mu.Lock()
	p.screen.Resize(120, 40)
	p.mu.Unlock()
	testkit.Until(t, testkit.Patience, func() bool {
		p.types("stty size\r")
		return strings.Contains(p.text(), "\n40 120\n")
	}, testkit.Is("the program does not learn the new size"))
	p.types("sleep 100\r\x03") // a signal for the program there, not for attach
	p.shows(`\^C`)
	p.types("echo inter-$((40+2))\r")
	p.shows(`(?m)^inter-42$`)
	pid := p.pid("first")
	p.types("\x1d")
	code, said := p.leaves()
	require.Zero(t, code, said)
	require.Contains(t, said, "detached; the program goes on, come back with: ")

	show := testkit.Run(t, testkit.Options{}, "sessions", "show", session, "--server", w.server.URL)
	require.Zero(t, show.Wait(testkit.Patience), show.Stderr)
	require.Regexp(t, `(?m)^terminals +sh:main$`, show.Stdout.String())

	reader := w.sits(append(at(w.server.URL), session, "sh", "--read-only", "--detach-key", "ctrl-a")...)
	reader.shows(`(?m)^inter-42$`)
	reader.types("echo never-$((40+2))\r\x1d")
	again := w.sits(append(at(w.server.URL), session, "sh:main")...)
	again.shows(`(?m)^inter-42$`)
	require.Equal(t, pid, again.pid("second"))
	require.NotContains(t, again.text(), "never")
	reader.types("\x01")
	code, said = reader.leaves()
	require.Zero(t, code, said)
	again.types("exit\r")
	code, said = again.leaves()
	require.Zero(t, code, said)
	require.Contains(t, said, "the terminal has ended")
	require.Empty(t, w.lists(session))
}

// Whatever is cut or restarted, attach comes back by itself to the same program,
// and keeps what is typed meanwhile.
func TestAttachComesBack(t *testing.T) {
	t.Parallel()
	w, near, tunnel := newCutWorld(t)
	session := w.server.NewSession("helper")
	p := w.sits(append(at(near.URL), session)...)
	p.shows(`(?m)^\$$`)
	pid := p.pid("before")
	for _, fault := range []struct {
		name string
		cut  func()
		heal func()
	}{
		{"connection", near.Refuse, near.Heal},
		{"tunnel", tunnel.Refuse, tunnel.Heal},
		{"asked", func() {
			w.server.Process.Signal(syscall.SIGTERM)
			require.Zero(t, w.server.Process.Wait(testkit.Patience))
		}, w.server.Start},
		{"server", w.server.Kill, w.server.Start},
		{"runner", w.runner.Kill, w.startRunner},
	} {
		fault.cut()
		p.shows(`connection is lost, trying again`)
		p.types("echo typed-" + fault.name + "-$((40+2))\r")
		fault.heal()
		p.shows(`(?m)^typed-` + fault.name + `-42$`)
		require.Equal(t, pid, p.pid(fault.name), fault.name)
		require.NotContains(t, p.text(), "trying again", "the new screen is the terminal's alone")
		require.Equal(t, 1, strings.Count(p.text(), "\ntyped-"+fault.name+"-42\n"), "typed once")
	}
	p.types("\x1d")
	code, said := p.leaves()
	require.Zero(t, code, said)
}

// However attach is ended, the person's terminal is as it was.
func TestAttachIsEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.server.NewSession("helper")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		p := w.sits(append(at(w.server.URL), session)...)
		p.shows(`(?m)^\$$`)
		require.NoError(t, p.cmd.Process.Signal(sig))
		code, said := p.leaves()
		require.Equal(t, 130, code, "%s: %s", sig, said)
		require.Contains(t, said, "come back with: ")
	}
	gone := w.sits(append(at(w.server.URL), session)...)
	gone.shows(`(?m)^\$$`)
	require.NoError(t, gone.slave.Close())
	require.NoError(t, gone.master.Close()) // the window is closed, when its reader has let go of it
	w.open(session, "terminal_sh_main").types("\r")
	code, said := gone.ends()
	require.Equal(t, 130, code, said)
	require.Len(t, w.lists(session), 1, "the terminal stays")

	removed := w.sits(append(at(w.server.URL), session)...)
	removed.shows(`(?m)^\$$`)
	status, _, err := w.server.Do("DELETE", "/v1/sessions/"+session, nil)
	require.NoError(t, err)
	require.Equal(t, 200, status)
	code, said = removed.leaves()
	require.Zero(t, code, said)
	require.Contains(t, said, "the terminal has ended")
}

// What cannot be done is said, and the screen is left alone.
func TestAttachToNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.server.NewSession("helper")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{append(at(w.server.URL), strings.Repeat("0", 32)), 1, "Session not found"},
		{append(at(w.server.URL), session, "vim"), 1, `there is no terminal "vim"; there are: sh`},
		{append(at("http://"+testkit.FreeAddress(t)), session), 3, "cannot be reached"},
		{append(at(w.server.URL), session, "--detach-key", "x"), 2, "must be ctrl- and one character"},
	} {
		p := w.sits(c.args...)
		code, said := p.leaves()
		require.Equal(t, c.code, code, said)
		require.Contains(t, said, c.says)
		require.Empty(t, strings.TrimSpace(p.text()))
	}
	w.runner.Kill()
	p := w.sits(append(at(w.server.URL), session)...)
	code, said := p.leaves()
	require.Equal(t, 1, code, said)
	require.Contains(t, said, "runner")
}
