package core

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// checks is what the invariants remember of a world: not what the core says of
// itself, but what it was told, made durable and let out. The numbers are those
// of the invariants in design and spec; each is in a file of its topic:
//
//	invariants_identity_test.go  I1 I2 I19
//	invariants_delivery_test.go  I3 to I9
//	invariants_wake_test.go      I10 I11 I12
//	invariants_rail_test.go      I13
//	invariants_turn_test.go      I14 I15 I18, the promise, one reply per request
//	invariants_world_test.go     I16 I17 I20 I21
type checks struct {
	// As the records say, of the journal that is valid.
	kids  map[string]childState
	inbox map[string][]result
	rails map[string]rail
	turns map[string]wire.Record // as they were opened
	ended map[string]bool

	// Of the step at work.
	records []wire.Record
	twice   bool // the same answer again

	identityChecks
	deliveryChecks
	wakeChecks
	turnChecks
	worldChecks
	edges map[string]railSeen
}

func newChecks() checks {
	return checks{
		kids: map[string]childState{}, inbox: map[string][]result{}, rails: map[string]rail{},
		turns: map[string]wire.Record{}, ended: map[string]bool{}, edges: map[string]railSeen{},
		identityChecks: newIdentityChecks(), deliveryChecks: newDeliveryChecks(), wakeChecks: newWakeChecks(),
		turnChecks: newTurnChecks(), worldChecks: newWorldChecks(),
	}
}

// forget: a new process begins.
func (w *world) forget() {
	w.records = nil
	clear(w.edges)
	w.identityBooted()
	w.wakeBooted()
	w.turnBooted()
	w.worldBooted()
}

// wiped: the journal is lost, and with it what was promised in it.
func (w *world) wiped() {
	lied := w.lied
	w.checks = newChecks()
	w.lied = lied
	for _, s := range w.server.sessions {
		w.forgotten[s.labels[labelDispatch]] = true
	}
}

// before sees an event before the core does.
func (w *world) before(ev Event) {
	w.identityBefore(ev)
	w.wakeBefore(ev)
	w.worldBefore(ev)
}

// batch sees all records of a step, before any of them is observed.
func (w *world) batch(ev Event, records []wire.Record) {
	w.records = records
	w.turnBatch(ev, records)
}

// observe sees each record, in order.
func (w *world) observe(ev Event, r wire.Record) {
	w.tally.hit("record " + string(r.Kind))
	switch r.Kind {
	case wire.RecChild:
		var next childState
		w.decode(r.State, &next)
		w.childChanges(ev, r.Session, w.kids[r.Session], next)
		w.kids[r.Session] = next
	case wire.RecResult:
		var res result
		w.decode(r.State, &res)
		w.resultQueued(r.Session, res)
		w.inbox[r.Session] = append(slices.Clone(w.inbox[r.Session]), res)
	case wire.RecDrained:
		var d drained
		w.decode(r.State, &d)
		w.drains(r.Session, d)
		w.inbox[r.Session] = slices.DeleteFunc(slices.Clone(w.inbox[r.Session]), func(res result) bool { return slices.Contains(d.Taken, res.N) })
	case wire.RecReturned:
		w.returned(ev, r.Session)
	case wire.RecRail:
		var line *rail
		w.decode(r.State, &line)
		delete(w.rails, r.Session)
		if line != nil {
			w.rails[r.Session] = *line
		} else {
			delete(w.edges, r.Session) // another line begins anew
		}
	case wire.RecOpened:
		w.turns[r.Turn] = r
		w.turnsOfParents(r)
	case wire.RecEnded:
		w.ended[r.Turn] = true
		w.ends(r)
		w.turnsOfParents(r)
	case wire.RecTook:
		w.joins(ev, r)
	case wire.RecGone:
		w.goes(r.Session)
	case wire.RecIdentity, wire.RecCursor, wire.RecItem:
		w.turnRecord(ev, r)
	}
}

func (w *world) decode(raw json.RawMessage, into any) {
	if err := json.Unmarshal(raw, into); err != nil {
		w.t.Fatalf("journal: %v in %s", err, raw)
	}
}

// effect sees each effect, in order, before it is carried out.
func (w *world) effect(ev Event, e Effect) {
	switch e := e.(type) {
	case Reply:
		w.replied(ev, e)
	case StartTurn:
		w.starts(ev, e)
	case ReadSnapshot:
		w.asksSnapshot(ev, e)
	case CloseHarness:
		w.closes(ev, e)
	case Publish:
		if bytes.Contains(e.Event, []byte(`"session.child_session.updated"`)) {
			w.tellsParent(e)
		}
		if e.Covers != "" {
			w.tellsEnd(e)
		}
	case PostWake:
		w.wakes(e)
	case Evaluate:
		w.judging(e)
	case CreateChild:
		w.names(e)
	}
}

// after sees what a step left.
func (w *world) after(ev Event, out Out) {
	w.identityAfter(ev)
	w.nothingIsHeldBack(ev)
	w.turnAfter(ev, out)
}

// replied sees an answer to a request.
func (w *world) replied(ev Event, e Reply) {
	q := w.requests[e.Req]
	w.must(q != nil, "reply", "a second answer to request %d, or one to none", e.Req)
	delete(w.requests, e.Req)
	w.identityReplied(q, e)
	w.deliveryReplied(ev, q, e)
	w.turnReplied(q, e)
	if q.kind == "read" {
		w.heard(q, e)
	}
}

// unheard sees an answer that the runner's death kept back: what it answers is
// done nevertheless.
func (w *world) unheard(e Effect) {
	if e, ok := e.(Reply); ok {
		w.identityReplied(w.requests[e.Req], e)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
