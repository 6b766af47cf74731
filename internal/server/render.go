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

// nestedItem is an item as a snapshot shows it.
func nestedItem(i *store.Item) (dict, error) {
	data, err := object(i.Data, "item data")
	if err != nil {
		return nil, err
	}
	if i.Type == "message" {
		for _, k := range []string{"model", "stream_message_id"} {
			if _, ok := data[k]; !ok {
				data[k] = json.RawMessage("null")
			}
		}
	}
	return dict{"id": i.ID, "type": i.Type, "status": i.Status, "response_id": i.ResponseID,
		"created_at": i.CreatedAt, "data": data, "created_by": orNull(i.CreatedBy)}, nil
}

// snapshot is a SessionResponse (server.md 2.2): every key is always there.
func (s *Server) snapshot(ses *store.Session, a *agent, items []*store.Item, pending []store.Pending) (dict, error) {
	nested := []any{}
	for _, i := range items {
		n, err := nestedItem(i)
		if err != nil {
			return nil, err
		}
		nested = append(nested, n)
	}
	inputs := []any{}
	for _, p := range pending {
		in, err := pendingInput(p)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	var online any
	if ses.RunnerID != "" {
		online = s.presences.get(ses.RunnerID) != nil
	}
	var model, harness any
	if a != nil {
		if spec := a.specOf(ses); spec != nil {
			model, harness = orNull(spec.Model), orNull(spec.Harness)
		}
	}
	if ses.ModelOverride != "" {
		model = ses.ModelOverride
	}
	if ses.HarnessOverride != "" {
		harness = ses.HarnessOverride
	}
	setting := func(key string, def any) any {
		if v, ok := ses.Settings[key]; ok {
			return v
		}
		return def
	}
	return dict{
		"id": ses.ID, "agent_id": ses.AgentID, "agent_name": orNull(ses.AgentName), "status": ses.Status,
		"background_task_count": nil, "background_tasks": nil,
		"created_at": ses.CreatedAt, "updated_at": ses.UpdatedAt, "title": orNull(ses.Title), "labels": ses.Labels,
		"runner_id": orNull(ses.RunnerID), "host_id": nil, "runner_online": online, "host_online": nil, "host_resumable": false,
		"reasoning_effort": orNull(ses.ReasoningEffort), "items": nested, "permission_level": 4,
		"sub_agent_name": orNull(ses.SubAgentName), "kind": ses.Kind(), "parent_session_id": orNull(ses.ParentID),
		"root_conversation_id": orNull(ses.RootID), "llm_model": model, "harness": harness, "model_override": orNull(ses.ModelOverride),
		"cost_control_mode_override": setting("cost_control_mode_override", nil),
		"subagent_routing_override":  setting("subagent_routing_override", nil),
		"share_workspace_files":      setting("share_workspace_files", false),
		"context_window":             nil, "last_total_tokens": nil, "total_cost_usd": nil, "usage_by_model": nil, "usage_included": false,
		"last_task_error": rawOrNull(ses.Error), "external_session_id": orNull(ses.ExternalSessionID),
		"terminal_launch_args": setting("terminal_launch_args", nil), "pending_elicitations": []any{}, "pending_inputs": inputs,
		"workspace": orNull(ses.Workspace), "git_branch": nil, "archived": ses.Archived, "todos": []any{}, "model_options": []any{},
		"inference_configured": false, "inference_error": nil, "terminal_pending": false, "sandbox_status": nil, "mcp_startup": nil,
		"active_response_id": orNull(ses.ResponseID), "project_id": setting("project_id", nil),
		"harness_override": orNull(ses.HarnessOverride),
	}, nil
}

// pendingInput is one message that no runner has accepted yet. item_id is ours:
// it lets a runner know which stored items are still work.
func pendingInput(p store.Pending) (dict, error) {
	data, err := object(p.Item.Data, "item data")
	if err != nil {
		return nil, err
	}
	out := dict{"pending_id": "pending_" + p.Item.ID, "item_id": p.Item.ID, "content": data["content"]}
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
		"external_session_id": orNull(ses.ExternalSessionID), "pending_elicitations_count": 0, "workspace": orNull(ses.Workspace),
		"archived": ses.Archived, "comments_count": 0, "viewer_unread": false, "parent_session_id": orNull(ses.ParentID),
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
	return dict{
		"id": a.ID, "object": "agent", "name": a.Name, "version": a.Version, "description": nil,
		"created_at": a.CreatedAt, "updated_at": a.UpdatedAt, "harness": a.Spec.Harness, "model": orNull(a.Spec.Model),
		"mcp_servers": []any{}, "mcp_servers_editable": false, "mcp_registry_editable": false,
		"policies": []any{}, "skills": []any{}, "terminals": []any{}, "builtin": a.Source != sourceUpload,
	}
}

func isNull(b json.RawMessage) bool {
	return len(b) == 0 || bytes.Equal(bytes.TrimSpace(b), []byte("null"))
}
