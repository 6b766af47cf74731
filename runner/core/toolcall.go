package core

import (
	"encoding/json"
	"errors"
	"hash/fnv"
	"strconv"

	"github.com/outrunner/outrunner/runner/wire"
)

// ToolCall is tools/call on POST /v1/sessions/{id}/mcp/execute
// (sessions.md 2.3): a tool of the runner that an agent's server asks it to run.
type ToolCall struct {
	Req     Req
	Session string
	// Op names the execution: a repeat is told the same. "" = no name.
	Op   string
	Name string
	Args json.RawMessage
}

func (ToolCall) event() {}

// fingerprint tells calls of one operation apart.
func (t ToolCall) fingerprint() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.Name + " " + string(t.Args))) // a hash takes everything
	return strconv.FormatUint(h.Sum64(), 36)
}

var errOtherCall = errors.New("this operation id is of another call")

// running is a tool call at work that takes several steps. A repeat of its
// operation joins it.
type running struct {
	key   string // of its questions
	call  ToolCall
	reqs  []Req
	found bool // the parent's agent was there
}

func (c *Core) run(call ToolCall) running {
	c.calls++
	return running{key: strconv.Itoa(c.calls), call: call, reqs: []Req{call.Req}}
}

// join lets a repeat of the operation wait with the call. It returns false for
// another operation.
func (c *Core) join(r *running, call ToolCall) bool {
	switch {
	case call.Op == "" || call.Op != r.call.Op:
		return false
	case call.fingerprint() != r.call.fingerprint():
		c.replyTool(call.Req, "", errOtherCall)
	default:
		r.reqs = append(r.reqs, call.Req)
	}
	return true
}

// answerCall answers a call and whoever joined it, the same now and later.
func (c *Core) answerCall(p *session, r running, output string) {
	if r.call.Op != "" {
		c.record(wire.Record{Kind: wire.RecDrained, Session: p.id, State: encode(drained{
			Op: r.call.Op, Call: r.call.fingerprint(), Text: output,
		})})
	}
	for _, req := range r.reqs {
		c.replyTool(req, output, nil)
	}
}

func (c *Core) onToolCall(ev ToolCall) {
	s := c.session(ev.Session)
	c.name(s)
	if c.repeated(s, ev) {
		return
	}
	switch ev.Name {
	case toolInbox:
		s.readers = append(s.readers, ev)
		c.recoverChildren(s)
		c.readInbox(s)
	case toolSend:
		c.beginSend(s, ev)
	case toolCreate:
		c.beginCreate(s, ev)
	case toolCancel:
		c.cancelTask(s, ev)
	case toolTermLaunch, toolTermSend, toolTermRead, toolTermList, toolTermClose:
		c.beginTerminal(s, ev)
	case toolList, toolInfo, toolHistory:
		c.effect(LookUp{Session: s.id, Req: ev.Req, Name: ev.Name, Args: ev.Args})
	default:
		c.replyTool(ev.Req, "", errors.New("this runner has no tool named "+quote(ev.Name)))
	}
}

// repeated answers a call whose operation was answered before.
func (c *Core) repeated(s *session, call ToolCall) bool {
	a := s.Inbox.answered(call.Op)
	switch {
	case a == nil:
		return false
	case a.Call != "" && a.Call != call.fingerprint():
		c.replyTool(call.Req, "", errOtherCall)
	default:
		c.replyTool(call.Req, a.Text, nil)
	}
	return true
}

// replyTool answers a tool call in the shape of /mcp/execute.
func (c *Core) replyTool(req Req, output string, err error) {
	if err != nil {
		c.reply(req, 200, encode(map[string]any{"error": map[string]any{"code": -32000, "message": err.Error()}}))
		return
	}
	c.reply(req, 200, encode(map[string]any{"result": map[string]string{"output": output}}))
}
