package core

import (
	"encoding/json"
	"fmt"

	"github.com/outrunner/outrunner/runner/wire"
)

// forward is POST events of a stored message.
func (w *world) forward(session, item string) {
	s := w.server.sessions[session]
	m := Message{Session: session, ItemID: item, AgentID: s.agent}
	if at := s.position(item); at >= 0 {
		m.Content = s.items[at].Content
	}
	switch w.pick(7, "the message says") {
	case 3:
		m.Override = "auto"
	case 4:
		m.Override = s.override
	case 5:
		m.Override, m.Model, m.Effort = s.override, "m1", "low"
	case 6:
		m.Tools = []json.RawMessage{encode(map[string]any{"type": "function", "name": "theirs"})}
	}
	w.request("message", session, item, func(r Req) Event { m.Req = r; return m })
}

// requested makes the request of that name, if it is one.
func (w *world) requested(name string) bool {
	s := w.one("session")
	if s.foreign && name != "init" && name != "delete" {
		s = w.server.sessions["P"] // the server asks the session's own runner
	}
	switch name {
	case "message":
		if !s.gone && !s.foreign {
			w.forward(s.id, w.server.store(s.id, w.token()))
		}
	case "again":
		for n := len(s.items) - 1; n >= 0; n-- {
			if isUser(s.items[n]) && w.server.owner[s.items[n].ID] != "" && w.pick(2, "this one") == 0 {
				w.forward(s.id, s.items[n].ID)
				break
			}
		}
	case "unstored":
		w.ids++
		id := fmt.Sprint("local", w.ids)
		w.server.owner[id] = s.id
		w.request("message", s.id, id, func(r Req) Event {
			return Message{Req: r, Session: s.id, StableID: id, AgentID: s.agent, Content: encode(id)}
		})
	case "init":
		w.init(s)
	case "interrupt", "stop_session", "effort_change", "unknown_kind":
		w.request("control", s.id, "", func(r Req) Event { return Control{Req: r, Session: s.id, Kind: name, Effort: "high"} })
	case "approval":
		for _, p := range w.programs {
			if n := len(p.questions); n > 0 {
				q := choose(w, p.questions, "question")
				w.request("control", p.session, "", func(r Req) Event {
					return Answer{Req: r, Session: p.session, Question: q, Action: choose(w, []string{wire.Accept, wire.Decline, wire.Cancel}, "action")}
				})
				break
			}
		}
	case "result":
		call := "nothing"
		for _, p := range w.programs {
			if len(p.calls) > 0 {
				s, call = w.server.sessions[p.session], choose(w, p.calls, "call")
			}
		}
		w.request("result", s.id, "", func(r Req) Event { return ToolResult{Req: r, Session: s.id, CallID: call, Output: "theirs"} })
	case "skill":
		w.request("skill", s.id, "", func(r Req) Event {
			return ResolveSkill{Req: r, Session: s.id, Name: choose(w, []string{"sing", "dance"}, "skill"), Arguments: "spring"}
		})
	case "agent":
		w.request("agent", s.id, "", func(r Req) Event { return AgentAsked{Req: r, Session: s.id} })
	case "get":
		w.request("get", s.id, "", func(r Req) Event { return Get{Req: r, Session: s.id} })
	case "delete":
		w.request("delete", s.id, "", func(r Req) Event { return Delete{Req: r, Session: s.id} })
	case "reset":
		kind := choose(w, []ResetKind{ResetAgent, ResetState, ResetResources}, "kind")
		w.request("reset", s.id, "", func(r Req) Event { return Reset{Req: r, Session: s.id, Kind: kind, AgentID: s.agent} })
	case "revision":
		w.ids++
		item := w.server.store(s.id, w.token())
		w.request("message", s.id, item, func(r Req) Event {
			return Message{Req: r, Session: s.id, ItemID: item, AgentID: s.agent, Revision: fmt.Sprint("v", w.ids), Content: encode(item)}
		})
	case "stream":
		tunnel := w.gen
		if tunnel > 0 && w.rarely(5, "an old connection") {
			tunnel--
		}
		w.numbered(StreamOpened{Session: s.id, Tunnel: tunnel})
	case "request gone":
		for r, q := range w.requests {
			if q.kind == "init" || q.kind == "control" || q.kind == "read" || q.kind == "status" || q.kind == "skill" {
				q.gone = true
				w.step(RequestGone{Req: r})
				break
			}
		}
	case "status":
		w.status(s)
	case "busy":
		s.busy = true
		status := choose(w, []string{"running", "waiting", "bogus"}, "status")
		w.request("status", s.id, "", func(r Req) Event { return Status{Req: r, Session: s.id, Status: status} })
	default:
		return w.tool(name)
	}
	return true
}

