package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// sys_session_send gives a child a task (subagents-catchup.md 8; sessions.md
// 12.1). The stamp is journaled, and on the server, before the message is
// posted; what is not sure after a crash is decided by the child's own items.

// Questions of a send. Each carries the key of the send that asks.
type (
	// FindChild asks for ChildFound.
	FindChild struct {
		Session, Key, Agent, Name string
	}
	// CreateChild asks for ChildCreated.
	CreateChild struct {
		Session, Key string
		Child        wire.NewChild
	}
	// StampChild asks for ChildStamped.
	StampChild struct {
		Session, Key, Child string
		Labels              map[string]string
	}
	// PostTask asks for TaskPosted.
	PostTask struct {
		Session, Key, Child, Text string
	}
	// DeleteChild undoes a CreateChild; nobody waits for it.
	DeleteChild struct{ Session string }
)

// Their answers.
type (
	// ChildFound answers FindChild.
	ChildFound struct {
		Session, Key string
		Child        wire.ChildSummary
		Found        bool
		Err          error
	}
	// ChildCreated answers CreateChild.
	ChildCreated struct {
		Session, Key, Child string
		Err                 error
	}
	// ChildStamped answers StampChild.
	ChildStamped struct {
		Session, Key string
		Err          error
	}
	// TaskPosted answers PostTask.
	TaskPosted struct {
		Session, Key string
		Err          error
	}
)

func (FindChild) effect()   {}
func (CreateChild) effect() {}
func (StampChild) effect()  {}
func (PostTask) effect()    {}
func (DeleteChild) effect() {}
func (ChildFound) event()   {}
func (ChildCreated) event() {}
func (ChildStamped) event() {}
func (TaskPosted) event()   {}

// sendArgs are the arguments of sys_session_send.
type sendArgs struct {
	Agent     string          `json:"agent"`
	Title     string          `json:"title"`
	SessionID string          `json:"session_id"`
	Args      json.RawMessage `json:"args"`
	input     struct {
		Input  string `json:"input"`
		Model  string `json:"model"`
		Effort string `json:"reasoning_effort"`
		// Harness is an override for the child.
		Harness string `json:"harness"`
		// Files and Budget are refused: a task that goes without its files, or
		// spends without its limit, is another task.
		Files  json.RawMessage `json:"file_ids"`
		Budget json.RawMessage `json:"cost_budget"`
	}
}

// given tells whether an option was given at all.
func given(option json.RawMessage) bool {
	return len(option) > 0 && !slices.Contains([]string{"null", "[]"}, string(option))
}

// send is one sys_session_send at work.
type send struct {
	running
	args   sendArgs
	child  string
	parent string     // the parent's agent, by id
	spec   *wire.Spec // of the sub-agent
	agent  string
	name   string
	// inherited is the parent's model, where the sub-agent takes it.
	inherited string
	ordinal   int // of a name made here; 0 = given
	tries     int
	isNew     bool
	steer     bool // into a turn that runs
	work      work
	before    childState // of the child, before the work
}

// createTries bounds how often a taken name is counted up.
const createTries = 5

func (c *Core) beginSend(p *session, call ToolCall) {
	for _, s := range p.sends {
		if c.join(&s.running, call) {
			return
		}
	}
	s := &send{running: c.run(call)}
	p.sends = append(p.sends, s)
	if err := s.decode(); err != nil {
		c.endSend(p, s, "Error: "+err.Error())
		return
	}
	c.continueSend(p, s)
}

