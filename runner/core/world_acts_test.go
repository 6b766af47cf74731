package core

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// setUp fills the server. P leads: C works for it, N, O and K are programs in
// terminals, X is of a name that the agent lacks, I is a harness's own inner
// child. G works for C; R works for Q, which may never come here; T is alone.
func (w *world) setUp() {
	roots := []string{"acp:chat", "acp:agent", "acp:live", "acp:shell"}
	sub := func(name, harness string, agents ...*wire.Spec) *wire.Spec {
		return &wire.Spec{Name: name, Harness: harness, Agents: agents}
	}
	w.server.trees["a1"] = &wire.Spec{Name: "lead", Harness: choose(w, roots, "lead"), Spawn: true, Skills: []wire.Skill{{Name: "sing", Text: "Sing of $ARGUMENTS."}}, Terminals: []wire.Declared{{Name: "sh"}}, Agents: []*wire.Spec{
		sub("worker", "acp:worker", sub("deep", "acp:agent")),
		sub("nat", "claude-native"), sub("goose", "goose-native"), sub("cursor", "cursor-native"),
	}}
	w.server.trees["a2"] = sub("solo", choose(w, []string{"acp:shell", "acp:agent", "acp:live", "acp:chat"}, "solo"), sub("worker", "acp:other"))
	all := []*stored{
		{id: "P", agent: "a1"}, {id: "Q", agent: "a1"}, {id: "T", agent: "a2"},
		{id: "C", agent: "a1", parent: "P", sub: "worker", title: "one"},
		{id: "N", agent: "a1", parent: "P", sub: "nat", title: "one", wrapper: "claude-code-native-ui"},
		{id: "O", agent: "a1", parent: "P", sub: "goose", title: "one", wrapper: "goose-native-ui"},
		{id: "K", agent: "a1", parent: "P", sub: "cursor", title: "one", wrapper: "cursor-native-ui"},
		{id: "X", agent: "a1", parent: "P", sub: "missing", title: "one"},
		{id: "I", agent: "a1", parent: "P", sub: "Explore", wrapper: "codex-native-ui-subagent"},
		{id: "G", agent: "a1", parent: "C", sub: "deep", title: "one"},
		{id: "R", agent: "a1", parent: "Q", sub: "worker", title: "one"},
	}
	w.cast = w.mix.cast
	for _, s := range all {
		if slices.Contains(w.cast, s.id) || s.id == "P" || s.id == "Q" && slices.Contains(w.cast, "R") {
			if w.rarely(6, "override of "+s.id) {
				s.override = choose(w, []string{"acp:other", "agy", "claude"}, "override")
			}
			w.server.add(s)
		}
	}
}

// one draws a session: of the cast, or one that was made since.
func (w *world) one(label string) *stored {
	ids := slices.Clone(w.cast)
	for n := 1; n <= w.server.children; n++ {
		ids = append(ids, fmt.Sprint("k", n))
	}
	return w.server.sessions[choose(w, ids, label)]
}

// native draws a program in a terminal.
func (w *world) native() *stored {
	return w.server.sessions[choose(w, []string{"O", "N", "K"}, "native")]
}

// child draws one that has a parent.
func (w *world) child() *stored {
	var kids []*stored
	for _, id := range w.server.order {
		if s := w.server.sessions[id]; s.parent != "" && !s.gone {
			kids = append(kids, s)
		}
	}
	if len(kids) == 0 {
		return nil
	}
	return choose(w, kids, "child")
}

// act lets one random thing happen.
func (w *world) act() {
	name := choose(w, w.mix.acts, "act")
	w.tally.hit("act " + name)
	if !w.requested(name) {
		w.perform(name)
	}
}

