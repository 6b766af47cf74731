package core

import (
	"encoding/json"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// After an interrupt the conversation tells the next turn what happened, where
// its harness is given the conversation (sessions.md 5.11): every call has an
// output, and one message in the user's name says that the request was given up.
// It looks like a message and is never run (catchup/plan, authority).

// interruptedText begins with the line by which everybody knows the marker.
const interruptedText = "[System: interrupted]\n" +
	"The user stopped the request above. It is given up: do not go on with it unless you are asked to. Your last answer may be incomplete."

const cancelledOutput = `{"error":"cancelled: the turn was interrupted before the tool had answered"}`

// note keeps track of the calls of the open turn that have no output yet.
func (s *session) note(out wire.Outgoing) {
	if out.ItemType != "function_call" && out.ItemType != "function_call_output" {
		return
	}
	var item struct {
		CallID string `json:"call_id"`
	}
	if json.Unmarshal(out.ItemData, &item) != nil || item.CallID == "" {
		return
	}
	callID := item.CallID
	switch out.ItemType {
	case "function_call":
		s.dangling = append(s.dangling, callID)
	case "function_call_output":
		s.dangling = slices.DeleteFunc(s.dangling, func(id string) bool { return id == callID })
	}
}

// mark stores what an interrupted turn leaves to the next.
func (c *Core) mark(s *session) {
	if traits, _ := c.cfg.Traits(s.warm); !traits.History {
		return
	}
	for _, id := range slices.Clone(s.dangling) {
		c.store(s, s.callItem("function_call_output", id, map[string]any{"call_id": id, "output": cancelledOutput}))
	}
	c.store(s, wire.Outgoing{
		SourceID: s.Open.ID + ":interrupted", ResponseID: s.Open.Response, ItemType: "message",
		ItemData: encode(map[string]any{
			"role": "user", "content": []any{map[string]string{"type": "input_text", "text": interruptedText}},
		}),
	})
}
