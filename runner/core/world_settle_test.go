package core

import (
	"fmt"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// settle lets the world become quiet: a good server, a connection, every
// question answered, every program ended, every forwarder heard.
func (w *world) settle() {
	w.say("// everything comes to rest")
	w.calm = true
	for _, id := range w.server.order {
		w.server.sessions[id].archived = false
	}
	w.drain()
	for _, id := range w.server.order {
		if w.server.sessions[id].parent == "" || w.core.sessions[id] != nil {
			w.bind(id)
		}
	}
	w.everythingIsAnswered()
	w.everyoneWasTold()
	if (slices.Contains(w.mix.acts, "wipe") || slices.Contains(w.mix.acts, "send")) && w.pick(2, "another process") == 0 {
		w.boot()
		w.drain()
		for _, id := range w.server.order {
			w.bind(id)
		}
		w.noDispatchIsLost()
	}
}

// bind is the init of a session, and what its native children still have to say.
func (w *world) bind(id string) {
	s := w.server.sessions[id]
	if s.gone || s.foreign {
		return
	}
	w.request("init", id, "", func(r Req) Event {
		return Init{Req: r, Session: id, AgentID: s.agent, Envelope: &Envelope{Snapshot: w.server.snapshot(id), ServerVersion: "0.3.0"}}
	})
	w.drain()
	work := w.kids[id].Work
	if s.wrapper == "" || work == nil || work.State.terminal() {
		return
	}
	out := w.token()
	s.busy = false
	w.request("status", id, "", func(r Req) Event {
		return Status{Req: r, Session: id, Status: "idle", Output: &out, Completed: true}
	})
	w.drain()
}

// drain goes on until nothing is left to do. Timers that are set again for as
// long as something is awaited fire a few times.
func (w *world) drain() {
	if !w.up {
		w.gen++
		w.up = true
		w.step(TunnelUp{Gen: w.gen})
	}
	fired := map[string]int{}
	for range 3000 {
		switch {
		case len(w.open) > 0 && (len(w.programs)+len(w.server.queue) == 0 || !w.rarely(3, "what comes first")):
			w.answer(false)
		case len(w.programs) > 0:
			w.end(w.programs[0], wire.Completed)
		case len(w.server.queue) > 0:
			w.deliver(false)
		default:
			if !w.fireAnother(fired) {
				return
			}
		}
	}
	w.t.Fatalf("rest: the world does not come to rest: %v", fired)
}

func (w *world) fireAnother(fired map[string]int) bool {
	for n, timer := range w.timers {
		key := fmt.Sprint(timer.Session, " ", timer.Key)
		if timer.Key == TimerLaunch || timer.Key == TimerSweep && fired[key] >= 2 || fired[key] >= 6 {
			continue
		}
		fired[key]++
		w.fire(n)
		return true
	}
	return false
}
