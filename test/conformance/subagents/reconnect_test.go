//go:build unix

package subagents

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

const (
	crowd   = 200 // sessions, half of them children of three levels
	cuts    = 5
	between = 40 // calls of the runner from one cut to the next: less than a scan makes

	// answeredWithin is for two hundred programs, each under a guard, on a machine
	// of two processors whose program looks for data races.
	answeredWithin = 90 * time.Second
)

// lineage are the names of children, level by level, and their harnesses.
var lineage = []struct{ name, harness string }{{"claude_code", native}, {"deep", inner}, {"deepest", deepest}}

// crowded adds the sessions and returns the harness that each must be answered
// by. Each has an old message that was answered.
func (w *world) crowded() map[string]string {
	want := map[string]string{}
	for n := range crowd {
		ses := fakeserver.Session{ID: fmt.Sprintf("5e55%028d", n), AgentID: agentP}
		want[ses.ID] = parent
		if n%2 == 1 {
			level := n / 2 % len(lineage)
			ses.Name, ses.Parent = lineage[level].name, fmt.Sprintf("5e55%028d", n-1)
			if level > 0 {
				ses.Parent = fmt.Sprintf("5e55%028d", n-2)
			}
			want[ses.ID] = lineage[level].harness
		}
		w.AddSession(ses)
		w.Say(ses.ID, "old")
		w.Answered(ses.ID, "resp_before", "old")
		w.Watch(ses.ID)
	}
	return want
}

// A scan that is cut again and again loses nothing and does nothing twice.
//
// It takes the whole machine, so nothing runs beside it.
func TestReconnectsInAScan(t *testing.T) {
	w := newWorld(t, "exec")
	want := w.crowded()
	w.start()
	w.Until(func() bool { return facts(w.scanned(1)).sessions == crowd }, "the sessions are not all seen")
	require.Empty(t, w.noted("started"), "what was there before is history")

	items := map[string]string{}
	for id := range want {
		items[id] = w.Say(id, "new-"+id)
	}
	w.Drop()
	for n := range cuts {
		before := len(w.Calls())
		w.Connected(n + 2)
		w.Until(func() bool { return len(w.Calls()) > before+between }, "the scan does not begin")
		w.Drop()
		require.NotContains(t, w.runner.Process.Stderr.String(), fmt.Sprintf("caught up tunnel_gen=%d ", n+2), "the scan was cut")
	}
	open := maps.Clone(items)
	testkit.Until(t, answeredWithin, func() bool {
		maps.DeleteFunc(open, func(id, item string) bool { return len(w.Ends(id, item)) > 0 })
		return len(open) == 0
	}, func() string { return fmt.Sprintf("no outcomes of %v", open) })
	for id, item := range items {
		require.Equal(t, "completed", w.Ended(id, item))
	}

	asked := map[string][]string{}
	for _, line := range w.noted("ran") {
		harness, rest, _ := strings.Cut(line, " ")
		id, text, _ := strings.Cut(rest, " ")
		require.Equal(t, "new-"+id, text)
		asked[id] = append(asked[id], harness)
	}
	require.Len(t, asked, crowd)
	for id, harness := range want {
		require.Equal(t, []string{harness}, asked[id], "session %s", id)
		require.Equal(t, []string{"old", harness + " has done it"}, w.Said(id))
	}

	// The next scan takes what the turns have stored for what it is, and the
	// one after it finds nothing at all. The lines say so.
	last := cuts + 2
	for _, something := range []bool{true, false} {
		before := len(w.Calls())
		w.Drop()
		last++
		w.Connected(last)
		got := facts(w.scanned(last))
		rows := 0
		for _, c := range w.Calls()[before:] {
			rows += c.Rows
		}
		require.Equal(t, something, rows > 0)
		require.Equal(t, report{sessions: crowd, items: rows}, got)
	}
	require.Len(t, w.noted("ran"), crowd)

	// And the line says what was done.
	const few = 6
	for n := range few {
		id := fmt.Sprintf("5e55%028d", n)
		items[id] = w.Say(id, "more")
	}
	w.Drop()
	w.Connected(last + 1)
	require.Equal(t, report{sessions: crowd, items: few, turns: few}, facts(w.scanned(last+1)))
	for n := range few {
		id := fmt.Sprintf("5e55%028d", n)
		require.Equal(t, "completed", w.Ended(id, items[id]))
	}
	require.Len(t, w.noted("ran"), crowd+few)
}

// report is what the log lines of a connection's scans say, in sum; the first
// question of a connection is put to all sessions.
type report struct{ sessions, items, turns, deferred int }

func facts(lines []string) (sum report) {
	for _, line := range lines {
		var r report
		if n, err := fmt.Sscanf(line, "sessions=%d items=%d turns=%d deferred=%d", &r.sessions, &r.items, &r.turns, &r.deferred); err != nil || n != 4 {
			return report{deferred: -1}
		}
		sum.sessions, sum.items, sum.turns, sum.deferred = sum.sessions+r.sessions, sum.items+r.items, sum.turns+r.turns, sum.deferred+r.deferred
	}
	return sum
}
