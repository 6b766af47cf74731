//go:build unix

package terminal

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// T3: the first picture has the viewer's size, which the program got before; its
// history wraps anew.
func TestTheFirstPictureHasTheViewersSize(t *testing.T) {
	lim := defaultLimits()
	lim.firstResize = patience
	m, _ := startLimited(t, Config{}, lim)
	long := strings.Repeat("0123456789", 15)
	made := launch(t, m, shell("a", `i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo `+long+`; done; trap 'printf "now %s\n" "$(stty size)"' WINCH; echo ready; while :; do read x; done`))
	eventually(t, func() bool {
		text, err := m.Screen(context.Background(), "s1", made.ID(), 0)
		return err == nil && strings.Contains(text, "ready")
	})
	b := look(t, m, made, 100, 30)
	b.shows(t, "now 30 100")
	require.Equal(t, `{"type":"size","cols":100,"rows":30}`, b.firstTold())
	require.Equal(t, 100, strings.Count(b.all(), "\n"+long)+strings.Count(b.all()[:len(long)], long))
	text, err := m.Screen(context.Background(), "s1", made.ID(), 20000)
	require.NoError(t, err)
	require.Equal(t, text, b.all())
}

func (b *browser) firstTold() string {
	told, _, _ := strings.Cut(b.told(), "\n")
	return told
}

// A viewer that never tells its size is painted all the same.
func TestAViewerWithoutASizeIsPainted(t *testing.T) {
	m, _ := startManager(t, Config{})
	made := launch(t, m, shell("a", "echo ready; sleep 1000"))
	b := look(t, m, made, 0, 0)
	b.shows(t, "ready")
	require.Equal(t, [2]int{startCols, startRows}, b.size())
}

// T2: what a program prints is no part of tmux's protocol, neither as it comes nor
// when tmux is asked for the screen.
func TestTheScreenMayLookLikeTmuxItself(t *testing.T) {
	m, _ := startManager(t, Config{})
	evil := []string{"%begin 1 2 1", "%end 1 2 1", "%error 1 2 1", "%exit", "%output %0 no\\\\041", "%window-renamed @0 ended", "%end 0 0 0"}
	made := launch(t, m, shell("a", `printf '%s\n' "$@"; echo ready; while read x; do echo "got $x"; done`, evil...))
	b := look(t, m, made, 80, 24)
	b.shows(t, "ready")
	before := b.text()
	require.True(t, strings.HasPrefix(before, strings.Join(evil, "\n")+"\nready\n"), before)
	tmuxSays(t, made, "detach-client", "-s", "main") // ours: the next one asks for the screen
	b.keys("x\r")
	b.shows(t, "got x")
	require.True(t, strings.HasPrefix(b.text(), before[:len(strings.TrimRight(before, "\n"))]), b.text())
}
