package core

import (
	"slices"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// Status is external_session_status on POST /v1/sessions/{id}/events
// (subagents-catchup.md 4): a forwarder's word on a session that runs in a
// program of its own.
type Status struct {
	Req     Req
	Session string
	Status  string
	Output  *string // nil = none, or not a string
	// Completed is turn_completed, literally true; Outcome is turn_outcome if
	// it is one that we know.
	Completed bool
	Outcome   wire.Outcome
	Response  string // of the turn, where the program tells it
	Error     *wire.TurnError
}

func (Status) event() {}

// claudeNative is the one harness whose bare idle says nothing about its turn
// (subagents-catchup.md 4, rule b).
const claudeNative = "claude-native"

// statusOp is a status whose answer waits for snapshots: the child's, to find
// its parent, then the parent's, to see whether it is a child itself.
type statusOp struct {
	ev    Status
	waits string // the session whose snapshot is awaited
	// failed: the snapshot that was awaited could not be read.
	failed bool
	asked  map[string]bool // sessions whose snapshot was asked for this op
	// dispatches are those of the child when the status came: it is no end of a
	// later one.
	dispatches int
}

func (c *Core) onStatus(ev Status) {
	s := c.session(ev.Session)
	c.name(s)
	switch ev.Status {
	case "running", "waiting":
		c.tellParent(s, ev.Status, nil, nil)
		if s.Rail != nil {
			c.started(s)
		}
		c.reply(ev.Req, 204, nil)
	case "idle", "failed":
		if s.repeats(ev) {
			c.reply(ev.Req, 204, nil)
			return
		}
		shown := ev.Status
		if ev.Outcome == wire.Cancelled || ev.Outcome == wire.Failed {
			shown = string(ev.Outcome)
		} else if ev.Outcome == wire.Completed {
			shown = "idle"
		}
		c.tellParent(s, shown, ev.Output, ev.Error)
		c.settle(&statusOp{ev: ev, asked: map[string]bool{}, dispatches: s.dispatches})
	default:
		c.reply(ev.Req, 204, nil)
	}
}

// settle carries a terminal status on, as far as what is known allows.
func (c *Core) settle(op *statusOp) {
	s := c.session(op.ev.Session)
	if op.dispatches != s.dispatches {
		c.reply(op.ev.Req, 204, nil)
		return
	}
	if c.interrupted(s, op) {
		c.take(s, op, workCancelled, op.ev.Output, false)
		return
	}
	to, output, confirmed := op.terminal(s)
	if to == "" {
		// A bare idle of a claude that this process knows settles nothing; what
		// is settled already is handed over if it was not.
		if w := s.Child.Work; w != nil && w.State.terminal() {
			c.answerStatus(op, c.deliver(s))
			return
		}
		c.reply(op.ev.Req, 204, nil)
		return
	}
	if !c.ensure(s, op) {
		return // waits for the child's snapshot
	}
	c.take(s, op, to, output, confirmed)
}

// take reports an end and answers for it. It remembers the turn that ended.
func (c *Core) take(s *session, op *statusOp, to workState, output *string, confirmed bool) {
	why := c.report(s, to, output, confirmed)
	if turn := op.ev.Response; turn != "" && turn != s.Child.Told && s.Child.Work != nil {
		next := s.Child
		next.Told = turn
		c.recordChild(s, next)
	}
	c.answerStatus(op, why)
}

// repeats tells whether an end of a turn is told again after its child was
// dispatched anew: it is none of the new work.
func (s *session) repeats(ev Status) bool {
	w := s.Child.Work
	return ev.Response != "" && ev.Response == s.Child.Told && w != nil && !w.State.terminal()
}

// terminal chooses what the status means for the child's work; "" is nothing.
func (op *statusOp) terminal(s *session) (to workState, output *string, confirmed bool) {
	ev := op.ev
	fallback := func(text string) *string {
		if ev.Output != nil && *ev.Output != "" {
			return ev.Output
		}
		return &text
	}
	w := s.Child.Work
	switch {
	case ev.Outcome == wire.Completed:
		return workCompleted, fallback(""), false
	case ev.Outcome == wire.Cancelled:
		return workCancelled, fallback("[System: sub-agent interrupted]"), true
	case ev.Outcome == wire.Failed, ev.Status == "failed":
		return workFailed, fallback("Error: native sub-agent turn failed"), false
	case w != nil && w.State == workCancelled && w.Confirmed:
		return workCancelled, &w.Output, true
	case !ev.Completed && s.warm == claudeNative:
		return "", nil, false
	}
	return workCompleted, fallback(""), false
}

// ensure finds the entry of a child that was dispatched before a restart, or
// by somebody else: from its snapshot, when that names a parent. It returns
// false when the op waits for that snapshot.
func (c *Core) ensure(s *session, op *statusOp) bool {
	if s.Child.Work != nil || s.Child.Drained != "" {
		return true
	}
	// An entry is made under the label that the server has now: another runner may
	// have given it since the journal was written.
	unnamed := c.adoptable(s) && (!s.shown || s.Identity.SubAgent == "" && s.Identity.AgentName == "")
	if (!s.Identity.Known && !s.view.gone || unnamed) && !op.failed && !op.asked[s.id] {
		c.await(op, s)
		return false
	}
	unread := op.failed && !s.shown // and the forwarder has to ask again
	if c.adoptable(s) && !unread {
		c.recordWork(s, c.adopted(s))
	}
	return true
}

// adoptable tells whether a session without an entry is a child whose result
// somebody here may wait for. A harness's own inner children are not.
func (c *Core) adoptable(s *session) bool {
	id := s.Identity
	return id.Known && id.ParentID != "" && id.ParentID != s.id && !strings.HasSuffix(id.Wrapper, "-ui-subagent")
}

// adopted is the entry of a child that the server names. Its id is the label's
// where the server has one, so that the receipt will match (S193).
func (c *Core) adopted(s *session) work {
	id := s.Identity
	w := work{
		Parent: id.ParentID, ID: first(id.Dispatch, c.workID()), Agent: first(id.SubAgent, id.AgentName, "sub-agent"),
		Title: id.SubAgent, State: workLaunching, Unstamped: s.labels.named,
	}
	// The parent knows it by the name that it gave: AGENT:NAME is the title of a
	// session that a dispatch made.
	if agent, name, named := strings.Cut(id.Title, ":"); named && agent == id.SubAgent {
		w.Title = name
	}
	return w
}

// workID is upstream's form: twelve digits are enough for what one parent reads.
func (c *Core) workID() string {
	id := c.cfg.NewID()
	return "subagent_" + id[:min(12, len(id))]
}

// await makes an op wait for a session's snapshot. Each is asked for once.
func (c *Core) await(op *statusOp, s *session) {
	op.waits = s.id
	op.asked[s.id] = true
	c.ops = append(c.ops, op)
	c.askSnapshot(s)
}

// resumeOps carries on what waited for a snapshot.
func (c *Core) resumeOps(session string, failed bool) {
	waiting := c.ops
	c.ops = nil
	for _, op := range waiting {
		if op.waits != session {
			c.ops = append(c.ops, op)
			continue
		}
		op.waits, op.failed = "", failed
		c.settle(op)
	}
}

// dropOps answers the statuses that wait for a session that is deleted: of its
// own end nobody is told any more; of a child's, the forwarder asks again.
func (c *Core) dropOps(session string) {
	c.ops = slices.DeleteFunc(c.ops, func(op *statusOp) bool {
		own := op.ev.Session == session
		if own {
			c.reply(op.ev.Req, 204, nil)
		}
		return own
	})
	c.resumeOps(session, false)
}

// askAgain asks anew for those who wait, when the answer that they waited for
// fell out because the caches it was asked under are gone.
func (c *Core) askAgain(s *session) {
	if slices.ContainsFunc(c.ops, func(op *statusOp) bool { return op.waits == s.id }) {
		c.askSnapshot(s)
	}
	unfound := func(r running) bool { return !r.found }
	if slices.ContainsFunc(s.sends, func(o *send) bool { return unfound(o.running) }) ||
		slices.ContainsFunc(s.spawns, func(o *spawn) bool { return unfound(o.running) }) || s.wakes.stranded ||
		s.waitsForAgent() {
		c.identified(s)
	}
}

// answerStatus answers for a report: 2xx only if the result is queued, was
// before, or never can be here (invariant I5).
func (c *Core) answerStatus(op *statusOp, why lost) {
	s := c.session(op.ev.Session)
	switch why {
	case lostUntracked:
		// Nobody dispatched it here. That is an answer only when it is known
		// that it has no parent; a name without a parent is a child all the same.
		if op.failed || s.Identity.SubAgent != "" && s.Identity.ParentID == "" {
			c.refuseDelivery(op, "missing_work_entry", "The server could not say whose sub-agent this is.")
			return
		}
	case lostNoInbox:
		if c.parentWaits(op, s.Child.Work.Parent) {
			return
		}
	}
	c.reply(op.ev.Req, 204, nil)
}

// parentWaits decides what a result without an inbox means: a parent that is a
// child itself, or was deleted here, is not waited for; of any other the
// forwarder must try again, until the child's conversation says so: from then on
// the result is kept, and asking again is no use. It returns false when the
// answer is 204.
func (c *Core) parentWaits(op *statusOp, parent string) bool {
	if c.buried[parent] {
		return false
	}
	p := c.session(parent)
	if !p.Identity.Known && !p.view.gone && !op.asked[parent] {
		c.await(op, p)
		return true
	}
	if p.Identity.Known && p.Identity.ParentID != "" {
		return false
	}
	s := c.session(op.ev.Session)
	c.refusedEnd(s)
	if s.Child.Work.Mourned {
		return false
	}
	c.refuseDelivery(op, "missing_parent_inbox", "The parent session has not been here yet.")
	return true
}

func (c *Core) refuseDelivery(op *statusOp, reason, detail string) {
	c.reply(op.ev.Req, 503, encode(map[string]string{
		"error": "subagent_delivery_not_confirmed", "reason": reason, "detail": detail,
	}))
}
