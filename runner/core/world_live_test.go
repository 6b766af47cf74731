package core

import (
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// toProgram is what a program at work is sent.
func (w *world) toProgram(e SendToTurn) {
	for _, p := range w.programs {
		if p.turn == e.Turn && e.Msg.Type == wire.Steer {
			w.tally.hit("row a message that may join a turn")
			p.sent = append(p.sent, e.Msg.InjectionID)
		}
	}
}

// joins sees a message join a turn.
func (w *world) joins(ev Event, r wire.Record) {
	f, ok := ev.(Frame)
	w.must(ok && f.Consumed != "" && f.Turn == r.Turn, "promise", "%s joins %s, and no program said so", r.Item, r.Turn)
	turn := w.turns[r.Turn]
	turn.Inputs = append(turn.Inputs[:len(turn.Inputs):len(turn.Inputs)], r.Item)
	w.turns[r.Turn] = turn
}

// another gives a session a message while its program is at work, which takes it
// if it was sent it.
func (w *world) another(s *stored) {
	w.works(s)
	w.works(s)
	for _, p := range w.programs {
		if n := len(p.sent); n > 0 && p.session == s.id {
			p.pieces++
			w.step(Frame{Session: p.session, Turn: p.turn, N: p.pieces - 1, Consumed: p.sent[n-1]})
			return
		}
	}
}

// putDown sees what the conversation is told of a result that reached nobody.
func (w *world) putDown(e Store) {
	work, ok := strings.CutPrefix(e.Out.ResponseID, deadLetters)
	if !ok {
		return
	}
	if own := w.kids[e.Session].Work; own != nil && own.ID == work {
		w.tally.hit("row B7 a result that has no inbox is put down")
	} else {
		w.tally.hit("row B1 a result that nobody was told of is put down")
	}
}

// insists: a forwarder tells the ends of a child more often than it is heard.
func (w *world) insists() {
	s := w.child()
	if s == nil || s.foreign {
		return
	}
	w.calm = true
	s.busy, s.status, s.code = false, "idle", ""
	for range refusedTries + 1 {
		out := w.token()
		w.request("status", s.id, "", func(r Req) Event {
			return Status{Req: r, Session: s.id, Status: "idle", Completed: true, Output: &out}
		})
		for range 3 {
			w.answer(false)
		}
	}
	w.calm = false
}

// retire: the runner may leave. One that does has nothing left to do, takes
// nothing on, and another comes.
func (w *world) retire() {
	w.request("retire", "", "", func(r Req) Event { return Retire{Req: r} })
	if !w.core.retired {
		w.tally.hit("row a runner that is busy stays")
		return
	}
	w.tally.hit("row a runner leaves")
	for _, item := range sortedKeys(w.accepted) {
		truth := w.server.sessions[w.accepted[item]]
		w.must(truth.gone || truth.foreign || w.outcomes[item] == 1, "promise", "the runner leaves, and %s was taken", item)
	}
	programs := len(w.programs)
	w.deliver(false)
	w.must(len(w.programs) == programs, "promise", "a runner that leaves begins a turn")
	w.boot()
}