func (s *send) decode() error {
	if json.Unmarshal(s.call.Args, &s.args) != nil {
		return errors.New("the arguments must be an object")
	}
	if json.Unmarshal(s.args.Args, &s.args.input.Input) != nil && json.Unmarshal(s.args.Args, &s.args.input) != nil {
		return errors.New(`"args" must be a string, or an object with "input"`)
	}
	a := s.args
	unsupported := given(a.input.Files) || given(a.input.Budget)
	switch {
	case a.input.Input == "":
		return errors.New(`"args" has no input for the sub-agent`)
	case a.SessionID == "" && a.Agent == "":
		return errors.New(`name an "agent" or a "session_id"`)
	case a.SessionID != "" && (a.Agent != "" || a.Title != "" || a.input.Model != "" || a.input.Effort != "" || a.input.Harness != "" || unsupported):
		return errors.New(`with a "session_id", agent, title and the options of a new session are not allowed`)
	case unsupported:
		return errors.New("this runner supports neither file_ids nor cost_budget; put what the sub-agent needs into its input")
	}
	s.agent, s.name = a.Agent, a.Title
	return nil
}

// continueSend goes on once the parent's agent is known; without it nobody can
// say which sub-agents it has.
func (c *Core) continueSend(p *session, s *send) {
	if !c.identified(p) {
		return
	}
	s.found = true
	spec, harness, err := c.resolve(p)
	if err != nil && spec == nil {
		c.endSend(p, s, "Error: "+err.Message)
		return
	}
	if !surface(spec, toolSend) {
		c.endSend(p, s, refusal(toolSend))
		return
	}
	if s.args.SessionID != "" {
		c.effect(FindChild{Session: p.id, Key: s.key, Agent: "", Name: s.args.SessionID})
		return
	}
	if !slices.ContainsFunc(spec.Agents, func(a *wire.Spec) bool { return a.Name == s.agent }) {
		c.endSend(p, s, fmt.Sprintf("Error: the agent %q has no sub-agent %q", spec.Name, s.agent))
		return
	}
	s.parent, s.spec = p.Identity.AgentID, spec.Find(s.agent)
	if s.spec.Model == "" && wire.SameModels(first(s.args.input.Harness, s.spec.Harness), harness) {
		s.inherited = p.Identity.Model
	}
	if s.name == "" {
		c.createNumbered(p, s)
		return
	}
	c.effect(FindChild{Session: p.id, Key: s.key, Agent: s.agent, Name: s.name})
}

func (p *session) sendOf(key string) *send {
	if at := slices.IndexFunc(p.sends, func(s *send) bool { return s.key == key }); at >= 0 {
		return p.sends[at]
	}
	return nil
}

func (c *Core) onChildFound(ev ChildFound) {
	p := c.sessions[ev.Session]
	s := p.sendOf(ev.Key)
	switch {
	case s == nil:
		c.onCancelFound(p, ev)
	case ev.Err != nil:
		c.endSend(p, s, "Error: the server could not be asked for the sub-agent: "+ev.Err.Error())
	case !ev.Found && s.args.SessionID != "":
		c.endSend(p, s, string(encode(map[string]string{"error": "session_not_found", "session_id": s.args.SessionID})))
	case ev.Found && ev.Child.Foreign:
		c.endSend(p, s, string(encode(map[string]string{"error": "session_out_of_tree", "session_id": ev.Child.ID})))
	case ev.Found && ev.Child.Labels[labelClosed] == "true":
		c.endSend(p, s, string(encode(map[string]string{"error": "session_closed", "session_id": ev.Child.ID})))
	case ev.Found:
		s.child = ev.Child.ID
		s.agent = first(s.agent, ev.Child.Tool, ev.Child.AgentName, "agent")
		s.name = first(s.name, ev.Child.SessionName)
		c.toExisting(p, s, ev.Child.Busy)
	default:
		c.createChild(p, s)
	}
}

