package core

import (
	"encoding/json"

	"github.com/outrunner/outrunner/runner/wire"
)

// The tools of this runner that an agent's program may call (sessions.md 12).
const (
	toolInbox   = "sys_read_inbox"
	toolSend    = "sys_session_send"
	toolCreate  = "sys_session_create"
	toolCancel  = "sys_cancel_task"
	toolList    = "sys_session_list"
	toolInfo    = "sys_session_get_info"
	toolHistory = "sys_session_get_history"
)

// surface tells whether an agent may use a tool: what it declares decides, and
// a call of any other is refused (subagents-catchup.md 8).
func surface(spec *wire.Spec, tool string) bool {
	switch tool {
	case toolSend:
		return len(spec.Agents) > 0 || spec.Spawn
	case toolCreate:
		return spec.Spawn
	}
	return true
}

// refusal is the output of a call outside the surface.
func refusal(tool string) string {
	what := "declare sub-agents for it, or spawn: true"
	if isTerminalTool(tool) {
		what = "declare terminals for it, and run it on a runner that has them"
	}
	return string(encode(map[string]string{"error": "tool '" + tool + "' is not enabled for this agent: " + what}))
}

// toolSchemas are the schemas of the agent's surface.
func (c *Core) toolSchemas(spec *wire.Spec) []json.RawMessage {
	var list []json.RawMessage
	for _, t := range c.toolsOf(spec) {
		list = append(list, encode(map[string]any{"type": "function", "function": t}))
	}
	return list
}

// Tool describes a tool to a model.
type Tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"` // JSON schema
}

// Toolbox describes all tools but those of terminals, to an agent that has these
// sub-agents.
func Toolbox(agents []*wire.Spec) []Tool {
	which := text("Which sub-agent.")
	if len(agents) > 0 {
		var names []string
		for _, a := range agents {
			names = append(names, a.Name)
		}
		which["enum"] = names
	}
	return []Tool{
		tool(toolInbox, "Read the results of your sub-agents that have arrived. Returns at once.", nil),
		tool(toolSend, "Give a sub-agent a task. It works on its own; its result arrives in your inbox.", map[string]any{
			"agent":      which,
			"title":      text("A name for its session; the same name continues it."),
			"session_id": text("A session of yours to continue, instead of agent and title."),
			"args":       text("The task, in full: the sub-agent sees nothing else."),
		}, "args"),
		tool(toolCreate, "Start a session of another agent of the server, beside your sub-agents.", map[string]any{
			"agent_id":         text("Which agent."),
			"title":            text("A name for the session."),
			"message":          text("Its first message, in full."),
			"model":            text("The model it is to use."),
			"reasoning_effort": text("How hard it is to think."),
		}, "agent_id"),
		tool(toolCancel, "Ask a sub-agent to stop what it does for you.", map[string]any{
			"task_id": text("The task_id that sys_session_send gave."),
		}, "task_id"),
		tool(toolList, "List your sub-agents, and the sessions of the server.", map[string]any{
			"agent_name": text("Only sessions of this agent."),
			"limit":      number("How many sessions at most.", 1, 100),
			"cursor":     text("The next_cursor of the list before."),
		}),
		tool(toolInfo, "Show what a session is and does, without its messages.", map[string]any{
			"session_id": text("Which session; yours when it is left out."),
		}),
		tool(toolHistory, "Read the newest messages, tool calls and outputs of a session.", map[string]any{
			"conversation_id":      text("Which session."),
			"tail_items":           number("How many of the newest; 10 when it is left out.", 1, 50),
			"content_max_chars":    number("How much of each; 2000 when it is left out.", 1, 100_000),
			"content_offset_chars": number("Where in each to begin.", 0, 1<<31),
		}, "conversation_id"),
	}
}

func tool(name, description string, properties map[string]any, required ...string) Tool {
	if properties == nil {
		properties = map[string]any{}
	}
	params := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		params["required"] = required
	}
	return Tool{Name: name, Description: description, Parameters: params}
}

func text(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

func number(description string, low, high int) map[string]any {
	return map[string]any{"type": "integer", "minimum": low, "maximum": high, "description": description}
}

// ToolList asks which tools the session's agent may call; its answer is a JSON
// list of Tool, or 404 for a session that is not there. While the server cannot
// say which agent that is, it is the whole toolbox: what the agent may not call is
// refused when it does.
type ToolList struct {
	Req     Req
	Session string
}

func (ToolList) event() {}

func (c *Core) onToolList(ev ToolList) {
	c.askForAgent(ev.Session, &asker{running: running{reqs: []Req{ev.Req}}, tools: true})
}

// LookUp asks for LookedUp: a tool that only reads the server.
type LookUp struct {
	Session string
	Req     Req
	Name    string
	Args    json.RawMessage
}

// LookedUp answers LookUp.
type LookedUp struct {
	Req    Req
	Output string
	Err    error
}

func (LookUp) effect()  {}
func (LookedUp) event() {}

func (c *Core) onLookedUp(ev LookedUp) { c.replyTool(ev.Req, ev.Output, ev.Err) }
