//go:build unix

package subagents

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/journal"
	"github.com/outrunner/outrunner/runner/wire"
	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

const (
	known    = 1000 // sessions of the journal
	backlog  = 5000 // new items of the longest
	page     = 100  // items that are asked for at once
	parallel = 8    // reads that are open at once
	every    = 50   // sessions, of which one has a new message
	sessionL = "11fe0000000000000000000000000001"
)

func nth(n int) string { return fmt.Sprintf("5e55%028d", n) }

// A runner that knows a thousand sessions is there before it has read one of
// them, reads all of them fairly, says what it did, and does nothing twice.
//
// It takes the whole machine, so nothing runs beside it.
func TestAScanOfAThousandSessions(t *testing.T) {
	w := newWorld(t, "exec")
	for n := range known {
		w.AddSession(fakeserver.Session{ID: nth(n), AgentID: agentP})
		w.Say(nth(n), "old")
		w.Answered(nth(n), "resp_before", "old")
	}
	w.start()
	for n := range known {
		code, _ := w.Stream(nth(n)) // by which it is known
		require.Equal(t, 200, code)
	}
	w.Until(func() bool { return facts(w.scanned(1)).sessions == known }, "the sessions are not all seen")

	w.aliveBeforeItsScan()
	w.fair()
	w.idempotent()
}

// aliveBeforeItsScan has nobody answer the scan of a runner that has come back:
// it is connected, and works.
func (w *world) aliveBeforeItsScan() {
	w.t.Helper()
	w.runner.Kill()
	release := w.Hold("GET", "/v1/sessions/5e55*")
	defer release()
	before := len(w.Calls())
	w.start()
	w.AddSession(fakeserver.Session{ID: sessionL, AgentID: agentP})
	w.Watch(sessionL)
	require.Equal(w.t, "completed", w.Ended(sessionL, w.Send(sessionL, "now")))
	w.Until(func() bool { return slices.ContainsFunc(w.Calls()[before:], ofScan) }, "the scan does not begin")
	for _, c := range w.Calls()[before:] {
		require.False(w.t, ofScan(c) && c.Status == 200, "no question of the scan was answered, and the runner works")
	}
}

// ofScan tells whether the call is about one of the thousand.
func ofScan(c fakeserver.Call) bool { return strings.HasPrefix(c.Path, "/v1/sessions/5e55") }

// fair gives one session, the first to be read, a long backlog, and some others
// a message: all others are read between the first page of the backlog and the
// second, and their messages are run before its own.
func (w *world) fair() {
	w.t.Helper()
	w.Until(func() bool { return facts(w.scanned(1)).sessions >= known }, "the sessions are not all seen")
	long := nth(0)
	for range backlog - 1 {
		w.Answered(long, "resp_elsewhere", "more")
	}
	items := map[string]string{}
	for n := 0; n < known; n += every {
		items[nth(n)] = w.Say(nth(n), "new")
		w.Watch(nth(n))
	}
	before := len(w.Calls())
	w.Drop()
	w.Connected(3)
	w.Until(func() bool { return facts(w.scanned(2)).sessions > known }, "the sessions are not all seen")
	lines, rows := w.scanned(2), 0
	for _, c := range w.Calls()[before:] {
		rows += c.Rows
	}
	require.Equal(w.t, report{sessions: known + 1, items: rows, turns: len(items)}, facts(lines))
	require.GreaterOrEqual(w.t, rows, backlog+len(items)-1)
	require.Contains(w.t, lines[0], " took=")

	pages, others := 0, map[string]bool{}
	for _, c := range w.Calls()[before:] {
		switch {
		case c.Path == "/v1/sessions/"+long+"/items":
			if pages++; pages == 2 {
				require.GreaterOrEqual(w.t, len(others), known-parallel, "the others are read before the second page of the long one")
			}
		case ofScan(c) && strings.HasSuffix(c.Path, "/items"):
			others[c.Path] = true
		}
	}
	require.Equal(w.t, backlog/page, pages)
	for id, item := range items {
		require.Equal(w.t, "completed", w.Ended(id, item))
	}
	w.runner.Kill()
	opened := 0
	for _, r := range w.journaled() {
		if r.Kind != wire.RecOpened || r.Session == sessionL {
			continue
		}
		if r.Session == long {
			require.GreaterOrEqual(w.t, opened, len(items)-parallel, "the messages of the others are run first")
			return
		}
		opened++
	}
	require.Fail(w.t, "the message behind the backlog was not run")
}

// idempotent has the same scanned again and again: the first scan reads what the
// turns have stored, and the next changes nothing, here or at the server.
func (w *world) idempotent() {
	w.t.Helper()
	w.start()
	w.Until(func() bool { return facts(w.scanned(1)).sessions > known }, "the sessions are not all seen")
	w.runner.Kill()
	before, calls := w.journaled(), len(w.Calls())
	w.start()
	w.Until(func() bool { return facts(w.scanned(1)).sessions > known }, "the sessions are not all seen")
	w.runner.Kill()
	require.Equal(w.t, before, w.journaled())
	for _, c := range w.Calls()[calls:] {
		require.Equal(w.t, "GET", c.Method, "a write to the server: %s", c)
		require.Zero(w.t, c.Rows, "there is nothing new: %s", c)
	}
	require.Equal(w.t, report{sessions: known + 1}, facts(w.scanned(1)))
}

// journaled are the records of the runner, which is not running, but for those
// that say that the end of a turn has been seen: that is no matter of a scan.
func (w *world) journaled() []wire.Record {
	w.t.Helper()
	db, err := journal.Open(w.runner.Journal(), slog.New(slog.DiscardHandler))
	require.NoError(w.t, err)
	records, err := db.Load()
	require.NoError(w.t, err)
	require.NoError(w.t, db.Close())
	return slices.DeleteFunc(records, func(r wire.Record) bool { return r.Kind == wire.RecSeen })
}
