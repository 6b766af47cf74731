package core

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/outrunner/outrunner/catchup/plan"
	"github.com/outrunner/outrunner/runner/wire"
)

// The back-off of a session whose scan failed, in milliseconds.
const (
	rescanBase = 1000
	rescanCap  = 30_000
)

// onRestored lets what the journal left undone begin: the outbox first.
func (c *Core) onRestored() {
	for _, s := range c.all() {
		for _, e := range s.Outbox {
			c.effect(Store{Session: s.id, Out: e.Out})
		}
		if s.Child.Receipt != "" {
			c.patch(s, s.Child.labels())
		}
		c.returnTaken(s)
		// Nobody remembers whether the parent was told of what it has not read.
		s.wakes.stranded = len(s.Inbox.Queue) > 0
		c.watch(s)
		c.finishTurns(s)
	}
}

// onTunnelUp scans every session that the journal knows, or that an init or a
// stream has named.
func (c *Core) onTunnelUp(ev TunnelUp) {
	c.tunnel = ev.Gen
	var orders []ScanOrder
	for _, s := range c.all() {
		delete(s.asked, "scan")
		s.wakeTries = 0
		if s.wakes.stranded {
			c.rewake(s)
		}
		orders = append(orders, c.order(s))
	}
	c.effect(Scan{Tunnel: c.tunnel, Sessions: orders})
}

func (c *Core) all() []*session {
	return slices.SortedFunc(maps.Values(c.sessions), func(a, b *session) int { return cmp.Compare(a.id, b.id) })
}

// requestScan has a session scanned once on this connection.
func (c *Core) requestScan(s *session) {
	if c.tunnel != 0 && s.scanned != c.tunnel && !s.asked["scan"] {
		c.effect(Scan{Tunnel: c.tunnel, Sessions: []ScanOrder{c.order(s)}})
	}
}

func (c *Core) order(s *session) ScanOrder {
	s.asked["scan"] = true
	s.ahead = s.queuedIDs()
	c.deferVerdict(s)
	if s.rescan {
		s.rescan = false
		c.effect(StopTimer{Session: s.id, Key: TimerRescan})
	}
	return ScanOrder{Session: s.id, After: s.Cursor, Gen: s.gen}
}

func (c *Core) onScanned(ev Scanned) {
	s := c.sessions[ev.Session]
	delete(s.asked, "scan")
	s.verdict = &verdict{
		Verdict: Verdict{Session: s.id, Tunnel: ev.Tunnel, Items: len(ev.Items)}, turns: len(s.Turns),
	}
	defer c.giveVerdict(s)
	switch {
	case errors.Is(ev.SnapshotErr, wire.ErrNotFound):
		s.view.gone, s.scanned = true, c.tunnel
		c.refuseInit(s, 404, "not_found", "The server does not know this session.")
		c.endLease(s)
	case ev.SnapshotErr != nil:
		c.scanFailed(s, ev.SnapshotErr)
		return
	default:
		c.mergeView(s, ev.Snapshot)
		c.mergeSnapshot(s, ev.Snapshot)
	}
	if !s.view.gone {
		if ev.ItemsErr != nil {
			c.scanFailed(s, ev.ItemsErr)
			return
		}
		c.mergeItems(s, ev)
		s.scanned, s.retries, s.view.read = c.tunnel, 0, true
	}
	c.answerInit(s)
	c.advance(s)
	c.wakeStranded(s) // what waited may have turned out to be history
}

// verdict is what will be said of a scan when all of it is decided.
type verdict struct {
	Verdict
	turns int // that the session had before
}

// deferVerdict gives what is left to say of an earlier scan.
func (c *Core) deferVerdict(s *session) {
	if s.verdict != nil {
		s.verdict.Deferred = true
		c.giveVerdict(s)
	}
}

// giveVerdict tells what became of a scan, once no question of it is open.
func (c *Core) giveVerdict(s *session) {
	v := s.verdict
	if v == nil || !v.Deferred && (s.asked["snapshot"] || s.asked["spec"]) {
		return
	}
	s.verdict = nil
	v.Turns = len(s.Turns) - v.turns
	c.effect(v.Verdict)
}

// scanFailed leaves everything as it is and tries again later. What was
// accepted and cannot wait is decided by advance.
func (c *Core) scanFailed(s *session, err error) {
	s.verdict.Deferred = true
	c.log(s, Warn, "cannot read the session from the server; trying again", err)
	c.rescanLater(s)
	s.retries++
	c.advance(s)
}

func (c *Core) mergeView(s *session, snap wire.Snapshot) {
	s.view.gone = false
	s.view.foreign = snap.RunnerID != "" && snap.RunnerID != c.cfg.Runner
	s.view.archived = snap.Archived
	s.view.pending = snap.Pending
	s.view.unfinished = snap.Status == "running" || snap.Status == "waiting" ||
		snap.Status == "failed" && (snap.LastErrorCode == "runner_disconnected" || snap.LastErrorCode == "runner_failed_to_start")
}

