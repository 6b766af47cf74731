package wire

import "encoding/json"

// ToHarness is something for a running turn.
type ToHarness struct {
	Type string // ToolResult, Approval, Steer, PolicyVerdict
	// Of a ToolResult.
	CallID, Output string
	// Of an Approval; Content is a JSON object, or nil.
	ElicitationID string
	// Of a Steer; Content is the message's.
	InjectionID string
	// Of a PolicyVerdict; Data is what to use in the place of what was asked
	// about, or nil.
	EvaluationID, Reason string
	Data                 json.RawMessage

	Action  string
	Content json.RawMessage
}

// What a running turn is sent (harness.md 2.3).
const (
	ToolResult    = "tool_result"    // answers a tool call
	Approval      = "approval"       // answers an elicitation
	Steer         = "message"        // a message that came during the turn
	PolicyVerdict = "policy_verdict" // answers a PolicyRequest
)

// MarshalJSON writes the fields of the type, and no others.
func (m ToHarness) MarshalJSON() ([]byte, error) {
	switch m.Type {
	case Approval:
		return json.Marshal(struct {
			Type          string          `json:"type"`
			ElicitationID string          `json:"elicitation_id"`
			Action        string          `json:"action"`
			Content       json.RawMessage `json:"content,omitempty"`
		}{m.Type, m.ElicitationID, m.Action, m.Content})
	case Steer:
		return json.Marshal(struct {
			Type        string          `json:"type"`
			InjectionID string          `json:"injection_id"`
			Role        string          `json:"role"`
			Content     json.RawMessage `json:"content"`
		}{m.Type, m.InjectionID, "user", m.Content})
	case PolicyVerdict:
		return json.Marshal(struct {
			Type         string          `json:"type"`
			EvaluationID string          `json:"evaluation_id"`
			Action       string          `json:"action"`
			Reason       string          `json:"reason,omitempty"`
			Data         json.RawMessage `json:"data,omitempty"`
		}{m.Type, m.EvaluationID, m.Action, m.Reason, m.Data})
	}
	return json.Marshal(struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}{m.Type, m.CallID, m.Output})
}

// PolicyDeny and PolicyAllow are verdicts; there are others.
const (
	PolicyAllow = "POLICY_ACTION_ALLOW"
	PolicyDeny  = "POLICY_ACTION_DENY"
)
