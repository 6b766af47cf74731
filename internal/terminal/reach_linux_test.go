package terminal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// failing is a piece of script that lets the first n attaches fail as on a machine
// without processes to spare.
func failing(t *testing.T, n int) string {
	t.Helper()
	count := filepath.Join(t.TempDir(), "failed")
	require.NoError(t, os.WriteFile(count, nil, 0o600))
	return fmt.Sprintf(`case "$*" in *attach-session*)
	if [ $(wc -l <%s) -lt %d ]; then echo >>%s; echo "fork failed: Resource temporarily unavailable" >&2; exit 1; fi;; esac`, count, n, count)
}

// T33: a tmux that could not be reached is asked again, and nothing that was
// typed meanwhile is lost.
func TestATmuxThatCannotBeReachedIsNotGone(t *testing.T) {
	tmux, calls := countingTmux(t, failing(t, strikes-1))
	m, book := startManager(t, Config{Tmux: tmux})
	made := launch(t, m, shell("a", `echo ready; while read x; do echo "got $x"; done`))
	b := look(t, m, made, 80, 24)
	b.shows(t, "ready")
	tmuxSays(t, made, "detach-client", "-s", "main")
	b.keys("one\r")
	b.shows(t, "got one")
	require.Equal(t, strikes, strings.Count(strings.Join(calls(), "\n"), "attach-session"))
	require.Empty(t, book.of("exited"))
}

// The same when a runner looks for what the one before it left.
func TestAdoptingAsksMoreThanOnce(t *testing.T) {
	dir := shortDir(t)
	first, _ := startManager(t, Config{Dir: dir})
	made := launch(t, first, shell("a", `echo ready; sleep 1000`))
	first.Stop()
	tmux, _ := countingTmux(t, failing(t, 1))
	m, _ := startManager(t, Config{Dir: dir, Tmux: tmux})
	require.Len(t, m.List("s1"), 1)
	require.Equal(t, made.Generation, m.List("s1")[0].Generation)
}

// T32: a terminal that is closed leaves no tmux, also when its socket was cleared
// away.
func TestClosingLeavesNoTmux(t *testing.T) {
	m, _ := startManager(t, Config{})
	for _, cleared := range []bool{false, true} {
		made := launch(t, m, shell("a", "echo ready; sleep 1000"))
		pid := serverPID(t, made)
		require.True(t, lives(pid))
		if cleared {
			require.NoError(t, os.Remove(made.Socket))
		}
		require.NoError(t, m.Close(context.Background(), "s1", made.ID()))
		eventually(t, func() bool { return !lives(pid) })
		require.NoDirExists(t, filepath.Dir(made.Socket))
	}
}
