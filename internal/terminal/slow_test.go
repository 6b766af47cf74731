//go:build unix

package terminal

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
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
	made := launch(t, m, shell("a", `read x; seq 1 300000; echo done; read x; echo again; sleep 1000`))
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
	made := launch(t, m, shell("a", `read x; seq 1 300000; echo done; sleep 1000`))
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

// A flood with a viewer of 10 KB/s: memory stays flat, another terminal's echo
// stays quick, ^C works, and the last screen is right.
func TestAFloodIsNobodysProblem(t *testing.T) {
	m, _ := startManager(t, Config{})
	flood := launch(t, m, shell("flood", `trap 'stop=1' INT; read x; yes abcdefghij; echo; echo stopped; sleep 1000`))
	quiet := launch(t, m, shell("quiet", `stty -echo; while read x; do echo "got $x"; done`))
	slow := look(t, m, flood, 80, 24, reading(10<<10))
	other := look(t, m, quiet, 80, 24)
	echo := func(i int) time.Duration {
		began := time.Now()
		other.keys(fmt.Sprintf("%d\r", i))
		other.shows(t, fmt.Sprintf("got %d\n", i))
		return time.Since(began)
	}
	echo(0)
	before := resident(t)
	slow.keys("\r")
	slow.shows(t, "abcdefghij")
	var echoes []time.Duration
	for i := 1; i <= 200; i++ {
		echoes = append(echoes, echo(i))
	}
	slices.Sort(echoes)
	t.Logf("echo beside a flood: p50 %v, p99 %v", echoes[100], echoes[197])
	after := resident(t)
	t.Logf("memory: %d KiB before, %d KiB after", before>>10, after>>10)
	require.Less(t, after, before+64<<20)
	slow.keys("\x03")
	other.keys("bye\r")
	eventually(t, func() bool {
		text, err := m.Screen(context.Background(), "s1", flood.ID(), 0)
		return err == nil && strings.Contains(text, "stopped")
	})
	slow.shows(t, "stopped")
	text, err := m.Screen(context.Background(), "s1", flood.ID(), 0)
	require.NoError(t, err)
	eventually(t, func() bool { return slow.text() == text })
}

// resident is what the process has in memory.
func resident(t *testing.T) int {
	runtime.GC()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.HeapInuse)
	}
	var total, set int
	_, err = fmt.Sscan(string(data), &total, &set)
	require.NoError(t, err)
	return set * os.Getpagesize()
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
