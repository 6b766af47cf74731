package core

import (
	"encoding/json"

	"github.com/outrunner/outrunner/runner/wire"
)

// A program that asks for a tool of ours (a function call with status
// action_required) has it run by the server, which applies policy and calls
// back for what this runner does itself (sessions.md 5.7). The call and its
// output are stored here, under ids of their own, so that a program need not.

// CallTool asks for ToolAnswered.
type CallTool struct {
	Session string
	Turn    string
	CallID  string
	Call    wire.ToolCall
}

// ToolAnswered answers CallTool.
type ToolAnswered struct {
	Session string
	Turn    string
	CallID  string
	Output  string
	Err     error
}

// SendToTurn hands something to a running turn; it has no answer.
type SendToTurn struct {
	Session string
	Turn    string
	Msg     wire.ToHarness
}

func (CallTool) effect()    {}
func (SendToTurn) effect()  {}
func (ToolAnswered) event() {}

// functionCall is what the core reads of a call's item.
type functionCall struct {
	Type      string `json:"type"`
	Status    string `json:"status"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	CallID    string `json:"call_id"`
}

// asked takes a tool call that the program wants to have run. It returns false
// for any other item.
func (c *Core) asked(s *session, f Frame) bool {
	var call functionCall
	if json.Unmarshal(f.Item, &call) != nil || call.Type != "function_call" || call.Status != "action_required" {
		return false
	}
	if !json.Valid([]byte(call.Arguments)) || call.Arguments == "" || call.Arguments[0] != '{' {
		c.effect(SendToTurn{Session: s.id, Turn: f.Turn, Msg: wire.ToHarness{
			Type: wire.ToolResult, CallID: call.CallID, Output: `{"error":"the arguments are not a JSON object"}`,
		}})
		return true
	}
	mine := s.Open.isClientTool(call.Name)
	if mine && !c.awaitClient(s, call, f.Item) {
		return true
	}
	c.store(s, s.callItem("function_call", call.CallID, map[string]any{
		"agent": s.Open.Agent, "name": call.Name, "arguments": call.Arguments, "call_id": call.CallID,
	}))
	if mine {
		return true
	}
	c.effect(CallTool{Session: s.id, Turn: f.Turn, CallID: call.CallID, Call: wire.ToolCall{
		Op: "mcpop_" + c.cfg.NewID(), Name: call.Name, Args: json.RawMessage(call.Arguments),
	}})
	return true
}

func (s *session) callItem(kind, callID string, data map[string]any) wire.Outgoing {
	suffix := ":call:"
	if kind == "function_call_output" {
		suffix = ":output:"
	}
	return wire.Outgoing{
		SourceID: s.Open.ID + suffix + callID, ResponseID: s.Open.Response, ItemType: kind, ItemData: encode(data),
	}
}

func (c *Core) onToolAnswered(ev ToolAnswered) {
	s := c.sessions[ev.Session]
	out := ev.Output
	if ev.Err != nil {
		out = string(encode(map[string]string{"error": ev.Err.Error()}))
	}
	c.store(s, s.callItem("function_call_output", ev.CallID, map[string]any{"call_id": ev.CallID, "output": out}))
	c.effect(SendToTurn{Session: s.id, Turn: ev.Turn, Msg: wire.ToHarness{Type: wire.ToolResult, CallID: ev.CallID, Output: out}})
}