// perform lets something happen that is no request.
func (w *world) perform(name string) {
	switch name {
	case "answer":
		w.answer(w.rarely(3, "fault"))
	case "write":
		w.write()
	case "end":
		if p := w.anyProgram(); p != nil {
			outcomes := []wire.Outcome{wire.Completed, wire.Failed, wire.Cancelled}
			w.end(p, choose(w, outcomes, "outcome"))
		}
	case "forward":
		w.deliver(w.rarely(5, "the forward is lost"))
	case "missed":
		w.server.store(w.one("session").id, w.token())
	case "marker":
		s := w.one("session")
		w.server.store(s.id, "[System: interrupted]")
	case "elsewhere":
		s := w.one("session")
		w.server.answer(s.id, w.token())
	case "rebind":
		s := w.one("session")
		s.foreign = !s.foreign
	case "archive":
		s := w.one("session")
		s.archived = !s.archived
	case "closed on the server":
		if s := w.child(); s != nil {
			s.labels[labelClosed] = "true"
		}
	case "deleted on the server":
		if s := w.child(); s != nil {
			s.gone = true
		}
	case "dispatched elsewhere":
		w.elsewhere()
	case "in a terminal":
		w.inTerminal(w.native())
	case "a guess":
		for n, timer := range w.timers {
			if timer.Key == TimerLaunch || timer.Key == TimerGrace {
				w.fire(n)
				break
			}
		}
	case "works":
		w.works(w.one("session"))
	case "parent deleted":
		w.request("delete", "P", "", func(r Req) Event { return Delete{Req: r, Session: "P"} })
	case "overtaken":
		w.overtaken(w.native())
	case "made elsewhere":
		w.madeElsewhere()
	case "up":
		w.gen++
		w.up = true
		w.step(TunnelUp{Gen: w.gen})
	case "down":
		gen := w.gen
		if gen > 0 && w.rarely(4, "an old connection") {
			gen--
		} else {
			w.up = false
			w.server.runnerGone()
		}
		w.step(TunnelDown{Gen: gen})
	case "restart":
		w.boot()
	case "wipe":
		w.wipe()
	case "checkpoint":
		w.checkpoint()
	case "timer":
		if len(w.timers) > 0 {
			w.fire(w.pick(len(w.timers), "timer"))
		}
	case "seen":
		w.seen()
	case "another":
		w.another(w.one("session"))
	case "of a terminal":
		event := encode(map[string]string{"type": "session.resource.created"})
		w.step(Told{Session: w.one("session").id, Event: event, Keep: w.pick(2, "it is kept") == 1})
	case "insists":
		w.insists()
	case "retire":
		w.retire()
	default:
		w.t.Fatalf("no act named %q", name)
	}
}

// madeElsewhere: another runner makes a child of P, if it can the very one that
// is being made here.
func (w *world) madeElsewhere() {
	child := wire.NewChild{AgentID: "a1", ParentID: "P", SubAgentName: "worker", Title: fmt.Sprint("worker:worker-", 1+w.pick(3, "number"))}
	for _, q := range w.open {
		if e, ok := q.effect.(CreateChild); ok {
			child = e.Child
			child.Labels = nil
		}
	}
	_, _ = w.server.create(child) // it may be there
}

// inTerminal gives a native child a task, without faults, until its program has
// it: what comes then is its own.
func (w *world) inTerminal(s *stored) {
	w.calm = true
	w.request("tool", "P", "", func(r Req) Event {
		return ToolCall{Req: r, Session: "P", Name: toolSend, Args: encode(map[string]string{"session_id": s.id, "args": w.token()})}
	})
	w.through(s, wire.Completed)
	w.calm = false
}

// works gives a session a message, without faults, and its program is at work then.
func (w *world) works(s *stored) {
	if s.gone || s.foreign {
		return
	}
	w.calm = true
	w.forward(s.id, w.server.store(s.id, w.token()))
	for range 8 {
		w.answer(false)
	}
	w.calm = false
}

// through lets a session's turn go through.
func (w *world) through(s *stored, how wire.Outcome) {
	for range 20 {
		if len(w.open) > 0 {
			w.answer(false)
		} else {
			w.deliver(false)
		}
	}
	for _, p := range slices.Clone(w.programs) {
		if p.session == s.id {
			w.end(p, how)
		}
	}
}

// overtaken: an interrupt is pending when another turn fails, and the child is
// given other work.
func (w *world) overtaken(s *stored) {
	w.inTerminal(s)
	w.calm = true
	w.request("control", s.id, "", func(r Req) Event { return Control{Req: r, Session: s.id, Kind: "interrupt"} })
	w.forward(s.id, w.server.store(s.id, w.token()))
	w.through(s, wire.Failed)
	w.inTerminal(s)
}

