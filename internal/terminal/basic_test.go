//go:build unix

package terminal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTypingReachesTheProgramAndItsEchoComesBack(t *testing.T) {
	m, book := startManager(t, Config{})
	made := launch(t, m, shell("a", `echo ready; read x; echo "got $x"; read x`))
	require.True(t, made.Running)
	require.Equal(t, "terminal_sh_a", made.ID())
	b := look(t, m, made, 100, 30)
	b.shows(t, "ready")
	b.keys("hello\r")
	b.shows(t, "got hello")
	require.Equal(t, [2]int{100, 30}, b.size())
	eventually(t, func() bool { return len(book.of("created")) == 1 })
	require.Equal(t, made, book.of("created")[0].Terminal)
	b.keys("\r")
	require.Equal(t, detachedEnded, b.detached(t))
	eventually(t, func() bool { return len(book.of("exited")) == 1 })
	require.Empty(t, m.List("s1"))
}
