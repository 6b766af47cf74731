//go:build unix

package terminal

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// T6: a viewer that takes nothing costs neither the program nor its neighbours
// anything, and is closed alone with a code that makes it come back.
func TestAStuckViewerIsClosedAlone(t *testing.T) {
	lim := defaultLimits()
	lim.stuck = 2 * time.Second
	m, _ := startLimited(t, Config{}, lim)
	made := launch(t, m, shell("a", `read x; seq 1 `+floodLines+`; echo done; read x; echo again; sleep 1000`))
	stuck := look(t, m, made, 80, 24, func(b *browser) { b.blocked = make(chan struct{}) })
	b := look(t, m, made, 80, 24)
	b.keys("\r")
	b.shows(t, "done")
	require.Equal(t, detachedSlow, stuck.detached(t))
	b.keys("\r")
	b.shows(t, "again")
}

// What waits for a viewer is bounded, and what it missed is made good.
func TestAViewerThatComesBackIsPainted(t *testing.T) {
	m, _ := startManager(t, Config{})
	made := launch(t, m, shell("a", `read x; seq 1 `+floodLines+`; echo done; sleep 1000`))
	slow := look(t, m, made, 80, 24, func(b *browser) { b.blocked = make(chan struct{}) })
	b := look(t, m, made, 80, 24)
	b.keys("\r")
	b.shows(t, "done")
	term := m.sessions["s1"][0]
	term.mu.Lock()
	for _, v := range term.viewers {
		held := 0
		for _, one := range v.queue {
			held += cap(one.data)
		}
		require.Less(t, held, 2*maxQueue)
	}
	term.mu.Unlock()
	close(slow.blocked)
	slow.shows(t, "done")
	for _, one := range []*browser{slow, b} {
		eventually(t, func() bool { return strings.Count(one.all(), "\n") > 1000 })
	}
	eventually(t, func() bool { return strings.HasSuffix(b.all(), slow.all()) })
}

// T24: a long history comes after the first picture.
func TestALongHistoryDoesNotDelayTheFirstPicture(t *testing.T) {
	m, _ := startManager(t, Config{})
	spec := shell("a", `seq 1 60000; echo done; sleep 1000`)
	spec.Scrollback = 50000
	made := launch(t, m, spec)
	eventually(t, func() bool {
		text, err := m.Screen(context.Background(), "s1", made.ID(), 0)
		return err == nil && strings.Contains(text, "done")
	})
	b := look(t, m, made, 80, 24)
	b.shows(t, "done")
	eventually(t, func() bool { return strings.Count(b.all(), "\n") >= 20000 })
	require.NotContains(t, b.all(), "\n100\n")
	require.Contains(t, b.all(), "\n59000\n")
}
