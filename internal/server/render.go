package server

import (
	"bytes"
	"encoding/json"

	"github.com/outrunner/outrunner/internal/server/store"
)

// dict is a JSON object in the making.
type dict map[string]any

// orNull is the text, or null for an empty one.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// rawOrNull is the JSON, or null for none.
func rawOrNull(b json.RawMessage) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// envelope is a page of a list (server.md 0).
func envelope(rows []any, first, last string, more bool) dict {
	if rows == nil {
		rows = []any{}
	}
	return dict{"object": "list", "data": rows, "first_id": orNull(first), "last_id": orNull(last), "has_more": more}
}

// flatItem is an item as lists and live events show it: the fields of its type
// beside the common ones, without nulls.
func flatItem(i *store.Item) (dict, error) {
	data, err := object(i.Data, "item data")
	if err != nil {
		return nil, err
	}
	out := make(dict, len(data)+6)
	for k, v := range data {
		if !isNull(v) {
			out[k] = v
		}
	}
	out["id"], out["response_id"], out["type"] = i.ID, i.ResponseID, i.Type
	out["status"], out["created_at"] = i.Status, i.CreatedAt
	if i.CreatedBy != "" {
		out["created_by"] = i.CreatedBy
	}
	return out, nil
}

// nestedKeys are the fields that a nested item always shows.
var nestedKeys = map[string][]string{
	"message":          {"model", "stream_message_id"},
	"reasoning":        {"content", "encrypted_content"},
	"error":            {"level", "title", "cause", "remediation"},
	"resource_event":   {"resource"},
	"compaction":       {"model", "compacted_messages", "window_id"},
	"routing_decision": {"agent", "harness", "decision_id", "raw_model", "attempted_override", "router_source", "task_description"},
	"slash_command":    {"output"},
	"terminal_command": {"input", "stdout", "stderr"},
}

// nestedItem is an item as a snapshot shows it.
func nestedItem(i *store.Item) (dict, error) {
	data, err := object(i.Data, "item data")
	if err != nil {
		return nil, err
	}
	for _, k := range nestedKeys[i.Type] {
		if _, ok := data[k]; !ok {
			data[k] = json.RawMessage("null")
		}
	}
	return dict{"id": i.ID, "type": i.Type, "status": i.Status, "response_id": i.ResponseID,
		"created_at": i.CreatedAt, "data": data, "created_by": orNull(i.CreatedBy)}, nil
}

// pendingInput is one message that no runner has accepted yet. item_id is ours:
// it lets a runner know which stored items are still work.
func pendingInput(p store.Pending, extras bool) (dict, error) {
	data, err := object(p.Item.Data, "item data")
	if err != nil {
		return nil, err
	}
	out := dict{"pending_id": "pending_" + p.Item.ID, "content": data["content"]}
	if extras {
		out["item_id"] = p.Item.ID
	}
	if p.Item.CreatedBy != "" {
		out["created_by"] = p.Item.CreatedBy
	}
	return out, nil
}

// listRow is a SessionListItem (server.md 2.5): nulls are left out.
func listRow(ses *store.Session) dict {
	out := dict{
		"id": ses.ID, "agent_id": ses.AgentID, "agent_name": ses.AgentName, "status": ses.Status,
		"created_at": ses.CreatedAt, "updated_at": ses.UpdatedAt, "title": orNull(ses.Title), "labels": ses.Labels,
		"runner_id": orNull(ses.RunnerID), "reasoning_effort": orNull(ses.ReasoningEffort), "permission_level": 4, "owner": ses.Owner,
		"external_session_id": orNull(ses.ExternalSessionID), "pending_elicitations_count": ses.Questions, "workspace": orNull(ses.Workspace),
		"archived": ses.Archived, "comments_count": 0, "viewer_unread": ses.Unread, "project_id": rawOrNull(ses.Settings["project_id"]), "parent_session_id": orNull(ses.ParentID),
	}
	if ses.LastSeen != 0 {
		out["viewer_last_seen"] = ses.LastSeen
	}
	for k, v := range out {
		if v == nil {
			delete(out, k)
		}
	}
	return out
}

// agentObject is an AgentObject (server.md 2.5).
func agentObject(a *agent) dict {
	uploaded := a.Source == sourceUpload
	var updated any
	if a.Version > 1 {
		updated = a.UpdatedAt
	}
	return dict{
		"id": a.ID, "object": "agent", "name": a.Name, "version": a.Version, "description": nil,
		"created_at": a.CreatedAt, "updated_at": updated, "harness": orNull(a.Spec.Harness),
		"mcp_servers": []any{}, "mcp_servers_editable": uploaded, "mcp_registry_editable": uploaded,
		"policies": []any{}, "skills": []any{}, "terminals": terminalNames(a.Spec), "builtin": a.Source == sourceBuiltin,
	}
}

func isNull(b json.RawMessage) bool {
	return len(b) == 0 || bytes.Equal(bytes.TrimSpace(b), []byte("null"))
}
