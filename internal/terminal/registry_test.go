//go:build unix

package terminal

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// Two launches of one key make one terminal, and an attach meanwhile waits for it
// (T19).
func TestTwoLaunchesMakeOneTerminal(t *testing.T) {
	m, book := startManager(t, Config{})
	made := make([]wire.Terminal, 5)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() { made[i], _ = m.Launch(context.Background(), shell("a", "echo ready; sleep 1000")) })
	}
	all.Wait()
	for _, one := range made {
		require.Equal(t, made[0], one)
	}
	require.True(t, made[0].Running)
	require.Len(t, m.List("s1"), 1)
	eventually(t, func() bool { return len(book.of("created")) == 1 })
	entries, err := os.ReadDir(m.root)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestAnAttachWaitsForTheLaunch(t *testing.T) {
	m, _ := startManager(t, Config{})
	at := place{"s1", "terminal_sh_a"}
	b := &birth{done: make(chan struct{})}
	m.mu.Lock()
	m.births[at] = b
	m.mu.Unlock()
	found := make(chan *terminal)
	go func() { found <- m.await(context.Background(), at) }()
	term := m.newTerminal(shell("a", ""), newGeneration(), time.Now())
	m.mu.Lock()
	delete(m.births, at)
	m.sessions["s1"] = []*terminal{term}
	m.mu.Unlock()
	close(b.done)
	require.Same(t, term, <-found)
	m.mu.Lock()
	delete(m.sessions, "s1")
	m.mu.Unlock()
	require.Nil(t, m.await(context.Background(), at))
}

func TestIDsAreNotShared(t *testing.T) {
	m, _ := startManager(t, Config{})
	spec := shell("x", "sleep 1000")
	spec.Name = "a b"
	launch(t, m, spec)
	spec.Name = "a_b"
	_, err := m.Launch(context.Background(), spec)
	require.ErrorIs(t, err, wire.ErrConflict)
}

func TestTransferKeepsTheViewers(t *testing.T) {
	dir := shortDir(t)
	m, book := startManager(t, Config{Dir: dir})
	made := launch(t, m, shell("a", `while read x; do echo "got $x"; done`))
	b := look(t, m, made, 80, 24)
	b.keys("one\r")
	b.shows(t, "got one")
	ctx := context.Background()
	_, err := m.Transfer(ctx, "s1", "terminal_none", "s2")
	require.ErrorIs(t, err, wire.ErrNotFound)
	other := shell("a", "sleep 1000")
	other.Session = "s3"
	launch(t, m, other)
	_, err = m.Transfer(ctx, "s1", made.ID(), "s3")
	require.ErrorIs(t, err, wire.ErrConflict)

	moved, err := m.Transfer(ctx, "s1", made.ID(), "s2")
	require.NoError(t, err)
	want := made
	want.Session = "s2"
	require.Equal(t, want, moved)
	require.Empty(t, m.List("s1"))
	require.Equal(t, []wire.Terminal{moved}, m.List("s2"))
	b.keys("two\r")
	b.shows(t, "got two")

	// The next runner finds it where it is now, and its end is told there.
	m.Stop()
	next, book2 := startManager(t, Config{Dir: dir})
	require.Equal(t, []wire.Terminal{moved}, next.List("s2"))
	require.NoError(t, next.Type(ctx, "s2", made.ID(), "", []string{"C-d"}))
	eventually(t, func() bool { return len(book2.of("exited")) == 1 })
	require.Equal(t, "s2", book2.of("exited")[0].Terminal.Session)
	require.Empty(t, book.of("exited"))
}

// T20: the end of an old terminal takes no newer one of the same id with it.
func TestAnOldEndSparesTheNewTerminal(t *testing.T) {
	m, book := startManager(t, Config{})
	seen := map[string]bool{}
	for range 10 {
		made := launch(t, m, shell("a", "read x; exit 1"))
		require.False(t, seen[made.Generation])
		seen[made.Generation] = true
		require.NoError(t, m.Type(context.Background(), "s1", made.ID(), "", []string{"Enter"}))
		eventually(t, func() bool {
			got, err := m.Get(context.Background(), "s1", made.ID())
			return err != nil || !got.Running
		})
	}
	eventually(t, func() bool { return len(book.of("exited")) == 10 })
	for i, n := range book.of("created") {
		require.Equal(t, n.Terminal.Generation, book.of("exited")[i].Terminal.Generation)
	}
}

