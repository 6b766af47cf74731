package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// sys_cancel_task asks a sub-agent to stop (subagents-catchup.md 8). The request
// goes through the server, as a human's would; the end comes as any other.

// stopCapable are the wrappers of programs that can be stopped for sure.
var stopCapable = []string{"claude", "cursor", "goose", "kiro", "kimi", "hermes", "qwen", "devin"}

// bestEffort are those that are asked, and may not hear.
var bestEffort = []string{"codex", "pi", "antigravity", "opencode"}

// PostControl asks for ControlPosted: an event for a child's session.
type PostControl struct {
	Session string // the parent
	Child   string
	Type    string // "interrupt" or "stop_session"
	Req     Req
}

// ControlPosted answers PostControl.
type ControlPosted struct {
	Session string
	Child   string
	Type    string
	Req     Req
	Err     error
}

func (PostControl) effect()  {}
func (ControlPosted) event() {}

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
	case w == nil && kid != nil && kid.Identity.ParentID == p.id && wrapped(kid.Identity.Wrapper, stopCapable):
		// Its work was read, or is not remembered; a stop is good for what it
		// does now all the same.
		c.effect(PostControl{Session: p.id, Child: id, Type: "stop_session", Req: call.Req})
	case w == nil || w.Parent != p.id:
		c.replyTool(call.Req, string(encode(map[string]string{"error": "task_not_found", "task_id": id})), nil)
	case w.State.terminal():
		c.replyTool(call.Req, string(encode(cancelled{
			TaskID: id, Cancelled: w.State == workCancelled, Status: string(w.State),
			Message: "It has ended; its result is in your inbox.",
		})), nil)
	default:
		kind := "interrupt"
		if wrapped(kid.Identity.Wrapper, stopCapable) {
			kind = "stop_session"
		}
		c.effect(PostControl{Session: p.id, Child: id, Type: kind, Req: call.Req})
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
	case kid != nil && wrapped(kid.Identity.Wrapper, bestEffort):
		out.Effort = true
	}
	c.replyTool(ev.Req, string(encode(out)), nil)
}