// toExisting gives a child that is there another task: into its turn if it
// runs, else as a new dispatch.
func (c *Core) toExisting(p *session, s *send, busy bool) {
	kid := c.session(s.child)
	w := kid.Child.Work
	switch {
	case kid.labels.dispatching(), w != nil && (w.State == workLaunching || w.State == workStamped):
		c.endSend(p, s, "Error: the sub-agent is still starting its turn; retry in a moment")
	case w != nil && (w.State == workRunning || w.State == workWaiting), w == nil && busy:
		s.steer = true
		c.effect(PostTask{Session: p.id, Key: s.key, Child: s.child, Text: s.args.input.Input})
	default:
		s.work = work{Parent: p.id, ID: c.workID(), Agent: s.agent, Title: s.name, Stamp: kid.newestItem()}
		kid.labels.stamping, kid.labels.named = true, true
		// If the task is never sent, the server must not wait for its result; and
		// what was before is not the dispatch that the server has then.
		next := kid.Child
		next.owed = owed{Receipt: s.work.ID, Both: true}
		if w != nil {
			old := *w
			old.Unstamped = true
			next.Work = &old
		}
		c.recordChild(kid, next)
		c.effect(StampChild{Session: p.id, Key: s.key, Child: s.child, Labels: map[string]string{
			labelDispatch: s.work.ID, labelAfter: s.work.Stamp,
		}})
	}
}

// newestItem is the newest of the session's items that this runner knows.
func (s *session) newestItem() string {
	if n := len(s.Answered); n > 0 {
		return s.Answered[n-1]
	}
	return s.Cursor
}

func (c *Core) createChild(p *session, s *send) {
	s.isNew = true
	s.work = work{Parent: p.id, ID: c.workID(), Agent: s.agent, Title: s.name}
	child := wire.NewChild{
		AgentID: s.parent, ParentID: p.id, Title: s.agent + ":" + s.name, SubAgentName: s.agent,
		Labels:          map[string]string{labelDispatch: s.work.ID},
		HarnessOverride: s.args.input.Harness, ReasoningEffort: first(s.args.input.Effort, s.spec.Effort),
		ModelOverride: first(s.args.input.Model, s.inherited),
	}
	c.effect(CreateChild{Session: p.id, Key: s.key, Child: child})
}

func (c *Core) onChildCreated(ev ChildCreated) {
	p := c.sessions[ev.Session]
	s := p.sendOf(ev.Key)
	switch {
	case s == nil:
	case errors.Is(ev.Err, wire.ErrConflict) && s.ordinal != 0 && s.tries < createTries:
		s.tries++
		c.createNumbered(p, s)
	case ev.Err != nil:
		c.endSend(p, s, "Error: the sub-agent could not be created: "+ev.Err.Error())
	default:
		s.child = ev.Child
		c.publish(p, map[string]string{
			"type": "session.created", "conversation_id": p.id, "child_session_id": s.child,
			"agent_id": s.parent, "parent_session_id": p.id,
		})
		c.dispatch(p, s)
	}
}

func (c *Core) onChildStamped(ev ChildStamped) {
	p := c.sessions[ev.Session]
	s := p.sendOf(ev.Key)
	if s == nil {
		return
	}
	kid := c.session(s.child)
	c.stamped(kid, ev.Err)
	switch {
	case ev.Err != nil:
		c.endSend(p, s, "Error: the sub-agent could not be given a task: "+ev.Err.Error())
	default:
		c.dispatch(p, s)
	}
}

// dispatch registers the work of a child that is stamped, and posts its task.
func (c *Core) dispatch(p *session, s *send) {
	kid := c.session(s.child)
	c.lay(p, s, kid)
	kid.sending = true
	s.before = kid.Child
	s.before.owed = owed{}
	c.register(kid, s.work)
	edge := railEdge{status: "launching"}
	kid.edge = &edge
	c.publishChild(kid, edge, nil)
	c.effect(PostTask{Session: p.id, Key: s.key, Child: kid.id, Text: s.args.input.Input})
}

// lay gives a child its line to the parent's stream.
func (c *Core) lay(p *session, s *send, kid *session) {
	c.record(wire.Record{Kind: wire.RecRail, Session: kid.id, State: encode(rail{
		Parent: p.id, Title: s.agent + ":" + s.name, Tool: s.agent, Session: s.name,
	})})
}