// mergeItems takes the server's items into the journal: what is work becomes
// queued, in the server's order; the cursor moves in the same batch of records.
func (c *Core) mergeItems(s *session, ev Scanned) {
	known := s.known()
	s.init.strange = s.init.strange || !known
	work := plan.Authority(plan.Merge{
		Known: known, Beyond: s.beyond(ev), Pending: s.view.pending,
		Plain: s.init.kind == plan.PlainInit, Native: c.native(s),
		Named: s.isNamed, Queued: s.isQueued, Ours: s.isOurs,
	}, ev.Items)
	if s.Open != nil {
		s.view.outcome = outcomeIn(ev.Items, s.Open.Response)
	}
	if !s.view.foreign { // another runner's work is not ours to queue
		c.queueInOrder(s, ev.Items, work)
	}
	c.scanWork(s, ev.Items)
	n := len(ev.Items)
	passed := ev.After != s.Cursor && !ev.Restarted && s.beyond(ev) == n // the cursor is ahead of this listing
	if n > 0 && !passed {
		c.record(wire.Record{Kind: wire.RecCursor, Session: s.id, Cursor: ev.Items[n-1].ID})
	}
}

// native tells whether the session is known, in this process, to run in a
// program that reads its own input.
func (c *Core) native(s *session) bool {
	traits, _ := c.cfg.Traits(s.warm)
	return traits.Native
}

// beyond is the index from which on the items of a listing lie beyond the
// cursor, which a forward may have moved since the listing was ordered. After a
// stale cursor nothing does: such a listing is history.
func (s *session) beyond(ev Scanned) int {
	switch at := slices.IndexFunc(ev.Items, func(it wire.Item) bool { return it.ID == s.Cursor }); {
	case ev.Restarted:
		return len(ev.Items)
	case at >= 0:
		return at + 1
	case ev.After == s.Cursor:
		return 0
	}
	return len(ev.Items)
}

// queueInOrder makes the work of a listing part of the queue, in the server's
// order: behind what was queued before the listing and is not in it, because
// that is older; ahead of what was accepted since. Queued items that the listing
// shows as answered elsewhere become history.
func (c *Core) queueInOrder(s *session, items []wire.Item, work []string) {
	listed := map[string]bool{}
	for _, it := range items {
		listed[it.ID] = true
		switch worth := slices.Contains(work, it.ID); {
		case s.isQueued(it.ID) && !worth:
			c.record(wire.Record{Kind: wire.RecItem, Session: s.id, Item: it.ID, ItemState: wire.ItemHistory})
		case worth && !s.isQueued(it.ID):
			c.record(wire.Record{
				Kind: wire.RecItem, Session: s.id, Item: it.ID, ItemState: wire.ItemQueued, Content: it.Content, Source: sourceScan,
			})
		}
	}
	var older, newer []string
	for _, id := range s.queuedIDs() {
		switch {
		case listed[id]:
		case slices.Contains(s.ahead, id):
			older = append(older, id)
		default:
			newer = append(newer, id)
		}
	}
	order := slices.Concat(older, work, newer)
	if !slices.Equal(order, s.queuedIDs()) {
		c.record(wire.Record{Kind: wire.RecOrder, Session: s.id, Inputs: order})
	}
}

// outcomeIn finds the end that the server has stored under a response.
func outcomeIn(items []wire.Item, response string) *wire.TurnEnd {
	for _, it := range items {
		if it.ResponseID == response && it.Type == "error" {
			return &wire.TurnEnd{Outcome: wire.Failed, Error: &wire.TurnError{
				Code: first(it.Code, wire.CodeInternal), Message: first(it.Message, "The turn failed."),
			}}
		}
	}
	return nil
}

func (c *Core) rescanLater(s *session) {
	if c.tunnel != 0 {
		after := int64(rescanBase)
		for range min(s.retries, 8) {
			after = min(after*2, rescanCap)
		}
		s.rescan = true
		c.effect(SetTimer{Session: s.id, Key: TimerRescan, After: after})
	}
}

func (c *Core) onTimer(ev TimerFired) {
	s := c.sessions[ev.Session]
	switch ev.Key {
	case TimerRescan:
		s.rescan = false
		if c.tunnel != 0 && !s.asked["scan"] {
			c.effect(Scan{Tunnel: c.tunnel, Sessions: []ScanOrder{c.order(s)}})
		}
	case TimerResume:
		s.init.awaited, s.init.late = false, c.tunnel
		c.advance(s)
	case TimerLaunch:
		c.onLaunchBudget(s)
	case TimerSweep:
		c.onSweep(s)
	case TimerGrace:
		c.onGrace(s)
	case TimerUnread:
		c.tellAgain(s)
	case TimerWake:
		c.wakeStranded(s)
	case TimerInterrupt:
		c.releaseWaiters(s)
	case TimerDelete:
		c.finishClosing(s)
	case TimerInit:
		c.refuseInit(s, 503, "spec_resolver_failed", "The agent of this session could not be read in time.")
	}
}
