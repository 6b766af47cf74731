//go:build unix

package terminal

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// T18: tmux drops what a program prints right before it ends.
func TestTheLastLineIsAlwaysShown(t *testing.T) {
	m, book := startManager(t, Config{})
	t.Run("rounds", func(t *testing.T) {
		for i := range rounds {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				made := launch(t, m, shell(fmt.Sprint("k", i), `read x; seq 1 200000; echo the end`))
				b := look(t, m, made, 80, 24)
				b.keys("\r")
				require.Equal(t, detachedEnded, b.detached(t))
				require.Regexp(t, `199999\n200000\nthe end\n*$`, b.text())
				// The history is there too, in order and without a gap; as much of it
				// as a viewer on a busy machine can take.
				lines := strings.Split(strings.TrimRight(b.all(), "\n"), "\n")
				require.Greater(t, len(lines), 1000)
				for j := range 1000 {
					require.Equal(t, fmt.Sprint(200000-j), lines[len(lines)-2-j])
				}
			})
		}
	})
	eventually(t, func() bool { return len(book.of("exited")) == rounds })
}

func TestAnExitIsTold(t *testing.T) {
	for _, c := range []struct {
		name, script   string
		status, signal int
	}{
		{"clean", "read x; echo bye", 0, 0},
		{"status", "read x; echo bye; exit 3", 3, 0},
		{"signal", "read x; echo bye; kill -9 $$", 0, 9},
	} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, plain), func(t *testing.T) {
				t.Parallel()
				m, book := startManager(t, Config{Plain: plain})
				made := launch(t, m, shell("a", c.script))
				require.NoError(t, m.Type(context.Background(), "s1", made.ID(), "", []string{"Enter"}))
				eventually(t, func() bool { return len(book.of("exited")) == 1 })
				told := book.of("exited")[0]
				require.Equal(t, c.status, told.Exit.Status)
				require.Equal(t, c.signal, told.Exit.Signal)
				require.Contains(t, told.Exit.Tail, "bye")
				made.Running = false
				require.Equal(t, made, told.Terminal)
				require.Empty(t, m.List("s1"))
				_, err := m.Get(context.Background(), "s1", made.ID())
				require.ErrorIs(t, err, wire.ErrNotFound)
			})
		}
	}
}

// tmux may be late to run its hook, or never do; we find the end all the same.
func TestAnEndIsFoundWithoutTheHook(t *testing.T) {
	m, book := startManager(t, Config{})
	made := launch(t, m, shell("a", "echo ready; read x; exit 7"))
	tmuxSays(t, made, "set-hook", "-uw", "-t", "main", "pane-died")
	require.NoError(t, m.Type(context.Background(), "s1", made.ID(), "", []string{"Enter"}))
	eventually(t, func() bool { return len(book.of("exited")) == 1 })
	require.Equal(t, 7, book.of("exited")[0].Exit.Status)
}

func TestAProgramThatEndsAtOnceFailsTheLaunch(t *testing.T) {
	for _, plain := range []bool{false, true} {
		m, book := startManager(t, Config{Plain: plain})
		spec := shell("a", "echo no such thing; exit 5")
		// It may still run when it is looked at; then it is an exit like any other.
		_, err := m.Launch(context.Background(), spec)
		if err != nil {
			require.ErrorContains(t, err, "ended at once with status 5")
			require.ErrorContains(t, err, "no such thing")
			require.Empty(t, book.of("created"))
			continue
		}
		eventually(t, func() bool { return len(book.of("exited")) == 1 })
		require.Equal(t, 5, book.of("exited")[0].Exit.Status)
	}
}

func TestTheScreenOfAKeptTerminalStays(t *testing.T) {
	m, book := startManager(t, Config{})
	spec := shell("a", "read x; echo last words; exit 1")
	spec.KeepAfterExit = true
	made := launch(t, m, spec)
	require.NoError(t, m.Type(context.Background(), "s1", made.ID(), "", []string{"Enter"}))
	eventually(t, func() bool { return len(book.of("exited")) == 1 })

	b := look(t, m, made, 80, 24)
	require.Equal(t, detachedEnded, b.detached(t))
	require.Contains(t, b.text(), "last words")
	text, err := m.Screen(context.Background(), "s1", made.ID(), 0)
	require.NoError(t, err)
	require.Contains(t, text, "last words")
	require.Contains(t, tmuxSays(t, made, "capture-pane", "-p", "-t", "main"), "last words")

	again := launch(t, m, spec)
	require.NotEqual(t, made.Generation, again.Generation)
	require.NoDirExists(t, strings.TrimSuffix(made.Socket, "/"+socketFile))
	require.NoError(t, m.Close(context.Background(), "s1", again.ID()))
	require.ErrorIs(t, m.Close(context.Background(), "s1", again.ID()), wire.ErrNotFound)
}

func TestClosingEndsTheViewersAndIsNoNews(t *testing.T) {
	m, book := startManager(t, Config{})
	made := launch(t, m, shell("a", "echo ready; sleep 1000"))
	b := look(t, m, made, 80, 24)
	b.shows(t, "ready")
	require.NoError(t, m.Close(context.Background(), "s1", made.ID()))
	require.Equal(t, detachedEnded, b.detached(t))
	require.NoDirExists(t, strings.TrimSuffix(made.Socket, "/"+socketFile))
	require.Equal(t, detachedMissing, look(t, m, made, 80, 24).detached(t))
	m.Stop()
	require.Empty(t, book.of("exited"))
}

// A tmux that is killed takes its program with it; that is an end like others.
func TestAKilledTmuxIsAnExit(t *testing.T) {
	m, book := startManager(t, Config{})
	made := launch(t, m, shell("a", "echo ready; sleep 1000"))
	b := look(t, m, made, 80, 24)
	b.shows(t, "ready")
	require.NoError(t, syscall.Kill(serverPID(t, made), syscall.SIGKILL))
	require.Equal(t, detachedEnded, b.detached(t))
	eventually(t, func() bool { return len(book.of("exited")) == 1 })
	assert.Contains(t, book.of("exited")[0].Exit.Tail, "ready")
}

// Somebody may detach all clients, ours among them; the program lives on, and so
// do the viewers.
func TestADetachedControlClientComesBack(t *testing.T) {
	m, book := startManager(t, Config{})
	made := launch(t, m, shell("a", `echo ready; while read x; do echo "got $x"; done`))
	b := look(t, m, made, 80, 24)
	b.shows(t, "ready")
	for i := range 10 {
		tmuxSays(t, made, "detach-client", "-s", "main")
		b.keys(fmt.Sprintf("%d\r", i))
		b.shows(t, fmt.Sprintf("got %d", i))
	}
	require.Empty(t, book.of("exited"))
	require.Len(t, m.List("s1"), 1)
}
