package core

import (
	"errors"

	"github.com/outrunner/outrunner/runner/wire"
)

// I1: the harness that is asked for a session is that of its override, else of
// its name in the tree of its agent, else of the root; for every order and every
// fault. Where the name is in no tree, or identity is unknown, none is asked.
//
// I2: while nothing is invalidated, a session's snapshot is read once.
//
// I19: a read that failed starts no other harness and ends none.
type identityChecks struct {
	overrides map[string]bool   // the runner was told of the override, and no reset came since
	lied      map[string]bool   // a fault said that it is not there, or has no name
	fresh     map[string]bool   // a snapshot was read since the last invalidation
	asking    map[string]uint64 // an open read, by its generation + 1
	harnesses map[string]string // that was asked last, since the last reset
}

func newIdentityChecks() identityChecks {
	return identityChecks{
		overrides: map[string]bool{}, lied: map[string]bool{}, fresh: map[string]bool{}, asking: map[string]uint64{}, harnesses: map[string]string{},
	}
}

func (w *world) identityBooted() {
	clear(w.fresh)
	clear(w.asking)
}

func (w *world) identityBefore(ev Event) {
	if ev, ok := ev.(SnapshotRead); ok {
		if w.asking[ev.Session] == ev.Gen+1 {
			delete(w.asking, ev.Session)
		}
	}
}

func (w *world) identityAfter(ev Event) {
	hear := func(session, override string) {
		if override != "" && override != "auto" {
			w.overrides[session] = true
		}
	}
	switch ev := ev.(type) {
	case Message:
		if ev.Revision != "" {
			w.fresh[ev.Session] = false
		}
		if s := w.core.sessions[ev.Session]; s != nil && s.Identity.Override != "" {
			hear(ev.Session, ev.Override)
		}
	case Init:
		if s := w.core.sessions[ev.Session]; ev.Envelope != nil && s != nil && s.closing == nil {
			hear(ev.Session, ev.Envelope.Snapshot.HarnessOverride)
		}
	case SnapshotRead:
		if s := w.core.sessions[ev.Session]; s != nil && s.gen == ev.Gen && ev.Err == nil {
			hear(ev.Session, ev.Snapshot.HarnessOverride)
			w.fresh[ev.Session] = ev.Snapshot.AgentID != ""
		}
	}
}

func (w *world) identityReplied(q *request, _ Reply) {
	if q.kind == "reset" || q.kind == "delete" {
		delete(w.overrides, q.session)
		delete(w.fresh, q.session)
		delete(w.harnesses, q.session)
	}
}

func (w *world) starts(ev Event, e StartTurn) {
	w.startsProgram(ev, e)
	truth := w.server.sessions[e.Start.Session]
	node := w.server.trees[truth.agent]
	if truth.sub != "" {
		node = node.Find(truth.sub)
	}
	if w.lied[truth.id] && (node == nil || e.Start.Harness == wire.Canon(w.server.trees[truth.agent].Harness)) {
		return // it was told that the session has no name
	}
	w.must(node != nil, "I1", "%s runs, though the tree has no %q", truth.id, truth.sub)
	declared, override := wire.Canon(node.Harness), wire.Canon(truth.override)
	ok := e.Start.Harness == declared && !w.overrides[truth.id] || truth.override != "" && e.Start.Harness == override
	w.must(ok, "I1", "%s runs %s; declared is %s, the override %q (told: %v)", truth.id, e.Start.Harness, declared, override, w.overrides[truth.id])
	if before := w.harnesses[truth.id]; before != "" && failedRead(ev) {
		w.must(before == e.Start.Harness, "I19", "%s ran %s, and a failed read made it %s", truth.id, before, e.Start.Harness)
	}
	w.harnesses[truth.id] = e.Start.Harness
}

// failedRead tells whether an event is a read of an identity that told nothing.
func failedRead(ev Event) bool {
	var err error
	switch ev := ev.(type) {
	case SnapshotRead:
		err = ev.Err
	case SpecRead:
		err = ev.Err
	case Scanned:
		err = ev.SnapshotErr
	}
	return err != nil && !errors.Is(err, wire.ErrNotFound)
}

func (w *world) closes(ev Event, e CloseHarness) {
	// A 404 before it is reason enough.
	w.must(!failedRead(ev) || w.lied[e.Session] || w.server.sessions[e.Session].gone, "I19", "a failed read ends the program of %s", e.Session)
}

func (w *world) asksSnapshot(ev Event, e ReadSnapshot) {
	w.must(w.asking[e.Session] != e.Gen+1, "I2", "the snapshot of %s is being read already", e.Session)
	w.asking[e.Session] = e.Gen + 1
	if _, lease := ev.(ChildrenRead); lease {
		return // a child that is not listed is asked for itself
	}
	w.must(!w.fresh[e.Session], "I2", "the snapshot of %s is known and read again", e.Session)
}