func TestWhatALaunchRefuses(t *testing.T) {
	for _, plain := range []bool{false, true} {
		m, _ := startManager(t, Config{Plain: plain})
		for name, change := range map[string]func(*wire.TerminalSpec){
			"no name":       func(s *wire.TerminalSpec) { s.Name = "" },
			"NUL in key":    func(s *wire.TerminalSpec) { s.Key = "a\x00b" },
			"line in key":   func(s *wire.TerminalSpec) { s.Key = "a\nkill-server" },
			"no program":    func(s *wire.TerminalSpec) { s.Command = "no-such-program" },
			"no file":       func(s *wire.TerminalSpec) { s.Command = "/no/such/program" },
			"no folder":     func(s *wire.TerminalSpec) { s.Cwd = "/no/such/folder" },
			"relative":      func(s *wire.TerminalSpec) { s.Cwd = "tmp" },
			"long":          func(s *wire.TerminalSpec) { s.Args = []string{strings.Repeat("x", 20<<10)} },
			"NUL in an arg": func(s *wire.TerminalSpec) { s.Args = []string{"a\x00b"} },
		} {
			spec := shell("a", "sleep 1000")
			change(&spec)
			_, err := m.Launch(context.Background(), spec)
			require.ErrorIs(t, err, wire.ErrRejected, name)
		}
	}
}

// T28: names, arguments and folders are text, whatever is in them.
func TestTextIsOnlyText(t *testing.T) {
	evil := "it's; a \"$(touch pwned)\" #{pid} #(touch pwned) `touch pwned` \\ ~ ünï;"
	dir := filepath.Join(t.TempDir(), "a #(touch pwned) b;")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, plain := range []bool{false, true} {
		m, _ := startManager(t, Config{Plain: plain})
		file := filepath.Join(t.TempDir(), "got")
		spec := shell("a", `printf '%s\n%s\n' "$1" "$PWD" > `+file+`.part; mv `+file+`.part `+file+`; sleep 1000`, evil)
		spec.Session, spec.Name, spec.Key, spec.Cwd = evil, evil, evil, dir
		made := launch(t, m, spec)
		require.Equal(t, evil+"\n"+dir+"\n", string(arrived(t, file)))
		require.Equal(t, "terminal_it_s_a_touch_pwned_pid_touch_pwned_touch_pwned_n_it_s_a_touch_pwned_pid_touch_pwned_touch_pwned_n", made.ID())
		require.NoFileExists(t, filepath.Join(dir, "pwned"))
		if !plain {
			require.Equal(t, evil, tmuxSays(t, made, "show-options", "-gv", "@outrunner-session"))
		}
	}
}

// T35
func TestTmuxVersions(t *testing.T) {
	for said, good := range map[string]bool{
		"tmux 3.3": true, "tmux 3.3a": true, "tmux 3.5a": true, "tmux next-3.6": true, "tmux 4.0": true, "tmux master": true, "tmux openbsd-7.4": true,
		"tmux 3.2a": false, "tmux 2.9": false, "tmux 1.8": false, "screen 4.9": false, "": false, "tmux": false,
	} {
		err := judgeVersion("/bin/tmux", said)
		require.Equal(t, good, err == nil, said)
		if err != nil {
			require.ErrorIs(t, err, wire.ErrRejected)
		}
	}
	old := filepath.Join(t.TempDir(), "tmux")
	require.NoError(t, os.WriteFile(old, []byte("#!/bin/sh\necho tmux 3.2a\n"), 0o700))
	m, _ := startManager(t, Config{Tmux: old})
	_, err := m.Launch(context.Background(), shell("a", "sleep 1000"))
	require.ErrorIs(t, err, wire.ErrRejected)
	require.ErrorContains(t, err, "tmux 3.2a is too old for terminals: install tmux 3.3 or later")
}

