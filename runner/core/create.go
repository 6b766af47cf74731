package core

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// sys_session_create starts a session of another agent of the server below the
// caller (sessions.md 12.2). It is no dispatch: the session has a line to the
// caller's stream, and an end of it that is told finds its parent by the
// snapshot.

// SpawnSession asks for SessionSpawned.
type SpawnSession struct {
	Session, Key string
	Child        wire.NewChild
	Message      string // its first, "" for none
}

// SessionSpawned answers SpawnSession.
type SessionSpawned struct {
	Session, Key, Child string
	AgentName           string // of the child, "" = not told
	Err                 error
}

func (SpawnSession) effect()  {}
func (SessionSpawned) event() {}

// spawn is one sys_session_create at work; a repeat of the operation joins it.
type spawn struct {
	running
	child   wire.NewChild
	message string
}

func (c *Core) beginCreate(p *session, call ToolCall) {
	for _, s := range p.spawns {
		if c.join(&s.running, call) {
			return
		}
	}
	var args struct {
		AgentID    string `json:"agent_id"`
		ConfigPath string `json:"config_path"`
		Title      string `json:"title"`
		Message    string `json:"message"`
		Model      string `json:"model"`
		Effort     string `json:"reasoning_effort"`
	}
	s := &spawn{running: c.run(call)}
	p.spawns = append(p.spawns, s)
	switch {
	case json.Unmarshal(call.Args, &args) != nil:
		c.endCreate(p, s, "Error: the arguments must be an object of strings")
		return
	case args.ConfigPath != "":
		c.endCreate(p, s, "Error: config_path is not supported by this runner; upload the agent to the server and give its agent_id")
		return
	case args.AgentID == "":
		c.endCreate(p, s, "Error: sys_session_create needs an agent_id")
		return
	}
	s.message = args.Message
	s.child = wire.NewChild{
		AgentID: args.AgentID, ParentID: p.id, Title: args.Title, ModelOverride: args.Model, ReasoningEffort: args.Effort,
	}
	c.continueCreate(p, s)
}

// continueCreate goes on once the parent's agent is known: it says whether it
// may do this.
func (c *Core) continueCreate(p *session, s *spawn) {
	if !c.identified(p) {
		return
	}
	s.found = true
	spec, _, err := c.resolve(p)
	switch {
	case spec == nil:
		c.endCreate(p, s, "Error: "+err.Message)
	case !surface(spec, toolCreate):
		c.endCreate(p, s, refusal(toolCreate))
	default:
		c.effect(SpawnSession{Session: p.id, Key: s.key, Child: s.child, Message: s.message})
	}
}

func (c *Core) onSessionSpawned(ev SessionSpawned) {
	p := c.sessions[ev.Session]
	s := p.spawnOf(ev.Key)
	switch {
	case s == nil:
		return
	case errors.Is(ev.Err, wire.ErrNotFound):
		c.endCreate(p, s, string(encode(map[string]string{"error": "agent_not_found", "agent_id": s.child.AgentID})))
		return
	case errors.Is(ev.Err, wire.ErrDenied):
		c.endCreate(p, s, string(encode(map[string]string{"error": "access_denied", "agent_id": s.child.AgentID})))
		return
	case ev.Err != nil:
		c.endCreate(p, s, "Error: the session could not be created: "+ev.Err.Error())
		return
	}
	kid := c.session(ev.Child)
	c.record(wire.Record{Kind: wire.RecRail, Session: kid.id, State: encode(rail{
		Parent: p.id, Title: s.child.Title, Tool: "session", Session: s.child.Title,
	})})
	c.publish(p, map[string]string{
		"type": "session.created", "conversation_id": p.id, "child_session_id": ev.Child,
		"agent_id": s.child.AgentID, "parent_session_id": p.id,
	})
	if e := kid.untold; e != nil { // it was quicker than the answer to its creation
		c.tellParent(kid, e.status, e.output, e.err)
	}
	status := "idle"
	if s.message != "" {
		status = "launching"
	}
	c.endCreate(p, s, string(encode(map[string]any{
		"conversation_id": ev.Child, "kind": "session", "agent_id": s.child.AgentID,
		"agent_name": optional(ev.AgentName), "title": optional(s.child.Title), "status": status,
	})))
}

func (p *session) spawnOf(key string) *spawn {
	if at := slices.IndexFunc(p.spawns, func(s *spawn) bool { return s.key == key }); at >= 0 {
		return p.spawns[at]
	}
	return nil
}

func (c *Core) endCreate(p *session, s *spawn, output string) {
	p.spawns = slices.DeleteFunc(p.spawns, func(o *spawn) bool { return o == s })
	c.answerCall(p, s.running, output)
}
