package core

import (
	"slices"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// I3: a finished turn is one payload, however often it is told; a second one of
// the same work is only a failure over a completion or a real end over a guess,
// and there is no third.
//
// I4: once delivered, an entry changes in those two ways only, until it is read
// or dispatched anew.
//
// I5: a 204 for an end that settles means that the result is queued, was
// delivered or read, is kept for a parent that is a child itself or was deleted
// here or that its conversation has named, or that nobody waits for it.
//
// I6: a session without a parent yields no payload and no wake, and a 503 only
// while nobody can say that it has none. The same of a harness's inner children.
//
// I7: what is not delivered is the latest word, but failed stands over completed
// and both over cancelled; and nothing is held back once there is an inbox.
//
// I8: what was read is not delivered again until it is dispatched anew.
//
// I9: a child has an entry or was read, never both.
type deliveryChecks struct {
	payloads map[string][]result // work -> what was queued
	retired  map[string]bool     // works whose result was read for good
	// forgotten are the dispatches that a journal which is lost knew of: nobody
	// can tell any more whether their tasks were sent.
	forgotten map[string]bool
}

func newDeliveryChecks() deliveryChecks {
	return deliveryChecks{payloads: map[string][]result{}, retired: map[string]bool{}, forgotten: map[string]bool{}}
}

func rank(s workState) int {
	return slices.Index([]workState{workCancelled, workCompleted, workFailed}, s)
}

// childChanges sees an entry change.
func (w *world) childChanges(ev Event, child string, old, next childState) {
	w.must(next.Work == nil || next.Drained == "", "I9", "%s has work and was read: %+v", child, next)
	was, is := old.Work, next.Work
	if is != nil {
		w.must(is.Parent != child, "I9", "%s is its own parent", child)
	}
	if was == nil {
		return
	}
	if _, adopted := ev.(TextRead); adopted && is != nil && is.State.terminal() {
		known := !w.forgotten[is.ID] && !w.deleted[is.Parent]
		w.must(w.server.sessions[child].begun[is.ID] || !known, "I3", "%s of %s ends with an older text, and was never sent", is.ID, child)
	}
	switch {
	case was.Delivered && is == nil:
		w.must(next.Drained == was.ID && w.wasDrained() || w.dies(was.Parent), "I4", "the delivered work %s of %s is gone in %T", was.ID, child, ev)
	case was.Delivered && is.ID == was.ID:
		same := is.State == was.State && is.Output == was.Output && is.Guess == was.Guess
		failed := was.State == workCompleted && is.State == workFailed
		real := was.Guess && !is.Guess && is.State != workCancelled
		w.must(same || failed || real, "I4", "the delivered work %s of %s became %s", was.ID, child, is.State)
	case was.State.terminal() && is != nil && is.ID == was.ID:
		w.must(was.Guess || rank(is.State) >= rank(was.State), "I7", "%s of %s went from %s to %s", was.ID, child, was.State, is.State)
	}
	if is != nil && is.ID == was.ID && is.State == workCancelled && was.State != workCancelled {
		w.interrupts(ev, child, is.ID)
	}
}

func (w *world) wasDrained() bool {
	return slices.ContainsFunc(w.records, func(r wire.Record) bool { return r.Kind == wire.RecDrained })
}

// dies tells whether a session is deleted in this step.
func (w *world) dies(session string) bool {
	return slices.ContainsFunc(w.records, func(r wire.Record) bool { return r.Kind == wire.RecGone && r.Session == session })
}

func (w *world) resultQueued(parent string, res result) {
	truth := w.server.sessions[res.Child]
	w.must(w.lied[res.Child] || truth != nil && truth.parent == parent, "I6", "%s is told of the end of %s, a child of %q", parent, res.Child, truth.parent)
	w.must(w.lied[res.Child] || !strings.HasSuffix(truth.wrapper, "-ui-subagent"), "I6", "the end of the inner child %s is delivered", res.Child)
	kid := w.kids[res.Child]
	w.must(kid.Drained == "" && !w.retired[res.WorkID], "I8", "%s of %s was read, and comes again", res.WorkID, res.Child)
	work := kid.Work
	w.must(work != nil && work.ID == res.WorkID && work.State == res.Status && work.Output == res.Output, "I7", "%+v is told as %+v", work, res)
	before := w.payloads[res.WorkID]
	switch len(before) {
	case 0:
		w.must(true, "I3", "")
	case 1:
		ok := before[0].Status == workCompleted && res.Status == workFailed || before[0].Guess && !res.Guess && res.Status != workCancelled
		w.must(ok, "I3", "%s of %s is told as %s, then as %s", res.WorkID, res.Child, before[0].Status, res.Status)
		w.tally.hit("row second payload")
	default:
		w.must(false, "I3", "%s of %s is told a third time: %+v, then %+v", res.WorkID, res.Child, before, res)
	}
	w.payloads[res.WorkID] = append(slices.Clone(before), res)
	w.queued(parent, res)
}

// nothingIsHeldBack is the second half of I7.
func (w *world) nothingIsHeldBack(ev Event) {
	for _, id := range sortedKeys(w.kids) {
		work := w.kids[id].Work
		if work == nil || !work.State.terminal() || work.Delivered {
			continue
		}
		p := w.core.sessions[work.Parent]
		w.must(p == nil || !p.hasInbox(), "I7", "the result of %s waits in %T, and %s has an inbox", id, ev, work.Parent)
	}
}

// deliveryReplied checks what a forwarder is answered.
func (w *world) deliveryReplied(ev Event, q *request, e Reply) {
	st, ok := q.ev.(Status)
	if !ok {
		return
	}
	truth := w.server.sessions[q.session]
	s := w.core.sessions[q.session]
	if e.Status == 503 {
		read, isRead := ev.(SnapshotRead)
		unknown := isRead && read.Err != nil && read.Session == q.session
		w.must(truth.parent != "" || unknown, "I6", "the end of %s, which has no parent, is refused", q.session)
		return
	}
	w.must(e.Status == 204, "I5", "a status is answered %d", e.Status)
	settles := st.Status == "failed" || st.Status == "idle" && (st.Outcome != "" || st.Completed || s == nil || s.warm != claudeNative)
	if !settles || w.dies(q.session) || w.dies(truth.parent) || truth.parent == "" || truth.gone || w.lied[q.session] || w.lied[truth.parent] || strings.HasSuffix(truth.wrapper, "-ui-subagent") {
		return
	}
	kid := w.kids[q.session]
	if kid.Work != nil && kid.Work.State == workStamped || s != nil && s.dispatches > 0 && !sameRequest(ev, st) {
		return // it was dispatched since: this was the end of an older turn
	}
	kept := kid.Drained != "" || kid.Work != nil && (kid.Work.Delivered ||
		kid.Work.State.terminal() && (kid.Work.Mourned || w.core.buried[kid.Work.Parent] || w.server.sessions[kid.Work.Parent].parent != ""))
	w.must(kept, "I5", "the end of %s is taken, and is nowhere: %+v", q.session, kid)
	// Of several that waited together the last one counts.
	if work := kid.Work; sameRequest(ev, st) && work != nil && !work.Delivered && st.Output != nil && *st.Output != "" && st.Outcome == wire.Failed {
		w.must(work.State == workFailed && work.Output == *st.Output, "I7", "the latest word of %s is not kept: %+v", q.session, work)
	}
}

// sameRequest tells whether a status is answered in the step in which it came.
func sameRequest(ev Event, st Status) bool {
	now, ok := ev.(Status)
	return ok && now.Req == st.Req
}