// init lets the server bind a session: as older servers do, or with all that it
// knows.
func (w *world) init(s *stored) {
	ev := Init{Session: s.id, AgentID: s.agent}
	kind := w.pick(4, "init")
	if kind > 0 && !s.gone {
		ev.Envelope = &Envelope{Snapshot: w.server.snapshot(s.id), ServerVersion: choose(w, []string{"0.3.0", "0.2.9", ""}, "version")}
	}
	w.tally.hit("init " + []string{"of an older server", "plain", "resume", "suppress"}[kind])
	if ev.Envelope != nil {
		ev.Envelope.Resume, ev.Envelope.Suppress = kind == 2, kind == 3
		if kind >= 2 {
			ev.Envelope.RecoveryID = fmt.Sprint("r", w.pick(3, "recovery"))
		}
	}
	w.request("init", s.id, "", func(r Req) Event { ev.Req = r; return ev })
}

// status is the word of a forwarder on a session's end.
func (w *world) status(s *stored) {
	ev := Status{Session: s.id, Status: "idle"}
	form := w.pick(7, "form")
	names := []string{"idle", "idle completed", "failed", "outcome cancelled", "outcome failed", "outcome completed", "idle without output"}
	w.tally.hit("status " + names[form])
	switch form {
	case 1:
		ev.Completed = true
	case 2:
		ev.Status = "failed"
		ev.Error = &wire.TurnError{Code: "boom", Message: "it boom"}
	case 3:
		ev.Outcome = wire.Cancelled
	case 4:
		ev.Outcome = wire.Failed
	case 5:
		ev.Outcome = wire.Completed
	}
	if form != 6 {
		out := w.token()
		ev.Output = &out
		if !s.gone {
			w.server.answer(s.id, out)
		}
	}
	s.busy = false
	s.status, s.code = "idle", ""
	if ev.Status == "failed" || ev.Outcome == wire.Failed {
		s.status, s.code = "failed", "boom"
	}
	w.request("status", s.id, "", func(r Req) Event { ev.Req = r; return ev })
}

// tool makes the tool call of that name, of an agent that leads.
func (w *world) tool(name string) bool {
	p := "P"
	if w.rarely(8, "another parent") {
		p = w.one("caller").id
	}
	w.ids++
	call := ToolCall{Session: p, Op: fmt.Sprint("op", w.ids)}
	if w.rarely(5, "an operation without a name") {
		call.Op = ""
	}
	args := map[string]any{}
	switch name {
	case "read":
		call.Name = toolInbox
	case "read again":
		call.Name, call.Op = toolInbox, fmt.Sprint("op", 1+w.pick(w.ids, "operation"))
	case "send":
		call.Name = toolSend
		args["agent"], args["args"] = choose(w, []string{"worker", "goose", "nat", "cursor", "missing"}, "agent"), w.token()
		if w.pick(2, "named") == 1 {
			args["title"] = choose(w, []string{"one", "two"}, "title")
		}
	case "send by id":
		s := w.child()
		if s == nil {
			return true
		}
		call.Name, call.Session = toolSend, s.parent
		args["session_id"], args["args"] = s.id, w.token()
		if w.rarely(12, "nobody") {
			args["session_id"] = "nobody"
		}
	case "create":
		call.Name = toolCreate
		args["agent_id"], args["title"], args["message"] = "a2", fmt.Sprint("s", w.ids), choose(w, []string{"", "go"}, "message")
	case "cancel":
		s := w.child()
		if s == nil {
			return true
		}
		call.Name, call.Session = toolCancel, s.parent
		args["task_id"] = s.id
	case "look up":
		call.Name = choose(w, []string{toolList, toolInfo, toolHistory}, "tool")
	case "use terminal":
		call.Name = choose(w, []string{toolTermSend, toolTermList}, "tool")
	case "list tools":
		w.request("tool", p, "", func(r Req) Event { return ToolList{Req: r, Session: p} })
		return true
	default:
		return false
	}
	call.Args = encode(args)
	kind := "tool"
	if call.Name == toolInbox {
		kind = "read"
	}
	w.request(kind, call.Session, "", func(r Req) Event { call.Req = r; return call })
	return true
}
