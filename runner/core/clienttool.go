package core

import (
	"encoding/json"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// Whoever sends a message may bring tools that it runs itself (sessions.md 5.7).
// A call of one is told on the stream and waits for the event "tool_result".
// The call and its result are stored here like those of any tool. The name of a
// tool of the runner is taken: it stays the runner's (encodeTools).

// ToolResult is the event "tool_result": a client's answer to a call.
type ToolResult struct {
	Req     Req
	Session string
	CallID  string
	Output  string
}

func (ToolResult) event() {}

// clientCall is a call that waits for a client.
type clientCall struct {
	id   string
	item json.RawMessage // as it is told
}

// keptCalls bounds the calls that wait for clients at once.
const keptCalls = 128

// awaitClient tells clients of a call. It returns false for one call too many,
// or one that waits already.
func (c *Core) awaitClient(s *session, call functionCall, item json.RawMessage) bool {
	if slices.ContainsFunc(s.calls, func(o clientCall) bool { return o.id == call.CallID }) {
		return false
	}
	if len(s.calls) == keptCalls {
		c.effect(SendToTurn{Session: s.id, Turn: s.Open.ID, Msg: wire.ToHarness{
			Type: wire.ToolResult, CallID: call.CallID, Output: `{"error":"too many calls wait for the client"}`,
		}})
		return false
	}
	s.calls = append(s.calls, clientCall{call.CallID, item})
	c.publish(s, itemDone(item))
	return true
}

// tellCalls tells a new reader what waits for a client.
func (c *Core) tellCalls(s *session) {
	for _, call := range s.calls {
		c.publish(s, itemDone(call.item))
	}
}

// onToolResult passes a client's result on. One that nobody waits for is taken,
// as upstream does, unless nothing runs that could have asked.
func (c *Core) onToolResult(ev ToolResult) {
	s := c.session(ev.Session)
	c.name(s)
	if !s.live {
		c.replyError(ev.Req, 409, "no_live_harness", "No turn runs that could wait for the result.")
		return
	}
	c.reply(ev.Req, 204, nil)
	at := slices.IndexFunc(s.calls, func(o clientCall) bool { return o.id == ev.CallID })
	if at < 0 {
		return
	}
	s.calls = slices.Delete(s.calls, at, at+1)
	c.onToolAnswered(ToolAnswered{Session: s.id, Turn: s.Open.ID, CallID: ev.CallID, Output: ev.Output})
}

// isClientTool tells whether a client runs the tool.
func (t *turn) isClientTool(name string) bool {
	return slices.ContainsFunc(t.Tools, func(tool json.RawMessage) bool { return toolName(tool) == name })
}

// toolName is the name in a schema of either form, "" when it is none.
func toolName(schema json.RawMessage) string {
	var t struct {
		Type     string `json:"type"`
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(schema, &t) != nil || t.Type != "function" {
		return ""
	}
	return first(t.Function.Name, t.Name)
}

// encodeTools keeps the well-formed tools of a message, each name once, without
// the names of ours. None is nil.
func encodeTools(tools []json.RawMessage) json.RawMessage {
	taken := map[string]bool{"": true}
	for _, tool := range Toolbox(nil) {
		taken[tool.Name] = true
	}
	var list []json.RawMessage
	for _, tool := range tools {
		if name := toolName(tool); !taken[name] {
			taken[name] = true
			list = append(list, tool)
		}
	}
	if list == nil {
		return nil
	}
	return encode(list)
}

// decodeTools reads what encodeTools wrote.
func decodeTools(raw json.RawMessage) (list []json.RawMessage) {
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}
