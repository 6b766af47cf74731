package runner

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

// refusal is an answer that is decided by the request alone.
type refusal struct {
	status       int
	code, detail string
}

func (r *refusal) Error() string { return r.detail }

// envelope is session_init as the server sends it (sessions.md 2.1). Unknown
// keys are ignored; pointers tell null and absent from empty.
type envelope struct {
	ProtocolVersion int     `json:"protocol_version"`
	ServerVersion   any     `json:"server_version"` // a string; anything else is none
	SessionID       string  `json:"session_id"`
	AgentID         string  `json:"agent_id"`
	SubAgentName    *string `json:"sub_agent_name"`
	Suppress        bool    `json:"suppress_recovery_turn"`
	Resume          bool    `json:"resume_interrupted_turn"`
	RecoveryID      *string `json:"recovery_id"`
	Snapshot        *struct {
		CreatedAt       int64             `json:"created_at"`
		Workspace       *string           `json:"workspace"`
		Labels          map[string]string `json:"labels"`
		ReasoningEffort *string           `json:"reasoning_effort"`
		ModelOverride   *string           `json:"model_override"`
		HarnessOverride *string           `json:"harness_override"`
		ParentSessionID *string           `json:"parent_session_id"`
		InferenceConfig *struct {
			Providers map[string]json.RawMessage `json:"providers"`
			Inference map[string]json.RawMessage `json:"inference"`
		} `json:"inference_config"`
	} `json:"snapshot"`
}

// decodeInit reads the body of POST /v1/sessions. An envelope that is missing,
// not an object or of another version means the three-key body; one of version
// 2 that is wrong or disagrees with the body is an error.
func decodeInit(body map[string]json.RawMessage) (core.Init, error) {
	var ev core.Init
	name, ok := stringOrNull(body["sub_agent_name"])
	if !ok {
		return ev, errors.New("sub_agent_name must be a string or null")
	}
	ev.SubAgent = name
	if json.Unmarshal(body["session_id"], &ev.Session) != nil || ev.Session == "" {
		return ev, errors.New("session_id must be a non-empty string")
	}
	if json.Unmarshal(body["agent_id"], &ev.AgentID) != nil || ev.AgentID == "" {
		return ev, errors.New("agent_id must be a non-empty string")
	}
	var version struct {
		ProtocolVersion json.RawMessage `json:"protocol_version"`
	}
	raw := body["session_init"]
	if json.Unmarshal(raw, &version) != nil || string(version.ProtocolVersion) != "2" {
		return ev, nil
	}
	var env envelope
	if err := json.Unmarshal(raw, &env); err != nil {
		return ev, errors.New("session_init is not valid: " + err.Error())
	}
	switch {
	case env.Snapshot == nil:
		return ev, errors.New("session_init has no snapshot")
	case env.SessionID != ev.Session || env.AgentID != ev.AgentID || deref(env.SubAgentName) != ev.SubAgent:
		return ev, errors.New("session_init names another session or agent than the body")
	}
	snap := env.Snapshot
	if ic := snap.InferenceConfig; ic != nil && len(ic.Providers)+len(ic.Inference) > 0 {
		return ev, &refusal{http.StatusConflict, "inference_config_mismatch",
			"This runner was started without a provider configuration; the session has one."}
	}
	serverVersion, _ := env.ServerVersion.(string)
	ev.Envelope = &core.Envelope{
		ServerVersion: serverVersion,
		Suppress:      env.Suppress, Resume: env.Resume, RecoveryID: deref(env.RecoveryID),
		Snapshot: wire.Snapshot{
			ID: ev.Session, AgentID: ev.AgentID, SubAgentName: ev.SubAgent,
			ParentID: deref(snap.ParentSessionID), Workspace: deref(snap.Workspace), Labels: snap.Labels,
			ReasoningEffort: deref(snap.ReasoningEffort), ModelOverride: deref(snap.ModelOverride),
			HarnessOverride: deref(snap.HarnessOverride), CreatedAt: snap.CreatedAt,
		},
	}
	return ev, nil
}

// decodeMessage reads a message. Its fields are hints; one of a wrong type is
// as good as absent, and null content is empty (sessions.md 14, trap 22).
func decodeMessage(body map[string]json.RawMessage) core.Message {
	text := func(key string) string {
		s, ok := stringOrNull(body[key])
		if !ok {
			return ""
		}
		return s
	}
	m := core.Message{
		ItemID: text("persisted_item_id"), StableID: text("stable_id"),
		AgentID: text("agent_id"), Revision: text("agent_revision"),
		Override: text("harness_override"), Model: text("model_override"), Content: body["content"],
	}
	if len(m.Content) == 0 || string(m.Content) == "null" {
		m.Content = json.RawMessage("[]")
	}
	// What is no list of schemas brings no tools.
	_ = json.Unmarshal(body["tools"], &m.Tools)
	var reasoning struct {
		Effort string `json:"effort"`
	}
	if json.Unmarshal(body["reasoning"], &reasoning) == nil {
		m.Effort = reasoning.Effort
	}
	return m
}

// decodeAnswer reads an approval, whose fields are under data or flat
// (sessions.md 3).
func decodeAnswer(body map[string]json.RawMessage) (core.Answer, error) {
	if raw, ok := body["data"]; ok {
		var data map[string]json.RawMessage
		if json.Unmarshal(raw, &data) != nil {
			return core.Answer{}, errors.New("the approval's data must be an object")
		}
		body = data
	}
	id, ok := stringOrNull(body["elicitation_id"])
	if !ok || id == "" {
		return core.Answer{}, errors.New("an approval needs an elicitation_id")
	}
	action, ok := stringOrNull(body["action"])
	if !ok || action != wire.Accept && action != wire.Decline && action != wire.Cancel {
		return core.Answer{}, errors.New("the action of an approval is accept, decline or cancel")
	}
	return core.Answer{Question: id, Action: action, Content: body["content"]}, nil
}

// decodeToolResult reads a client's answer to a tool call. An output that is
// not text is taken as its JSON.
func decodeToolResult(body map[string]json.RawMessage) (core.ToolResult, error) {
	id, ok := stringOrNull(body["call_id"])
	if !ok || id == "" {
		return core.ToolResult{}, errors.New("a tool_result needs a call_id")
	}
	output, ok := stringOrNull(body["output"])
	if !ok {
		output = string(body["output"])
	}
	return core.ToolResult{CallID: id, Output: output}, nil
}

// stringOrNull reads a string; absent and null are "".
func stringOrNull(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 {
		return "", true
	}
	var s *string
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return deref(s), true
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