// T33: a tmux that cannot be asked is not one that is gone.
func TestWhatSaysThatTmuxIsGone(t *testing.T) {
	for said, want := range map[string]bool{
		"no server running on /x": true, "server exited unexpectedly": true, "lost server": true, "can't find session: main": true,
		"error connecting to /x (No such file or directory)": true, "error connecting to /x (Connection refused)": true,
		"error connecting to /x (Resource temporarily unavailable)": false, "fork failed: Cannot allocate memory": false,
		"open terminal failed: Too many open files": false, "": false,
	} {
		require.Equal(t, want, gone(said), said)
	}
}

func TestIdleTerminalsAreClosed(t *testing.T) {
	lim := defaultLimits()
	lim.reapInterval = 20 * time.Millisecond
	busy := make(chan struct{})
	m, book := startLimited(t, Config{
		IdleTimeout: 300 * time.Millisecond,
		Reapable:    func(d wire.Terminal) bool { return d.Key == "main" },
		Busy: func(wire.Terminal) bool {
			select {
			case <-busy:
				return false
			default:
				return true
			}
		},
	}, lim)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	launch(t, m, shell("main", "sleep 1000"))
	other := launch(t, m, shell("other", "sleep 1000"))
	time.AfterFunc(600*time.Millisecond, func() { close(busy) })
	eventually(t, func() bool { return len(book.of("exited")) == 1 })
	<-busy // not before
	require.Equal(t, "main", book.of("exited")[0].Terminal.Key)
	require.Equal(t, []wire.Terminal{other}, m.List("s1"))
	cancel()
	require.NoError(t, <-done)
}

// What a program prints by itself is news, at most once a second.
func TestActivityIsTold(t *testing.T) {
	lim := defaultLimits()
	lim.typing, lim.activeEvery = time.Millisecond, 200*time.Millisecond
	m, book := startLimited(t, Config{}, lim)
	began := time.Now()
	launch(t, m, shell("a", `while :; do echo x; sleep 0.01; done`))
	eventually(t, func() bool { return len(book.of("active")) >= 3 })
	require.LessOrEqual(t, len(book.of("active")), int(time.Since(began)/lim.activeEvery)+1)
}

// A socket's path has a limit; a long one is replaced by a short one, always the
// same.
func TestALongFolder(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	m, _ := startManager(t, Config{Dir: long})
	made := launch(t, m, shell("a", "sleep 1000"))
	require.Less(t, len(made.Socket), 108)
	require.Equal(t, "main", tmuxSays(t, made, "list-sessions", "-F", "#{session_name}"))
	again, err := rootFolder(long)
	require.NoError(t, err)
	require.Equal(t, m.root, again)
	require.NoError(t, m.Close(context.Background(), "s1", made.ID()))
	require.NoError(t, os.Remove(m.root))
}

// T21: what a terminal does by itself, and what is typed into it, starts no
// process.
func TestATerminalAtWorkStartsNoProcess(t *testing.T) {
	dir := t.TempDir()
	tmux, err := exec.LookPath("tmux")
	require.NoError(t, err)
	counting, count := filepath.Join(dir, "tmux"), filepath.Join(dir, "count")
	require.NoError(t, os.WriteFile(counting, []byte("#!/bin/sh\necho \"$1\" >> "+count+"\nexec "+tmux+" \"$@\"\n"), 0o700))
	m, _ := startManager(t, Config{Tmux: counting})
	made := launch(t, m, shell("a", `stty -echo; echo ready; while read x; do echo "got $x"; done`))
	b := look(t, m, made, 80, 24)
	b.shows(t, "ready")
	before, err := os.ReadFile(count)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(before), "\n"), string(before)) // its version, and the launch
	pane := m.sessions["s1"][0].back.(*tmuxPane)
	for i := range 20 {
		b.keys(fmt.Sprintf("%d\r", i))
		b.shows(t, fmt.Sprintf("got %d", i))
		b.resize(80+i, 24)
		signal(pane.look)
		_, err := m.Get(context.Background(), "s1", made.ID())
		require.NoError(t, err)
		_, err = m.Screen(context.Background(), "s1", made.ID(), 10)
		require.NoError(t, err)
		m.List("s1")
	}
	after, err := os.ReadFile(count)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}
