package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// snapshotItems is how many items a snapshot shows: the newest.
const snapshotItems = 100

// defaultWindow is the context window that the API tells of a model of which
// nothing is known, in tokens.
const defaultWindow = 128_000

// snapshotView is what a snapshot is asked to have.
type snapshotView struct {
	items, usage bool
	offline      bool // nothing about who is here
	extras       bool // and what is ours alone
}

func readView(r *http.Request) snapshotView {
	return snapshotView{items: flag(r, "include_items", true), usage: flag(r, "include_usage", true),
		offline: !flag(r, "include_liveness", true), extras: wantsExtras(r)}
}

// answerSnapshot answers a session as it is now: a SessionResponse, of which
// every key is always there (server.md 2.2).
func (s *Server) answerSnapshot(w http.ResponseWriter, ctx context.Context, status int, id string, view snapshotView) error {
	db := s.db.Read()
	ses, err := db.Session(ctx, id)
	if err != nil {
		return err
	}
	a, err := s.agent(ctx, ses.AgentID)
	var gone *apiError
	if errors.As(err, &gone) { // a session without its agent can still be read
		a = nil
	} else if err != nil {
		return err
	}
	body := s.snapshot(ses, a)
	if body["items"], err = s.snapshotItems(ctx, id, view.items); err != nil {
		return err
	}
	if body["pending_elicitations"], err = s.questions(ctx, id); err != nil {
		return err
	}
	pending, err := db.Pending(ctx, id)
	if err != nil {
		return err
	}
	if view.extras {
		body["harness_override"] = orNull(ses.HarnessOverride)
	} else {
		pending = visiblePending(pending)
		if name, ok := body["harness"].(string); ok {
			body["harness"] = familyOf(name)
		}
	}
	inputs := []any{}
	for _, p := range pending {
		in, err := pendingInput(p, view.extras)
		if err != nil {
			return err
		}
		inputs = append(inputs, in)
	}
	body["pending_inputs"], body["usage_included"] = inputs, view.usage
	if view.offline || status == http.StatusCreated && ses.Labels[labelForkOf] != "" {
		body["runner_online"] = nil
	}
	w.Header().Set("Cache-Control", "no-store")
	answer(w, s.log, status, body)
	return nil
}

func (s *Server) snapshotItems(ctx context.Context, id string, wanted bool) ([]any, error) {
	nested := []any{}
	if !wanted {
		return nested, nil
	}
	items, err := s.db.Read().LastItems(ctx, id, snapshotItems)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		n, err := nestedItem(i)
		if err != nil {
			return nil, err
		}
		nested = append(nested, n)
	}
	return nested, nil
}

// online says whether messages of a session would find a runner. A session that
// was never bound counts as one that would, a fork as one that must be bound.
func (s *Server) online(ses *store.Session) bool {
	if ses.RunnerID == "" {
		return ses.Labels[labelForkOf] == ""
	}
	return s.presences.get(ses.RunnerID) != nil
}

// familyOf is a harness as the API names it in snapshots: all that users define
// are "acp".
func familyOf(harness string) string {
	if strings.HasPrefix(harness, "acp:") {
		return "acp"
	}
	return harness
}

// snapshot is the part of a SessionResponse that the session's row tells.
func (s *Server) snapshot(ses *store.Session, a *agent) dict {
	model, harness := "", ""
	if a != nil {
		if spec := a.specOf(ses); spec != nil {
			model, harness = spec.Model, spec.Harness
		}
	}
	harness = firstOf(ses.HarnessOverride, harness)
	var window any
	if model != "" || ses.ModelOverride != "" {
		window = defaultWindow
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
		"runner_id": orNull(ses.RunnerID), "host_id": nil, "runner_online": s.online(ses), "host_online": nil, "host_resumable": false,
		"reasoning_effort": orNull(ses.ReasoningEffort), "permission_level": 4,
		"sub_agent_name": orNull(ses.SubAgentName), "kind": ses.Kind(), "parent_session_id": orNull(ses.ParentID),
		"root_conversation_id": orNull(ses.RootID), "llm_model": orNull(model), "harness": orNull(harness), "model_override": orNull(ses.ModelOverride),
		"cost_control_mode_override": setting("cost_control_mode_override", nil),
		"subagent_routing_override":  setting("subagent_routing_override", nil),
		"share_workspace_files":      setting("share_workspace_files", false),
		"context_window":             window, "last_total_tokens": nil, "total_cost_usd": nil, "usage_by_model": nil,
		"last_task_error": lastError(ses), "external_session_id": orNull(ses.ExternalSessionID),
		"terminal_launch_args": setting("terminal_launch_args", nil),
		"workspace":            orNull(ses.Workspace), "git_branch": nil, "archived": ses.Archived, "todos": []any{}, "model_options": []any{},
		"inference_configured": false, "inference_error": nil, "terminal_pending": false, "sandbox_status": nil, "mcp_startup": nil,
		"active_response_id": orNull(ses.ResponseID), "project_id": setting("project_id", nil),
	}
}
