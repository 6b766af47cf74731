package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// sys_cancel_task asks a sub-agent to stop (subagents-catchup.md 8). The request
// goes through the server, as a human's would; the end comes as any other. What
// can be asked of it is told by its program, and whose it is by its work or,
// without any here, by the server.

// stopCapable are the wrappers of programs that can be stopped for sure.
var stopCapable = []string{"claude", "cursor", "goose", "kiro", "kimi", "hermes", "qwen", "devin"}

// bestEffort are those that are asked, and may not hear.
var bestEffort = []string{"codex", "pi", "antigravity", "opencode"}

// PostControl asks for ControlPosted: an event for a child's session.
type PostControl struct {
	Session string // the parent
	Child   string
	Type    string // "interrupt" or "stop_session"
	Soft    bool   // its program may not hear
	Req     Req
}

// ControlPosted answers PostControl.
type ControlPosted struct {
	Session string
	Child   string
	Type    string
	Soft    bool
	Req     Req
	Err     error
}

func (PostControl) effect()  {}
func (ControlPosted) event() {}

// canceling waits for the server's word on whom it is to stop.
type canceling struct {
	key  string // of its question
	req  Req
	task string
}

// cancelled is the output of sys_cancel_task.
type cancelled struct {
	TaskID    string `json:"task_id"`
	Cancelled bool   `json:"cancelled"`
	Requested bool   `json:"cancel_requested,omitempty"`
	Confirmed *bool  `json:"cancel_confirmed,omitempty"`
	Effort    bool   `json:"best_effort,omitempty"`
	Status    string `json:"status,omitempty"`
	Message   string `json:"message,omitempty"`
}

func (c *Core) cancelTask(p *session, call ToolCall) {
	var args struct {
		TaskID   string `json:"task_id"`
		HandleID string `json:"handle_id"`
	}
	if json.Unmarshal(call.Args, &args) != nil || first(args.TaskID, args.HandleID) == "" {
		c.replyTool(call.Req, "Error: sys_cancel_task needs a task_id", nil)
		return
	}
	id := first(args.TaskID, args.HandleID)
	kid := c.sessions[id]
	var w *work
	if kid != nil {
		w = kid.Child.Work
	}
	switch {
	case w != nil && (w.Parent != p.id || w.State.terminal()), kid != nil && kid.Identity.Known:
		c.cancel(p, call.Req, id, w != nil || kid.Identity.ParentID == p.id, kid.Identity.Wrapper)
	default:
		c.calls++
		ask := canceling{key: strconv.Itoa(c.calls), req: call.Req, task: id}
		p.cancels = append(p.cancels, ask)
		c.effect(FindChild{Session: p.id, Key: ask.key, Name: id})
	}
}

// onCancelFound goes on once the server has said whose the target is, and which
// program it has.
func (c *Core) onCancelFound(p *session, ev ChildFound) {
	at := slices.IndexFunc(p.cancels, func(a canceling) bool { return a.key == ev.Key })
	if at < 0 {
		return
	}
	ask := p.cancels[at]
	p.cancels = slices.Delete(p.cancels, at, at+1)
	if ev.Err != nil {
		c.replyTool(ask.req, "Error: the server could not be asked for the sub-agent: "+ev.Err.Error(), nil)
		return
	}
	c.cancel(p, ask.req, ask.task, ev.Found && !ev.Child.Foreign, ev.Child.Labels[labelWrapper])
}

// cancel asks the target to stop, if it is the caller's and there is something
// to stop. One whose work was read, or is not remembered, is only stopped for
// sure: a stop is good for what it does now all the same.
func (c *Core) cancel(p *session, req Req, id string, mine bool, wrapper string) {
	var w *work
	if kid := c.sessions[id]; kid != nil {
		w = kid.Child.Work
	}
	stops := wrapped(wrapper, stopCapable)
	switch {
	case w != nil && w.Parent == p.id && w.State.terminal():
		c.replyTool(req, string(encode(cancelled{
			TaskID: id, Cancelled: w.State == workCancelled, Status: string(w.State),
			Message: "It has ended; its result is in your inbox.",
		})), nil)
	case !mine, w != nil && w.Parent != p.id, w == nil && !stops:
		c.replyTool(req, string(encode(map[string]string{"error": "task_not_found", "task_id": id})), nil)
	case stops:
		c.effect(PostControl{Session: p.id, Child: id, Type: "stop_session", Req: req})
	default:
		c.effect(PostControl{Session: p.id, Child: id, Type: "interrupt", Soft: wrapped(wrapper, bestEffort), Req: req})
	}
}

// wrapped tells whether a session's wrapper label is of one of the programs.
func wrapped(wrapper string, programs []string) bool {
	name, _, _ := strings.Cut(wrapper, "-")
	return slices.Contains(programs, name)
}

func (c *Core) onControlPosted(ev ControlPosted) {
	kid := c.sessions[ev.Child]
	no := false
	out := cancelled{TaskID: ev.Child, Requested: true, Confirmed: &no, Message: "It was asked to stop; its result arrives in your inbox."}
	switch {
	case ev.Err != nil && ev.Type == "stop_session":
		out.Effort = true
		out.Message = "It could not be stopped for sure: " + ev.Err.Error()
	case ev.Err != nil:
		c.replyTool(ev.Req, fmt.Sprintf("Error: the sub-agent could not be asked to stop: %v", ev.Err), nil)
		return
	case kid != nil && kid.Child.Work != nil && kid.Child.Work.State == workCancelled:
		out.Cancelled, out.Confirmed = true, nil
	case ev.Type == "stop_session" && (kid == nil || kid.Child.Work == nil):
		out.Cancelled, out.Confirmed, out.Message = true, nil, "It was stopped; nothing of it will arrive."
	case ev.Soft:
		out.Effort = true
	}
	c.replyTool(ev.Req, string(encode(out)), nil)
}