func (c *Core) onTaskPosted(ev TaskPosted) {
	p := c.sessions[ev.Session]
	s := p.sendOf(ev.Key)
	if s == nil {
		return
	}
	kid := c.session(s.child)
	kid.sending = false
	switch {
	case ev.Err != nil && s.steer:
		c.endSend(p, s, "Error: the message could not be sent: "+ev.Err.Error())
	case ev.Err != nil && s.arrived(kid):
		// Only the reply was lost: the child has begun, or has ended already.
		c.endSend(p, s, s.handle("launching"))
	case ev.Err != nil:
		c.undoSend(s, kid)
		c.endSend(p, s, "Error: the task could not be sent: "+ev.Err.Error())
	case s.steer:
		c.steered(p, s, kid)
		c.endSend(p, s, s.handle("running"))
	default:
		c.launched(kid)
		c.endSend(p, s, s.handle("launching"))
	}
}

// arrived tells whether a dispatch has shown that its message was taken.
func (s *send) arrived(kid *session) bool {
	w := kid.Child.Work
	return kid.Child.Drained == s.work.ID || w != nil && (w.ID != s.work.ID || w.State != workStamped)
}

// steered: the message went into a turn that ran. If that turn ended meanwhile
// it is a new dispatch.
func (c *Core) steered(p *session, s *send, kid *session) {
	if w := kid.Child.Work; w != nil && (w.State == workRunning || w.State == workWaiting) {
		return
	}
	w := work{Parent: p.id, ID: c.workID(), Agent: s.agent, Title: s.name, Stamp: kid.newestItem()}
	c.lay(p, s, kid)
	before := kid.Child.owed
	c.register(kid, w)
	next := *kid.Child.Work
	next.State, next.Unstamped = workRunning, true
	c.recordChild(kid, childState{Work: &next, owed: before})
	c.patch(kid, map[string]string{labelDispatch: w.ID})
}

// undoSend takes a dispatch back whose message was not taken: a continued child
// stands where it stood. Its receipt keeps a restart from taking its last text
// for an answer.
func (c *Core) undoSend(s *send, kid *session) {
	c.record(wire.Record{Kind: wire.RecRail, Session: kid.id, State: json.RawMessage("null")})
	kid.edge = nil
	if s.isNew {
		c.recordChild(kid, childState{})
		c.effect(DeleteChild{Session: kid.id})
		return
	}
	before := s.before
	before.owed = owed{Receipt: s.work.ID}
	c.recordChild(kid, before)
	c.patch(kid, before.labels())
}

func (s *send) handle(status string) string {
	return string(encode(map[string]string{
		"task_id": s.child, "handle_id": s.child, "conversation_id": s.child, "kind": "sub_agent",
		"agent": s.agent, "title": s.name, "status": status,
		"message": "The sub-agent works on it. Its result arrives in your inbox; read it with sys_read_inbox.",
	}))
}

// endSend answers a send and whoever joined it, the same now and later.
func (c *Core) endSend(p *session, s *send, text string) {
	p.sends = slices.DeleteFunc(p.sends, func(o *send) bool { return o == s })
	c.answerCall(p, s.running, text)
}

// resumeSends carries on what waited for the parent's agent.
func (c *Core) resumeSends(p *session) {
	for _, s := range slices.Clone(p.sends) {
		if !s.found {
			c.continueSend(p, s)
		}
	}
	for _, s := range slices.Clone(p.spawns) {
		if !s.found {
			c.continueCreate(p, s)
		}
	}
	c.resumeAskers(p)
}

// failSends ends what cannot wait for the parent's agent any longer.
func (c *Core) failSends(p *session, err error) {
	for _, s := range slices.Clone(p.sends) {
		if !s.found {
			c.endSend(p, s, "Error: the server could not say which agent this session runs: "+err.Error())
		}
	}
	for _, s := range slices.Clone(p.spawns) {
		if !s.found {
			c.endCreate(p, s, "Error: the server could not say which agent this session runs: "+err.Error())
		}
	}
	c.failAskers(p, err)
}
