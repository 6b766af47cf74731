package core

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// Terminals live in a room of their own, which keeps what must survive of them.
// The core says whose agent may start which, and puts what happens to them on
// the session's stream.

// AgentAsked asks for the agent of a session; the answer is an Agent as JSON, or
// an error whose error is an object (terminals.md 0).
type AgentAsked struct {
	Req     Req
	Session string
}

// Agent is what starts terminals need to know of a session.
type Agent struct {
	Spec      *wire.Spec // without its sub-agents
	Workspace string     // "" = the runner's own
}

// Told has an event about a terminal put on its session's stream. One that is
// kept waits for a reader if there is none: a server that was away does not ask
// what has ended meanwhile.
type Told struct {
	Session string
	Event   json.RawMessage
	Keep    bool
}

// UseTerminal asks for TerminalUsed: a terminal tool of an agent that has it.
type UseTerminal struct {
	Session string
	Key     string
	Name    string
	Args    json.RawMessage
	Agent   Agent
}

// TerminalUsed answers UseTerminal.
type TerminalUsed struct {
	Session string
	Key     string
	Output  string
}

func (AgentAsked) event()   {}
func (Told) event()         {}
func (TerminalUsed) event() {}
func (UseTerminal) effect() {}

// keptOwed is how many events about terminals wait for a reader of the stream.
const keptOwed = 64

// asker waits for its session's agent: a tool call, a question for one of its
// skills or for its tools, or without any for the agent itself.
type asker struct {
	running
	skill *ResolveSkill
	tools bool
}

func (c *Core) onAgentAsked(ev AgentAsked) {
	c.askForAgent(ev.Session, &asker{running: running{reqs: []Req{ev.Req}}})
}

// askForAgent has an asker wait, if it must.
func (c *Core) askForAgent(session string, a *asker) {
	s := c.session(session)
	c.name(s)
	s.askers = append(s.askers, a)
	c.continueAsker(s, a)
}

// beginTerminal runs a terminal tool once the agent is known.
func (c *Core) beginTerminal(s *session, call ToolCall) {
	for _, a := range s.askers {
		if a.call.Name != "" && c.join(&a.running, call) {
			return
		}
	}
	a := &asker{running: c.run(call)}
	s.askers = append(s.askers, a)
	c.continueAsker(s, a)
}

func (c *Core) continueAsker(s *session, a *asker) {
	if !c.identified(s) {
		return
	}
	a.found = true
	spec, harness, err := c.resolve(s)
	if spec == nil {
		status := 404
		if err.Code == "spec_resolver_failed" {
			status = 503 // as an init is answered
		}
		c.failAsker(s, a, status, err.Code, err.Message)
		return
	}
	alone := *spec
	alone.Agents = nil
	agent := Agent{Spec: &alone, Workspace: s.Identity.Workspace}
	switch {
	case a.skill != nil:
		c.answerSkill(a.skill, spec, harness)
		s.dropAsker(a)
	case a.tools:
		c.reply(a.reqs[0], 200, encode(c.toolsOf(spec)))
		s.dropAsker(a)
	case a.call.Name == "":
		c.reply(a.reqs[0], 200, encode(agent))
		s.dropAsker(a)
	case !c.may(spec, a.call.Name):
		c.endUse(s, a, refusal(a.call.Name))
	default:
		c.effect(UseTerminal{Session: s.id, Key: a.key, Name: a.call.Name, Args: a.call.Args, Agent: agent})
	}
}

func (c *Core) onTerminalUsed(ev TerminalUsed) {
	s := c.sessions[ev.Session]
	if at := slices.IndexFunc(s.askers, func(a *asker) bool { return a.key == ev.Key }); at >= 0 {
		c.endUse(s, s.askers[at], ev.Output)
	}
}

// endUse answers a tool call. What only looks is not remembered: a repeat may
// look again.
func (c *Core) endUse(s *session, a *asker, output string) {
	s.dropAsker(a)
	if a.call.Name == toolTermRead || a.call.Name == toolTermList {
		a.call.Op = ""
	}
	c.answerCall(s, a.running, output)
}

func (c *Core) failAsker(s *session, a *asker, status int, code, message string) {
	if a.call.Name != "" {
		c.endUse(s, a, "Error: "+message)
		return
	}
	s.dropAsker(a)
	if a.skill != nil { // a 404 would say that there is no such skill
		c.replyError(a.reqs[0], 503, "spec_resolver_failed", message)
		return
	}
	c.reply(a.reqs[0], status, encode(map[string]any{"error": map[string]string{"code": code, "message": message}}))
}

func (s *session) dropAsker(a *asker) {
	s.askers = slices.DeleteFunc(s.askers, func(o *asker) bool { return o == a })
}

// waitsForAgent tells whether anybody still waits to hear which agent it is.
func (s *session) waitsForAgent() bool {
	return slices.ContainsFunc(s.askers, func(a *asker) bool { return !a.found })
}

// resumeAskers carries on what waited for the agent.
func (c *Core) resumeAskers(s *session) {
	for _, a := range slices.Clone(s.askers) {
		if !a.found {
			c.continueAsker(s, a)
		}
	}
}

// askerGone drops a question that nobody waits for. A tool call goes on.
func (s *session) askerGone(req Req) {
	s.askers = slices.DeleteFunc(s.askers, func(a *asker) bool { return a.call.Name == "" && a.reqs[0] == req })
}

// failAskers ends what cannot wait for the agent any longer.
func (c *Core) failAskers(s *session, err error) {
	for _, a := range slices.Clone(s.askers) {
		switch {
		case a.found:
		case errors.Is(err, wire.ErrNotFound):
			c.failAsker(s, a, 404, "not_found", "There is no session of that id.")
		case a.tools:
			c.reply(a.reqs[0], 200, encode(Toolbox(nil)))
			s.dropAsker(a)
		default:
			c.failAsker(s, a, 503, "spec_resolver_failed", "The server could not say which agent this session runs: "+err.Error())
		}
	}
}

// buryAskers answers who waits for something of a session that was deleted.
func (c *Core) buryAskers(s *session) {
	for _, a := range slices.Clone(s.askers) {
		switch {
		case a.skill != nil:
			c.replyError(a.reqs[0], 404, "not_found", "The session was deleted.")
			continue
		case a.call.Name == "":
			c.failAsker(s, a, 404, "not_found", "The session was deleted.")
			continue
		}
		for _, req := range a.reqs {
			c.replyTool(req, "", errDeleted)
		}
	}
}

func (c *Core) onTold(ev Told) {
	if c.buried[ev.Session] && c.sessions[ev.Session] == nil {
		return
	}
	s := c.session(ev.Session)
	switch {
	case s.readOn != nil && *s.readOn == c.tunnel:
		c.effect(Publish{Session: s.id, Event: ev.Event})
	case ev.Keep:
		s.owed = last(append(s.owed, ev.Event), keptOwed)
	}
}

// tellOwed tells a new reader what happened to terminals while there was none.
func (c *Core) tellOwed(s *session, tunnel uint64) {
	s.readOn = &tunnel
	for _, event := range s.owed {
		c.effect(Publish{Session: s.id, Event: event})
	}
	s.owed = nil
}
