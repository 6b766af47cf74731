package core

import (
	"slices"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// I14: a scan queues each item once and passes none over; the same answer again
// changes nothing; it starts at most one turn, never beside another; what fails
// in one session is no matter of another.
//
// I15: a message that was answered 202, and one that was missed, is answered by
// exactly one turn, and its command is started once, unless its harness resumes.
//
// I18: every turn that was opened ends, and at rest no slot is taken.
//
// Promise: nothing is told before what it depends on. Reply: every request is
// answered once.
type turnChecks struct {
	accepted map[string]string // item -> session, answered 202
	missed   map[string]string // item -> session, found by a scan as work
	outcomes map[string]int    // item -> turns that ended over it
	started  map[string]int    // item -> how often its command began in this process
	ever     map[string]int    // the same, in all
	told     map[string]string // turn -> how its end was told
	acked    map[string]bool   // stored source ids
	cursors  map[string]string
}

func newTurnChecks() turnChecks {
	return turnChecks{
		accepted: map[string]string{}, missed: map[string]string{}, outcomes: map[string]int{}, started: map[string]int{},
		ever: map[string]int{}, told: map[string]string{}, acked: map[string]bool{}, cursors: map[string]string{},
	}
}

func (w *world) turnBooted() { clear(w.started) }

// turnBatch sees the records of a step at once.
func (w *world) turnBatch(ev Event, records []wire.Record) {
	scan, ok := ev.(Scanned)
	if !ok {
		return
	}
	opened := 0
	for _, r := range records {
		same := r.Kind == wire.RecCursor && r.Cursor == w.cursors[r.Session]
		w.must(!w.twice || same, "I14", "the same listing again changes %s", said{it: r})
		if r.Kind == wire.RecOpened {
			opened++
		}
		if scan.SnapshotErr != nil || scan.ItemsErr != nil {
			w.must(r.Session == scan.Session || r.Kind == wire.RecResult || r.Kind == wire.RecChild, "I14", "a failed scan of %s changes %s", scan.Session, r.Session)
		}
	}
}

func (w *world) turnRecord(ev Event, r wire.Record) {
	switch r.Kind {
	case wire.RecItem:
		if r.ItemState != wire.ItemQueued {
			delete(w.missed, r.Item)
			if _, scan := ev.(Scanned); scan && w.answeredElsewhere(r.Session, r.Item) {
				delete(w.accepted, r.Item) // it has its outcome, by another runner
			}
			break
		}
		if r.Source == sourceScan {
			w.must(w.missed[r.Item] == "" || w.outcomes[r.Item] == 0, "I14", "%s is queued by a scan again", r.Item)
			w.missed[r.Item] = r.Session
		}
	case wire.RecCursor:
		if scan, ok := ev.(Scanned); ok {
			w.cursorMoves(scan, r)
		}
		w.cursors[r.Session] = r.Cursor
	}
}

// cursorMoves checks that a cursor passes no message that is work: of a session
// that the journal knew, beyond its old place, not answered elsewhere. A program
// in a terminal reads its messages itself.
func (w *world) cursorMoves(ev Scanned, r wire.Record) {
	s := w.core.sessions[r.Session]
	old := w.cursors[r.Session]
	if s == nil || ev.Restarted || s.view.foreign || old == "" || old != ev.After || w.inTerminals(r.Session) {
		return
	}
	for n, it := range ev.Items {
		later := ev.Items[n:]
		answered := slices.ContainsFunc(later, func(o wire.Item) bool { return isAnswerOf(o) && !s.isOurs(o) })
		marker := isMarker(it)
		if isUser(it) && !answered && !marker {
			w.must(s.isQueued(it.ID) || s.isNamed(it.ID) || w.outcomes[it.ID] > 0, "I14", "the cursor of %s passes %s", r.Session, it.ID)
		}
	}
}

// inTerminals tells whether a session runs in a terminal, or may have run in
// one: an override is heard of late, and forgotten by a reset.
func (w *world) inTerminals(session string) bool {
	truth := w.server.sessions[session]
	harnesses := []string{truth.override}
	if node := w.server.trees[truth.agent].Find(truth.sub); node != nil {
		harnesses = append(harnesses, node.Harness)
	}
	return slices.ContainsFunc(harnesses, func(h string) bool {
		traits, _ := modelTraits(wire.Canon(h))
		return traits.Native
	})
}

// answeredElsewhere tells whether an answer follows that is not ours: another
// runner's, or one of a journal that is lost.
func (w *world) answeredElsewhere(session, item string) bool {
	s, live := w.server.sessions[session], w.core.sessions[session]
	at := s.position(item)
	return at >= 0 && slices.ContainsFunc(s.items[at:], func(it wire.Item) bool { return isAnswerOf(it) && !live.isOurs(it) })
}

func isMarker(it wire.Item) bool {
	return strings.HasPrefix(wire.Text(it.Content), "[System: interrupted]")
}

func isAnswerOf(it wire.Item) bool {
	return it.Type == "message" && it.Role == "assistant" || it.Type == "function_call" || it.Type == "function_call_output" || it.Type == "error"
}

func (w *world) ends(r wire.Record) {
	if r.End.Outcome == wire.Resumed {
		return
	}
	w.stopped[r.Session] = r.End.Outcome == wire.Cancelled
	for _, id := range w.turns[r.Turn].Inputs {
		w.outcomes[id]++
		w.must(w.outcomes[id] == 1, "I15", "%s has a second outcome, by %s", id, r.Turn)
	}
}

func (w *world) startsProgram(ev Event, e StartTurn) {
	w.turnAt[e.Start.Session] = w.clock
	_, journaled := w.turns[e.Start.Turn]
	w.must(journaled, "promise", "%s is started and not journaled", e.Start.Turn)
	for _, p := range w.programs {
		w.must(p.session != e.Start.Session || p.closing, "I14", "%s starts beside %s", e.Start.Turn, p.turn)
	}
	w.must(e.Start.AgentID == w.core.sessions[e.Start.Session].Identity.AgentID, "promise", "%s is begun for the agent %q", e.Start.Turn, e.Start.AgentID)
	traits, _ := modelTraits(e.Start.Harness)
	w.must(len(e.Start.Inputs) <= 1 || !traits.OneMessagePerTurn, "promise", "%s is given %d commands", e.Start.Turn, len(e.Start.Inputs))
	for _, in := range e.Start.Inputs {
		if in.ItemID == "" {
			w.must(!traits.OneMessagePerTurn, "promise", "a text of ours is run as a command in %s", e.Start.Session)
			continue
		}
		w.must(len(in.Content) > 0, "promise", "the text of %s does not reach its program", in.ItemID)
		w.started[in.ItemID]++
		w.ever[in.ItemID]++
		w.must(w.started[in.ItemID] == 1, "I15", "%s is started twice in one process", in.ItemID)
		w.must(w.ever[in.ItemID] == 1 || traits.Resume, "I15", "%s is started again, and its harness cannot resume", in.ItemID)
	}
}

func (w *world) tellsEnd(e Publish) {
	w.must(w.ended[e.Covers], "promise", "the end of %s is told and not journaled", e.Covers)
	for _, entry := range w.core.sessions[e.Session].Outbox {
		w.must(entry.Turn != e.Covers, "promise", "the end of %s is told before %s is stored", e.Covers, entry.Out.SourceID)
	}
	var ev struct {
		Type string `json:"type"`
	}
	w.decode(e.Event, &ev)
	before := w.told[e.Covers]
	w.must(before == "" || before == ev.Type, "promise", "%s ended as %s, and as %s", e.Covers, before, ev.Type)
	w.told[e.Covers] = ev.Type
}

func (w *world) turnReplied(q *request, e Reply) {
	if q.kind == "message" && e.Status == 202 {
		w.accepted[q.item] = q.session
	}
}

func (w *world) turnAfter(ev Event, out Out) {
	scan, ok := ev.(Scanned)
	if !ok {
		return
	}
	started := 0
	for _, e := range out.Effects {
		if e, ok := e.(StartTurn); ok {
			started++
			w.must(e.Start.Session == scan.Session, "I14", "a scan of %s starts %s", scan.Session, e.Start.Session)
		}
	}
	w.must(started <= 1, "I14", "a scan of %s starts %d turns", scan.Session, started)
}

// everythingIsAnswered is I15 and I18; the world is at rest.
func (w *world) everythingIsAnswered() {
	for _, item := range sortedKeys(w.accepted) {
		if truth := w.server.sessions[w.accepted[item]]; truth.gone || truth.foreign {
			continue // there is nobody to tell, or somebody else tells
		}
		w.must(w.outcomes[item] == 1, "I15", "%s of %s was taken and has %d outcomes", item, w.accepted[item], w.outcomes[item])
	}
	for _, item := range sortedKeys(w.missed) {
		if truth := w.server.sessions[w.missed[item]]; truth.gone || truth.foreign || truth.archived || w.lied[truth.id] {
			continue
		}
		w.must(w.outcomes[item] == 1, "I15", "%s was found and has %d outcomes", item, w.outcomes[item])
	}
	for _, turn := range sortedKeys(w.turns) {
		w.must(w.ended[turn], "I18", "%s never ends", turn)
	}
	for id, s := range w.core.sessions {
		w.must(s.Open == nil && !s.live, "I18", "the slot of %s is taken", id)
	}
	for _, r := range w.requests {
		w.must(r.gone, "reply", "a %s of %s is never answered: %+v", r.kind, r.session, r.ev)
	}
}
