package terminal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// envLoad makes the tests of this file longer: OUTRUNNER_TEST_LOAD=60s.
const envLoad = "OUTRUNNER_TEST_LOAD"

func loadTime(t *testing.T, usual time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(envLoad)
	if text == "" {
		return usual
	}
	long, err := time.ParseDuration(text)
	require.NoError(t, err)
	return long
}

// T6, T7: a flood with a viewer of 10 KB/s. Memory stays flat, ours and tmux's,
// another terminal's echo comes, ^C works, and the last screen is right.
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
	alone := make([]time.Duration, 50)
	for i := range alone {
		alone[i] = echo(i)
	}
	slow.keys("\r")
	slow.shows(t, "abcdefghij")
	ours, theirs := os.Getpid(), serverPID(t, flood)
	var beside []time.Duration
	var before, beforeTmux int
	for began, limit := time.Now(), loadTime(t, 10*time.Second); time.Since(began) < limit; {
		if len(beside) == 20 { // buffers have grown to what they need
			before, beforeTmux = resident(t, ours), resident(t, theirs)
		}
		beside = append(beside, echo(100+len(beside)))
	}
	require.Greater(t, len(beside), 20)
	after, afterTmux := resident(t, ours), resident(t, theirs)
	slices.Sort(alone)
	slices.Sort(beside)
	p99 := beside[len(beside)*99/100]
	t.Logf("echo: p50 %v, p99 %v alone; p50 %v, p99 %v of %d beside a flood", alone[25], alone[49], beside[len(beside)/2], p99, len(beside))
	t.Logf("memory: ours %d -> %d KiB, tmux's %d -> %d KiB", before>>10, after>>10, beforeTmux>>10, afterTmux>>10)
	require.Less(t, p99, 3*time.Second) // a busy machine; behind the flood it would be never
	require.Less(t, after, before+20<<20)
	require.Less(t, afterTmux, beforeTmux+20<<20)

	slow.keys("\x03")
	eventually(t, func() bool {
		text, err := m.Screen(context.Background(), "s1", flood.ID(), 0)
		return err == nil && strings.Contains(text, "stopped")
	})
	slow.shows(t, "stopped")
	text, err := m.Screen(context.Background(), "s1", flood.ID(), 0)
	require.NoError(t, err)
	eventually(t, func() bool { return slow.text() == text })
}

// T7: a flood takes no more of a tunnel than its share.
func TestAFloodHasASpeedLimit(t *testing.T) {
	lim := defaultLimits()
	lim.rate = 256 << 10
	m, _ := startLimited(t, Config{}, lim)
	made := launch(t, m, shell("a", `read x; yes abcdefghij`))
	b := look(t, m, made, 80, 24)
	b.shows(t, "\n")
	began := time.Now()
	b.keys("\r")
	eventually(t, func() bool { return time.Since(began) > 3*time.Second && strings.Contains(b.text(), "abcdefghij") })
	got := len(b.rawText())
	require.Less(t, got, int(time.Since(began).Seconds()*float64(lim.rate))+maxQueue+maxPatch)
}

// T13: what is pasted is not typed key by key, and it arrives at once.
func TestAPasteTakesFewProcesses(t *testing.T) {
	tmux, calls := countingTmux(t, "")
	m, _ := startManager(t, Config{Tmux: tmux})
	paste := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	file := filepath.Join(t.TempDir(), "got")
	made := launch(t, m, shell("a", reader(file, len(paste))))
	b := look(t, m, made, 80, 24)
	b.shows(t, "ready")
	before, began := len(calls()), time.Now()
	for _, piece := range split(paste, maxFrame) {
		b.in <- message{data: piece}
	}
	got := arrived(t, file)
	processes := len(calls()) - before
	t.Logf("a megabyte took %v and %d processes", time.Since(began), processes)
	require.True(t, bytes.Equal(paste, got))
	require.Positive(t, processes)        // as keys it would take ten seconds
	require.LessOrEqual(t, processes, 16) // each message a paste of its own
}

// T21: terminals that nobody uses start no process, and cost nearly nothing.
func TestIdleTerminalsCostNothing(t *testing.T) {
	const panes = 50
	tmux, calls := countingTmux(t, "")
	m, _ := startManager(t, Config{Tmux: tmux})
	var launching sync.WaitGroup
	for worker := range 5 {
		launching.Go(func() {
			for i := worker; i < panes; i += 5 {
				_, err := m.Launch(context.Background(), shell(fmt.Sprint(i), `echo ready; exec sleep 1000`))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	launching.Wait()
	require.Len(t, m.List("s1"), panes)
	for _, made := range m.List("s1") {
		eventually(t, func() bool {
			text, err := m.Screen(context.Background(), "s1", made.ID(), 0)
			return err == nil && strings.Contains(text, "ready")
		})
	}
	before, used, began := calls(), worked(t), time.Now()
	<-time.After(loadTime(t, 10*time.Second))
	took := time.Since(began)
	used = worked(t) - used
	t.Logf("%d idle terminals: %.2f %% of a processor, %d processes in %v", panes, 100*used.Seconds()/took.Seconds(), len(calls())-len(before), took)
	require.Equal(t, before, calls())
	require.Less(t, used.Seconds()/took.Seconds(), idleShare)
}
