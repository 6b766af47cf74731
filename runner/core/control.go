package core

import (
	"errors"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// How long requests wait for a program to end, in milliseconds. The server
// gives an interrupt 5 s; a delete has no deadline, but must not hang.
const (
	interruptWait = 4000
	deleteWait    = 8000
)

// waiter is an interrupt or stop whose answer waits for the turn's end.
type waiter struct{ req Req }

type closeKind int

const (
	closeDelete closeKind = iota
	closeReset
)

// closing is a delete or reset that waits for the session's program to end.
type closing struct {
	kind   closeKind
	reqs   []Req
	body   func(*session) []byte
	closed bool // the harness said so
}

// onControl handles the events that are not messages. A kind that means
// nothing here is answered 204: the server asks every runner everything.
func (c *Core) onControl(ev Control) {
	s := c.session(ev.Session)
	c.name(s)
	switch ev.Kind {
	case "stop_session":
		c.cancelQueued(s)
		c.interrupt(s, ev.Req)
	case "interrupt":
		c.interrupt(s, ev.Req)
	case "effort_change":
		id := s.Identity
		id.Effort = ev.Effort
		c.identify(s, id)
		c.reply(ev.Req, 204, nil)
	default:
		c.reply(ev.Req, 204, nil)
	}
}

// interrupt asks the running turn to stop; the answer waits until it has.
func (c *Core) interrupt(s *session, req Req) {
	if !s.live {
		c.interruptNative(s)
		c.reply(req, 204, nil)
		return
	}
	if len(s.waiting) == 0 {
		c.effect(SetTimer{Session: s.id, Key: TimerInterrupt, After: interruptWait})
	}
	s.waiting = append(s.waiting, waiter{req})
	s.cut = true
	c.effect(Interrupt{Session: s.id, Turn: s.Open.ID})
}

// cancelQueued gives the messages that wait behind a stopped turn their
// outcome: stop means that nothing more runs.
func (c *Core) cancelQueued(s *session) {
	ids := s.queuedIDs()
	if len(ids) == 0 {
		return
	}
	if s.Open == nil {
		c.endItems(s, ids, wire.TurnEnd{Outcome: wire.Cancelled})
		return
	}
	s.stopped = ids
}

// releaseWaiters answers the interrupts of the turn that ended, or of one that
// takes longer than the server waits.
func (c *Core) releaseWaiters(s *session) {
	if len(s.waiting) > 0 {
		c.effect(StopTimer{Session: s.id, Key: TimerInterrupt})
	}
	for _, w := range s.waiting {
		c.reply(w.req, 204, nil)
	}
	s.waiting = nil
}

// onRequestGone stops waiting for a request that nobody waits for. What it
// began goes on: a stop is a stop even if its asker left.
func (c *Core) onRequestGone(ev RequestGone) {
	for _, s := range c.sessions {
		s.waiting = slices.DeleteFunc(s.waiting, func(w waiter) bool { return w.req == ev.Req })
		s.init.reqs = slices.DeleteFunc(s.init.reqs, func(r Req) bool { return r == ev.Req })
		if s.closing != nil {
			s.closing.reqs = slices.DeleteFunc(s.closing.reqs, func(r Req) bool { return r == ev.Req })
		}
		c.readerGone(s, ev.Req)
		s.askerGone(ev.Req)
	}
}

// readerGone drops a reading of the inbox that nobody waits for and that has no
// name under which it could be asked for again: it would show results to nobody.
func (c *Core) readerGone(s *session, req Req) {
	s.readers = slices.DeleteFunc(s.readers, func(t ToolCall) bool { return t.Req == req && t.Op == "" })
	if s.reading != nil && s.reading.call.Req == req && s.reading.call.Op == "" {
		s.reading = nil
		c.readInbox(s)
	}
}
func (c *Core) onDelete(ev Delete) {
	s := c.sessions[ev.Session]
	if s == nil {
		c.reply(ev.Req, 200, deletedBody(ev.Session))
		return
	}
	c.beginClosing(s, closeDelete, ev.Req, func(s *session) []byte { return deletedBody(s.id) }, false)
}

// keptGraves is how many deleted sessions are remembered, for late reports of
// their children.
const keptGraves = 1024

// bury takes a deleted session out of what others hold of it: its children's
// work for it, and the readers of its inbox.
func (c *Core) bury(s *session) {
	c.lives++
	c.graves = append(c.graves, s.id)
	c.buried[s.id] = true
	if len(c.graves) > keptGraves {
		delete(c.buried, c.graves[0])
		c.graves = c.graves[1:]
	}
	s.waits = false // it has no viewers any more
	for _, kid := range c.kids(s.id) {
		c.recordChild(kid, childState{owed: kid.Child.owed})
	}
	for _, other := range c.all() {
		if other.Rail != nil && other.Rail.Parent == s.id {
			c.record(wire.Record{Kind: wire.RecRail, Session: other.id, State: encode(nil)})
			other.edge = nil
		}
	}
	c.buryAskers(s)
	for _, call := range s.readers {
		c.replyTool(call.Req, "", errDeleted)
	}
	if s.reading != nil {
		c.replyTool(s.reading.call.Req, "", errDeleted)
	}
	var calls []Req
	for _, send := range s.sends {
		if kid := c.sessions[send.child]; kid != nil {
			c.stamped(kid, nil)
		}
		calls = append(calls, send.reqs...)
	}
	for _, spawn := range s.spawns {
		calls = append(calls, spawn.reqs...)
	}
	for _, cancel := range s.cancels {
		calls = append(calls, cancel.req)
	}
	for _, req := range calls {
		c.replyTool(req, "", errDeleted)
	}
}

var errDeleted = errors.New("the session was deleted")

func (c *Core) onReset(ev Reset) {
	s := c.session(ev.Session)
	c.name(s)
	s.warm = ""
	if ev.Kind == ResetAgent {
		agent := first(ev.AgentID, s.Identity.AgentID)
		c.forgetAgent(s)
		c.reply(ev.Req, 200, agentResetBody(s.id, agent))
		c.advance(s)
		return
	}
	// The server itself tells what it has cleaned up (terminals.md 1.5).
	c.beginClosing(s, closeReset, ev.Req, func(s *session) []byte { return resetBody(s.id, ev.Kind) }, ev.Kind == ResetState)
}

// forgetAgent drops everything that was learnt of the session's agent, so that
// the next turn asks anew (sessions.md 2.5).
func (c *Core) forgetAgent(s *session) {
	s.dropCaches()
	id := s.Identity
	id.Known, id.AgentID, id.Override, id.Revision = false, "", "", ""
	c.identify(s, id)
}

func (c *Core) beginClosing(s *session, kind closeKind, req Req, body func(*session) []byte, tell bool) {
	if s.closing != nil && s.closing.kind <= kind {
		s.closing.reqs = append(s.closing.reqs, req)
		return
	}
	var reqs []Req
	if s.closing != nil { // a delete overtakes a reset
		reqs = s.closing.reqs
	}
	s.closing = &closing{kind: kind, reqs: append(reqs, req), body: body}
	c.effect(SetTimer{Session: s.id, Key: TimerDelete, After: deleteWait})
	c.effect(CloseHarness{Session: s.id, Terminals: true, Tell: tell})
}

func (c *Core) onHarnessClosed(ev HarnessClosed) {
	s := c.sessions[ev.Session]
	if ev.Err != nil {
		c.log(s, Warn, "the session's program did not close cleanly", ev.Err)
	}
	if s.closing != nil {
		s.closing.closed = true
		c.closeProgress(s)
	}
}

// closeProgress finishes a delete or reset once its program is gone and its
// turn has ended.
func (c *Core) closeProgress(s *session) {
	if s.closing != nil && s.closing.closed && !s.live {
		c.finishClosing(s)
	}
}

func (c *Core) finishClosing(s *session) {
	cl := s.closing
	if cl == nil {
		return
	}
	s.closing = nil
	c.effect(StopTimer{Session: s.id, Key: TimerDelete})
	body := cl.body(s)
	if cl.kind == closeDelete {
		c.releaseWaiters(s)
		c.deferVerdict(s)
		c.refuseInit(s, 404, "not_found", "The session was deleted.")
		c.dropOps(s.id)
		c.bury(s)
		work := s.Child.Work
		c.record(wire.Record{Kind: wire.RecGone, Session: s.id})
		if work != nil {
			c.kidsChanged(work.Parent)
		}
		c.effect(EndStream{Session: s.id})
		c.effect(Forget{Session: s.id})
	} else {
		c.forgetAgent(s)
		if s.Native != nil {
			c.record(wire.Record{Kind: wire.RecNative, Session: s.id, State: encode(nil)})
		}
	}
	for _, req := range cl.reqs {
		c.reply(req, 200, body)
	}
	if cl.kind == closeReset {
		c.advance(s)
	}
}
