package server

import (
	"encoding/json"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// shape lists the fields of an object on the stream, each with the JSON that
// stands for its absence; "" means that the sender must give it. Clients get
// every field, nulls included, and no other (server.md 1.11, 3).
type shape map[string]string

const null = "null"

var (
	errorShape = shape{"code": "", "message": "", "title": null, "cause": null, "remediation": null, "undelivered": null}
	retryShape = shape{"code": "", "message": "", "detail": null}
	// responseShape is the object of the response.* events.
	responseShape = shape{"id": "", "object": `"response"`, "status": "", "model": "", "created_at": "", "completed_at": null, "output": "[]",
		"background": "false", "store": "true", "usage": null, "previous_response_id": null, "conversation": null, "instructions": null,
		"reasoning": null, "error": null, "incomplete_details": null}
	usageShape = shape{"input_tokens": "0", "output_tokens": "0", "output_tokens_details": `{"reasoning_tokens":0}`, "total_tokens": "0",
		"context_tokens": null, "cache_read_input_tokens": "0", "cache_creation_input_tokens": "0", "model": null, "cost_usd": null}
	modelUsageShape = shape{"input_tokens": null, "output_tokens": null, "total_tokens": null, "cache_read_input_tokens": null,
		"cache_creation_input_tokens": null, "total_cost_usd": null}
	questionShape = shape{"mode": `"form"`, "message": "", "requestedSchema": null, "url": null, "phase": null, "policy_name": null,
		"content_preview": null, "target_session_id": null}
	backgroundShape = shape{"id": null, "type": null, "status": null, "description": null, "command": null}
	consumedShape   = shape{"item_id": "", "type": "", "data": "", "created_by": null, "cleared_pending_id": null}
	interruptShape  = shape{"requested_at": "", "response_id": null}
	startupShape    = shape{"status": "", "error": null}
	viewerShape     = shape{"user_id": "", "joined_at": "", "idle": "false"}
)

// eventShapes has the events of server.md 3; type and sequence_number are in all.
var eventShapes = map[string]shape{
	typeStatus: {"conversation_id": "", "status": "", "response_id": null, "error": null, "background_task_count": null,
		"background_tasks": null, "blocked_on": null},
	"session.usage":                         {"conversation_id": "", "context_tokens": null, "context_window": null, "total_cost_usd": null, "usage_by_model": null},
	"session.model":                         {"conversation_id": "", "model": ""},
	"session.title":                         {"conversation_id": "", "title": ""},
	"session.reasoning_effort":              {"conversation_id": "", "reasoning_effort": null},
	"session.collaboration_mode":            {"conversation_id": "", "mode": ""},
	"session.permission_mode":               {"conversation_id": "", "permission_mode": ""},
	"session.codex_approval_mode":           {"conversation_id": "", "approval_mode": ""},
	"session.agent_changed":                 {"conversation_id": "", "agent_id": "", "agent_name": ""},
	"session.todos":                         {"conversation_id": "", "todos": ""},
	"session.terminal_pending":              {"conversation_id": "", "pending": ""},
	"session.sandbox_status":                {"conversation_id": "", "stage": "", "error": null, "provider": null},
	"session.mcp_startup":                   {"conversation_id": "", "servers": ""},
	"session.model_options":                 {"conversation_id": ""},
	typeConsumed:                            {"data": ""},
	typeInterrupted:                         {"data": ""},
	typeCreated:                             {"conversation_id": "", "child_session_id": "", "agent_id": null, "parent_session_id": null},
	"session.superseded":                    {"conversation_id": "", "target_conversation_id": "", "reason": `"clear"`},
	"session.btw_sidechat":                  {"conversation_id": "", "question": "", "answer": "", "truncated": "false"},
	typePresence:                            {"conversation_id": "", "viewers": ""},
	typeResourceCreated:                     {"resource": ""},
	typeResourceDeleted:                     {"resource_id": "", "resource_type": "", "session_id": ""},
	typeChildUpdated:                        {"conversation_id": "", "child_session_id": "", "child": ""},
	typeChangedFiles:                        {"session_id": "", "environment_id": `"default"`},
	"session.terminal.activity":             {"session_id": "", "terminal_id": ""},
	typeHeartbeat:                           {"server_time": null},
	typeTextDelta:                           {"delta": "", "message_id": null, "index": null, "final": null},
	"response.function_call_output.delta":   {"call_id": "", "delta": ""},
	"response.reasoning.started":            {},
	"response.reasoning_text.delta":         {"delta": ""},
	"response.reasoning_summary_text.delta": {"delta": ""},
	typeItemDone:                            {"item": ""},
	"response.output_file.done":             {"file_id": "", "filename": null, "content_type": null},
	typeQuestion:                            {"elicitation_id": "", "method": `"elicitation/create"`, "params": ""},
	typeAnswered:                            {"elicitation_id": "", "action": null, "reason": null},
	"browser.action_request":                {"action_id": "", "action": "", "args": ""},
	"response.policy_denied":                {"conversation_id": "", "reason": `""`, "phase": `""`},
	"response.created":                      {"response": ""},
	"response.queued":                       {"response": ""},
	typeInProgress:                          {"response": ""},
	typeCompleted:                           {"response": ""},
	typeFailed:                              {"source": `"execution"`, "response": ""},
	typeCancelled:                           {"response": ""},
	typeIncomplete:                          {"response": ""},
	"response.retry":                        {"source": "", "tool_name": null, "attempt": "", "max_attempts": "", "delay_seconds": "", "error": ""},
	typeResponseError:                       {"source": "", "tool_name": null, "error": ""},
	"response.compaction.in_progress":       {"started_at": null},
	"response.compaction.completed":         {"total_tokens": null, "summary": null, "summary_model": null, "compacted_messages": null},
	"response.compaction.failed":            {},
	"response.client_task.cancel":           {"task_id": "", "call_id": null},
	"turn.started":                          {"session_id": ""},
	"turn.completed":                        {"session_id": ""},
	"turn.failed":                           {"session_id": "", "error": "{}"},
	"turn.cancelled":                        {"session_id": ""},
}

// keyInputs and keyItem are fields of ours: which messages a response answers,
// and which one a session's error is about. Only clients that ask for them get
// them (extras.go).
const (
	keyInputs = "input_item_ids"
	keyItem   = "item_id"
)

// emit publishes an event of a session with a change, in its full form.
func emit(tx *store.Tx, session, typ string, event any) error {
	raw, err := store.Encode(event)
	if err != nil {
		return err
	}
	if raw, err = wholeEvent(typ, raw); err != nil {
		return err
	}
	return tx.Emit(session, typ, json.RawMessage(raw))
}

// wholeEvent brings an event to the form in which clients get it. What has no
// entry here goes as it is.
func wholeEvent(typ string, raw []byte) ([]byte, error) {
	fields, known := eventShapes[typ]
	if !known {
		return raw, nil
	}
	event, err := object(raw, "event")
	if err != nil {
		return nil, err
	}
	out := fields.fill(event)
	out["type"], out["sequence_number"] = json.RawMessage(`"`+typ+`"`), json.RawMessage(null)
	if !isNull(event["sequence_number"]) {
		out["sequence_number"] = event["sequence_number"]
	}
	if strings.HasPrefix(typ, "response.") && event[keyInputs] != nil {
		out[keyInputs] = event[keyInputs]
	}
	inside(out, typ)
	return store.Encode(out)
}

// inside fills the objects within an event.
func inside(event map[string]json.RawMessage, typ string) {
	switch typ {
	case typeStatus:
		event["error"] = withItem(event["error"], errorShape.object(event["error"]))
		event["background_tasks"] = backgroundShape.list(event["background_tasks"])
	case "response.retry", typeResponseError:
		event["error"] = retryShape.object(event["error"])
	case "session.usage":
		event["usage_by_model"] = modelUsageShape.values(event["usage_by_model"])
	case "session.mcp_startup":
		event["servers"] = startupShape.values(event["servers"])
	case typePresence:
		event["viewers"] = viewerShape.list(event["viewers"])
	case typeConsumed:
		event["data"] = consumedShape.object(event["data"])
	case typeInterrupted:
		event["data"] = interruptShape.object(event["data"])
	case typeQuestion:
		var params map[string]json.RawMessage
		if json.Unmarshal(event["params"], &params) == nil && params != nil {
			for k, v := range questionShape { // further keys are the asker's
				if params[k] == nil && v != "" {
					params[k] = json.RawMessage(v)
				}
			}
			event["params"] = encoded(params, event["params"])
		}
	}
	if res, ok := event["response"]; ok {
		event["response"] = wholeResponse(res)
	}
}

// withItem keeps the message that an error is about: a field of ours.
func withItem(given, whole json.RawMessage) json.RawMessage {
	var was, now map[string]json.RawMessage
	if json.Unmarshal(given, &was) != nil || isNull(was[keyItem]) || json.Unmarshal(whole, &now) != nil {
		return whole
	}
	now[keyItem] = was[keyItem]
	return encoded(now, whole)
}

func wholeResponse(raw json.RawMessage) json.RawMessage {
	var res map[string]json.RawMessage
	if json.Unmarshal(raw, &res) != nil || res == nil {
		return raw
	}
	out := responseShape.fill(res)
	out["error"], out["usage"] = errorShape.object(out["error"]), usageShape.object(out["usage"])
	return encoded(out, raw)
}

// fill makes an object of the shape: what is given, else what stands for
// nothing. A field that the sender must give and did not stays away.
func (s shape) fill(given map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(s)+3)
	for k, none := range s {
		switch v, ok := given[k]; {
		case ok && (none == null || none == "" || !isNull(v)):
			out[k] = v
		case none != "":
			out[k] = json.RawMessage(none)
		}
	}
	return out
}

// object is fill for JSON; what is no object stays as it is.
func (s shape) object(raw json.RawMessage) json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil || given == nil {
		return raw
	}
	return encoded(s.fill(given), raw)
}

// list is object for each element, values for each value of an object.
func (s shape) list(raw json.RawMessage) json.RawMessage {
	var given []json.RawMessage
	if json.Unmarshal(raw, &given) != nil || given == nil {
		return raw
	}
	for i, v := range given {
		given[i] = s.object(v)
	}
	return encoded(given, raw)
}

func (s shape) values(raw json.RawMessage) json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil || given == nil {
		return raw
	}
	for k, v := range given {
		given[k] = s.object(v)
	}
	return encoded(given, raw)
}

func encoded(v any, otherwise json.RawMessage) json.RawMessage {
	b, err := store.Encode(v)
	if err != nil {
		return otherwise
	}
	return b
}