// elsewhere: another runner gave a child a task while this one was away; it
// ended, or goes on.
func (w *world) elsewhere() {
	s := w.child()
	if s == nil || w.dispatched(s.id) {
		return
	}
	w.ids++
	s.label(map[string]string{labelDispatch: fmt.Sprintf("subagent_e%d", w.ids)})
	s.begun[s.labels[labelDispatch]] = true
	w.server.store(s.id, w.token())
	switch w.pick(3, "how it stands") {
	case 0:
		w.server.answer(s.id, w.token())
		s.status = "idle"
	case 1:
		s.status, s.code = "failed", choose(w, []string{"boom", "runner_disconnected"}, "code")
	case 2:
		s.status = "running"
	}
	w.boot()
}

// dispatched tells whether this runner has work for a session, or has told of it.
func (w *world) dispatched(id string) bool {
	return w.kids[id].Work != nil
}

// write lets a program show a piece: text, a call, a question, its own id.
func (w *world) write() {
	p := w.anyProgram()
	if p == nil {
		return
	}
	f := Frame{Session: p.session, Turn: p.turn, N: p.pieces}
	p.pieces++
	switch w.pick(9, "piece") {
	case 1:
		f.Text = w.token()
	case 2:
		f.Item = encode(map[string]any{"type": "function_call", "status": "action_required", "name": "sys_read_inbox", "arguments": "{}", "call_id": fmt.Sprint("call", p.pieces)})
	case 3:
		f.Item = encode(map[string]any{"type": "function_call", "status": "in_progress", "name": "bash", "arguments": "{}", "call_id": fmt.Sprint("own", p.pieces)})
	case 6:
		f.Item = encode(map[string]any{"type": "function_call_output", "output": "x", "call_id": fmt.Sprint("own", p.pieces)})
	case 0:
		w.ids++
		q := &wire.Elicitation{ID: fmt.Sprint("q", w.ids), Method: "elicitation/create", Params: json.RawMessage("{}")}
		if w.pick(4, "tool") < 3 {
			q.Tool = &wire.ToolUse{Name: "bash", Args: json.RawMessage("{}")}
		}
		p.questions = append(p.questions, q.ID)
		f.Ask = q
	case 5:
		f.Native = fmt.Sprint("conv-", p.session)
	case 4:
		f.Policy = &wire.PolicyRequest{ID: fmt.Sprint("p", p.pieces), Phase: choose(w, []string{"PHASE_TOOL_CALL", "PHASE_LLM_REQUEST"}, "phase"), Data: json.RawMessage("{}")}
	case 7:
		f.Consumed = "nothing"
		if len(p.sent) > 0 {
			f.Consumed = choose(w, p.sent, "message")
		}
	case 8:
		call := fmt.Sprint("theirs", p.pieces)
		p.calls = append(p.calls, call)
		f.Item = encode(map[string]any{"type": "function_call", "status": "action_required", "name": "theirs", "arguments": "{}", "call_id": call})
	}
	w.step(f)
}

func (w *world) anyProgram() *program {
	if len(w.programs) == 0 {
		return nil
	}
	return choose(w, w.programs, "program")
}

func (w *world) end(p *program, how wire.Outcome) {
	w.programs = slices.DeleteFunc(w.programs, func(o *program) bool { return o == p })
	w.step(TurnEnded{Session: p.session, Turn: p.turn, N: p.pieces, End: wire.TurnEnd{Outcome: how}})
}

// deliver forwards the oldest message or control that the server holds, or
// loses it: a message is found by a scan then.
func (w *world) deliver(lost bool) {
	if len(w.server.queue) == 0 {
		return
	}
	f := w.server.queue[0]
	w.server.queue = w.server.queue[1:]
	s := w.server.sessions[f.session]
	switch {
	case lost, s.foreign, s.gone:
	case f.control != "":
		w.request("control", f.session, "", func(r Req) Event { return Control{Req: r, Session: f.session, Kind: f.control} })
	default:
		w.forward(f.session, f.item)
	}
}

func (w *world) fire(n int) {
	timer := w.timers[n]
	w.timers = slices.Delete(slices.Clone(w.timers), n, n+1)
	w.tally.hit("timer " + string(timer.Key))
	w.step(timer)
}

// seen: the server has a terminal response.
func (w *world) seen() {
	for _, s := range w.core.all() {
		for _, t := range s.Ended {
			if s.terminal[t.ID] && w.told[t.ID] != "" {
				w.step(Seen{Session: s.id, Turn: t.ID})
				return
			}
		}
	}
}

// wipe loses the journal: what is left is what the server has.
func (w *world) wipe() {
	w.say("wipe")
	w.journal = nil
	w.wiped()
	w.boot()
}
