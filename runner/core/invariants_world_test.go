package core

import (
	"regexp"
	"strconv"
	"strings"
)

// I16: a session that was deleted is mentioned nowhere.
//
// I17: the numbers of children without a name rise, and are above those of the
// children that were listed.
//
// I20: over a restart, and over the loss of the journal, every dispatch that the
// server knows of is somewhere: read, queued, delivered, awaited, or not begun.
//
// I21: an interrupt settles no work but the one it was raised for.
type worldChecks struct {
	numbers map[string]int  // parent + agent -> the last one, in this process
	raised  map[string]bool // session + work that an interrupt was raised for
	deleted map[string]bool // sessions that were deleted here, at some time
}

func newWorldChecks() worldChecks {
	return worldChecks{numbers: map[string]int{}, raised: map[string]bool{}, deleted: map[string]bool{}}
}

func (w *world) worldBooted() {
	clear(w.numbers)
	clear(w.raised)
}

func (w *world) worldBefore(ev Event) {
	if ev, ok := ev.(Control); ok && (ev.Kind == "interrupt" || ev.Kind == "stop_session") {
		if work := w.kids[ev.Session].Work; work != nil && !work.State.terminal() {
			w.raised[ev.Session+" "+work.ID] = true
		}
	}
	if ev, ok := ev.(SiblingsListed); ok && w.core.sessions[ev.Session] != nil {
		w.listed(ev)
	}
}

// interrupts checks work that becomes cancelled.
func (w *world) interrupts(ev Event, child, id string) {
	switch ev := ev.(type) {
	case TimerFired:
		w.must(w.raised[child+" "+id], "I21", "an interrupt cancels %s of %s, and was raised for other work", id, child)
	case Status:
		if ev.Session == child && ev.Outcome == "" {
			w.must(w.raised[child+" "+id], "I21", "a bare idle cancels %s of %s, and the interrupt was of other work", id, child)
		}
	}
}

// goes sees a session deleted.
func (w *world) goes(id string) {
	w.deleted[id] = true
	delete(w.kids, id)
	delete(w.inbox, id)
	delete(w.rails, id)
	delete(w.cursors, id)
	delete(w.queuedAt, id)
	delete(w.taken, id)
	delete(w.byTurn, id)
	delete(w.edges, id)
	delete(w.asking, id)
	delete(w.waking, id)
	for item, session := range w.server.owner {
		if session == id { // who uses the name again, may run it again
			delete(w.accepted, item)
			delete(w.missed, item)
			delete(w.outcomes, item)
			delete(w.started, item)
			delete(w.ever, item)
		}
	}
	for key := range w.numbers {
		if strings.HasPrefix(key, id+" ") {
			delete(w.numbers, key)
		}
	}
	for work, told := range w.payloads {
		if child := told[0].Child; child == id || w.server.sessions[child].parent == id {
			delete(w.payloads, work)
			delete(w.retired, work)
		}
	}
	for key := range w.answers {
		if strings.HasPrefix(key, id+" ") {
			delete(w.answers, key)
		}
	}
	for turn, r := range w.turns {
		if !w.ended[turn] && r.Session == id {
			delete(w.turns, turn)
		}
	}
	w.must(w.core.sessions[id] == nil, "I16", "%s was deleted and is there", id)
	for other, s := range w.core.sessions {
		w.must(s.Child.Work == nil || s.Child.Work.Parent != id, "I16", "%s works for %s, which was deleted", other, id)
		w.must(s.Rail == nil || s.Rail.Parent != id, "I16", "%s has a line to %s, which was deleted", other, id)
	}
	for _, op := range w.core.ops {
		w.must(op.waits != id && op.ev.Session != id, "I16", "a status of %s waits for %s, which was deleted", op.ev.Session, id)
	}
}

var numbered = regexp.MustCompile(`^([a-z]+)-(\d+)$`)

// numberOf is the number in a name that was made here, 0 in any other.
func numberOf(agent, name string) int {
	m := numbered.FindStringSubmatch(name)
	if m == nil || m[1] != agent {
		return 0
	}
	n, _ := strconv.Atoi(m[2])
	return n
}

// names sees which name a child is to have.
func (w *world) names(e CreateChild) {
	_, name, _ := strings.Cut(e.Child.Title, ":")
	if n := numberOf(e.Child.SubAgentName, name); n > 0 {
		key := e.Session + " " + e.Child.SubAgentName
		w.must(n > w.numbers[key], "I17", "%s of %s is numbered after %d", name, e.Session, w.numbers[key])
		w.numbers[key] = n
	}
}

// listed sees which children there are. The first listing of an agent's children
// counts: a name that is taken after it, the server refuses.
func (w *world) listed(ev SiblingsListed) {
	s := w.core.sessions[ev.Session].sendOf(ev.Key)
	if s == nil || ev.Err != nil {
		return
	}
	key := ev.Session + " " + s.agent
	if _, counted := w.numbers[key]; counted {
		return
	}
	w.numbers[key] = 0
	for _, kid := range ev.Children {
		if kid.Tool == s.agent {
			w.numbers[key] = max(w.numbers[key], numberOf(s.agent, kid.SessionName))
		}
	}
}

// noDispatchIsLost is I20; the world is at rest and every parent has had its
// init.
func (w *world) noDispatchIsLost() {
	for _, id := range w.server.order {
		s := w.server.sessions[id]
		d := s.labels[labelDispatch]
		p := w.server.sessions[s.parent]
		if d == "" || s.gone || p == nil || p.gone || p.foreign || w.deleted[p.id] || s.foreign || strings.HasSuffix(s.wrapper, "-ui-subagent") ||
			w.lied[id] || w.lied[p.id] || s.labels[labelDelivered] == d || !s.begun[d] {
			continue
		}
		kid := w.kids[id]
		// A task that went into a turn that ran has a dispatch of its own; where
		// the server missed it, the receipt names both.
		covered := kid.Work != nil && (s.stamps[kid.Work.ID] || kid.Work.Unstamped) || kid.Drained == d || kid.Receipt == d || w.retired[d]
		w.must(covered, "I20", "the dispatch %s of %s is nowhere: %+v", d, id, kid)
	}
}
