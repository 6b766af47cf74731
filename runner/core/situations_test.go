package core

import (
	"errors"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// situations notes which preconditions of the rows of the scenario table an event
// meets, before the core sees it.
func (w *world) situations(ev Event) {
	switch ev := ev.(type) {
	case Status:
		if ev.Status == "idle" || ev.Status == "failed" {
			w.tally.hit("row " + w.endOf(ev))
		}
	case Message:
		w.tally.hit("row " + w.messageOf(ev))
	case Scanned:
		w.tally.hit("row " + w.scanOf(ev))
	case TurnEnded:
		w.tally.hit("row " + w.turnOf(ev))
	case ToolCall:
		if ev.Name == toolInbox {
			w.tally.hit("row " + w.readingOf(ev))
		}
	case ChildFound:
		w.tally.hit("row " + w.sendOf(ev))
	case ChildCreated:
		w.createdOf(ev)
	case ChildrenRead:
		w.childrenOf(ev)
	}
}

// endOf is what a forwarder's word on an end meets.
func (w *world) endOf(ev Status) string {
	s := w.core.sessions[ev.Session]
	truth := w.server.sessions[ev.Session]
	bare := ev.Status == "idle" && ev.Outcome == "" && !ev.Completed
	if s == nil {
		if truth.parent != "" && w.core.buried[truth.parent] {
			return "S65 the parent was deleted"
		}
		return "S5 S8 the first that is heard of the session"
	}
	parent := w.core.sessions[truth.parent]
	inbox := parent != nil && parent.hasInbox()
	work := s.Child.Work
	switch {
	case truth.parent == "":
		return "S10 S51 no parent"
	case truth.wrapper == "codex-native-ui-subagent":
		return "S73 an inner child"
	case w.waitsForSnapshot(ev.Session):
		return "S76 an end while the snapshot is read for another"
	case s.Child.Drained != "":
		return "S9 S64 it was read"
	case work == nil && bare && s.warm == claudeNative:
		return "S160 a bare idle, no entry"
	case work == nil && !inbox:
		return "S8 no entry, no inbox"
	case work == nil:
		return "S5 no entry"
	case s.intr != "" && s.intr != work.ID:
		return "S174 an interrupt of other work"
	case s.intr != "":
		return "S172 an interrupt is pending"
	case work.Delivered && work.Guess:
		return "S198 a guess was delivered"
	case work.Delivered && work.State == workCompleted && ev.Status == "failed":
		return "S44 a failure after a completion"
	case work.Delivered:
		return "S43 it was delivered"
	case work.State.terminal() && inbox:
		return "undelivered, and there is an inbox"
	case work.State.terminal():
		return "S59 S168 undelivered, and another end"
	case bare && s.warm == claudeNative:
		return "S159 a bare idle"
	case !inbox && w.server.sessions[truth.parent].parent != "":
		return "S178 no inbox, the parent is a child"
	case !inbox:
		return "S57 no inbox"
	case work.State == workStamped:
		return "S77 its task is being posted"
	}
	return "S42 " + string(work.State)
}

func (w *world) waitsForSnapshot(session string) bool {
	for _, op := range w.core.ops {
		if op.waits == session {
			return true
		}
	}
	return false
}

func (w *world) messageOf(ev Message) string {
	s := w.core.sessions[ev.Session]
	switch {
	case s == nil:
		return "S1 a message to an unknown session"
	case s.closing != nil:
		return "a message while the session closes"
	case s.isNamed(ev.ItemID):
		return "S218 a message that a turn names"
	case s.isQueued(ev.ItemID):
		return "S219 a message that is queued"
	case s.live:
		return "S92 a message in a turn"
	case s.Open != nil:
		return "a message while a dead turn is open"
	case s.view.gone:
		return "a message after a 404"
	case ev.Override == "auto":
		return "S32 override auto"
	case ev.Override != "":
		return "S30 an override"
	case s.Identity.SubAgent != "" && !s.Identity.Known:
		return "S35 a name that outlived a reset"
	case !s.Identity.settled():
		return "S12 identity is not known"
	case s.Identity.Override != "":
		return "S31 after an override"
	}
	return "a message at rest"
}

func (w *world) scanOf(ev Scanned) string {
	s := w.core.sessions[ev.Session]
	switch {
	case s == nil:
		return "a scan of a session that was deleted"
	case s.gen != ev.Gen:
		return "a scan under older caches"
	case ev.Tunnel != w.core.tunnel:
		return "S148 a scan of an older connection"
	case errors.Is(ev.SnapshotErr, wire.ErrNotFound):
		return "A2 a scan finds nothing"
	case ev.SnapshotErr != nil:
		return "S139 a scan cannot read the snapshot"
	case ev.ItemsErr != nil:
		return "S130 a scan cannot read the items"
	case ev.Restarted:
		return "a scan after a stale cursor"
	case ev.Snapshot.RunnerID == "other":
		return "A2 a scan of a session of another runner"
	case s.live:
		return "A3 S136 a scan in a turn"
	case s.Open != nil && s.Open.Output:
		return "A6 a scan finds a dead turn that spoke"
	case s.Open != nil:
		return "A6 a scan finds a dead turn that did not speak"
	case ev.After != s.Cursor:
		return "a scan that a forward has overtaken"
	case !s.known():
		return "S151 a scan of an unknown session"
	case len(ev.Items) == 0:
		return "S126 nothing new"
	case isUser(ev.Items[len(ev.Items)-1]) && isMarker(ev.Items[len(ev.Items)-1]):
		return "S142 a marker is last"
	case isUser(ev.Items[len(ev.Items)-1]):
		return "S127 a message is last"
	case ev.Items[len(ev.Items)-1].ResponseID == "resp_other":
		return "S127 another's answer is last"
	}
	return "S141 our own items"
}

func (w *world) turnOf(ev TurnEnded) string {
	s := w.core.sessions[ev.Session]
	switch {
	case s == nil || s.Open == nil || s.Open.ID != ev.Turn:
		return "a turn ends that is not in the slot"
	case s.closing != nil:
		return "a turn ends for a delete or reset"
	case len(s.stopped) > 0:
		return "a turn ends for a stop"
	case len(s.waiting) > 0:
		return "S95 a turn ends for an interrupt"
	case s.Child.Work == nil && w.server.sessions[ev.Session].parent != "":
		return "S87 S100 a child's turn ends, no entry"
	case s.Child.Work != nil && ev.End.Outcome == wire.Completed:
		return "S86 S93 a child's turn completes"
	case s.Child.Work != nil:
		return "S90 a child's turn fails"
	case len(s.Queued) > 0:
		return "S92 a turn ends, and more waits"
	case len(s.Inbox.Queue) > 0:
		return "S104 a parent's turn ends, and results wait"
	}
	return "a turn ends"
}

func (w *world) readingOf(ev ToolCall) string {
	s := w.core.sessions[ev.Session]
	switch {
	case s == nil:
		return "S195 the first that is heard is a reading"
	case s.Inbox.answered(ev.Op) != nil:
		return "S226 an operation that was answered"
	case s.reading != nil:
		return "a reading beside another"
	case len(s.Inbox.Queue) == 0:
		return "S119 a reading of nothing"
	case len(s.Inbox.Queue) == 1:
		return "S115 a reading of one"
	}
	return "S201 a reading of several"
}

func (w *world) sendOf(ev ChildFound) string {
	p := w.core.sessions[ev.Session]
	var s *send
	if p != nil {
		s = p.sendOf(ev.Key)
	}
	switch {
	case p != nil && slices.ContainsFunc(p.cancels, func(a canceling) bool { return a.key == ev.Key }):
		return "S125 a stop of one that is not known"
	case s == nil:
		return "an answer to a send that is gone"
	case ev.Err != nil:
		return "a send whose child cannot be looked for"
	case !ev.Found && s.args.SessionID != "":
		return "S122 a send to nobody"
	case !ev.Found:
		return "S211 a send to a new child"
	case ev.Child.Labels[labelClosed] == "true":
		return "S122 a send to a closed child"
	}
	work := w.kids[ev.Child.ID].Work
	switch {
	case work == nil && ev.Child.Busy:
		return "S207 a send to a busy child without an entry"
	case work == nil:
		return "S208 a send to an idle child"
	case work.State == workStamped || work.State == workLaunching:
		return "S205 a send to a child that starts"
	case work.State.terminal() && !work.Delivered:
		return "a send to a child whose result waits"
	case work.State.terminal():
		return "S63 S202 a send to a child whose result is not read"
	}
	return "S206 a send into a turn"
}

// createdOf notes what the making of a child meets.
func (w *world) createdOf(ev ChildCreated) {
	p := w.core.sessions[ev.Session]
	if p == nil || p.sendOf(ev.Key) == nil {
		return
	}
	switch s := p.sendOf(ev.Key); {
	case errors.Is(ev.Err, wire.ErrConflict) && s.ordinal != 0:
		w.tally.hit("row S212 a number that is taken")
	case errors.Is(ev.Err, wire.ErrConflict):
		w.tally.hit("row a title that is taken")
	case ev.Err == nil && s.ordinal != 0:
		w.tally.hit("row S212 a child with a number")
	}
}

// childrenOf notes what a listing of children meets.
func (w *world) childrenOf(ev ChildrenRead) {
	if ev.Err != nil {
		w.tally.hit("row S189 the children cannot be listed")
		return
	}
	for _, c := range ev.Children {
		d, v := c.Labels[labelDispatch], c.Labels[labelDelivered]
		kid := w.kids[c.ID]
		ended := c.Status == "completed" || c.Status == "failed"
		switch {
		case d == "":
			w.tally.hit("row C8 a child that was never dispatched")
		case kid.Drained != "" && v != kid.Drained:
			w.tally.hit("row C3 a receipt is owed")
		case d == v:
			w.tally.hit("row S182 a child that was read")
		case kid.Work != nil && kid.Work.Delivered:
			w.tally.hit("row C2 a child whose result waits")
		case kid.Work != nil && kid.Work.State == workStamped:
			w.tally.hit("row C4 a child whose task may not be sent")
		case kid.Work != nil && kid.Work.State == workWaiting:
			w.tally.hit("row S185 a child that is awaited")
		case kid.Work != nil:
			w.tally.hit("row C5 a child at work")
		case c.ErrorCode == "runner_disconnected":
			w.tally.hit("row S184 a child that was cut off")
		case ended && c.Status == "failed":
			w.tally.hit("row S183 a child that failed elsewhere")
		case ended:
			w.tally.hit("row S181 a child that completed elsewhere")
		case c.Status == "in_progress":
			w.tally.hit("row S184 a child in progress")
		default:
			w.tally.hit("row S182 a child that has not begun")
		}
	}
}
