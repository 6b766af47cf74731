package server

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

const (
	// maxCreateBody bounds a JSON create, in bytes: it may carry items.
	maxCreateBody = 10 << 20
	// maxBundle bounds a multipart create, in bytes.
	maxBundle = 32 << 20
)

// keptSettings are the keys that the server only keeps and shows.
var keptSettings = []string{"cost_control_mode_override", "subagent_routing_override", "share_workspace_files",
	"terminal_launch_args", "project_id", "collaboration_mode", "permission_mode", "approval_mode"}

// newSession is what the body of a create asks for (server.md 2.1).
type newSession struct {
	AgentID           string            `json:"agent_id"`
	Title             string            `json:"title"`
	Labels            map[string]string `json:"labels"`
	ParentID          string            `json:"parent_session_id"`
	SubAgentName      string            `json:"sub_agent_name"`
	RunnerID          string            `json:"runner_id"`
	Workspace         string            `json:"workspace"`
	ModelOverride     string            `json:"model_override"`
	HarnessOverride   string            `json:"harness_override"`
	ReasoningEffort   string            `json:"reasoning_effort"`
	ExternalSessionID string            `json:"external_session_id"`
	HostID            string            `json:"host_id"`
	InitialItems      []json.RawMessage `json:"initial_items"`
	InitialInput      json.RawMessage   `json:"initial_input"`
}

// createSession is POST /v1/sessions: JSON with an agent's id, or multipart
// with the agent itself.
func (s *Server) createSession(w http.ResponseWriter, r *http.Request) error {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && media == "application/json":
	case err == nil && media == "multipart/form-data" && params["boundary"] != "":
		return s.createFromBundle(w, r)
	default:
		return detail(http.StatusUnsupportedMediaType, "A session is created from application/json or multipart/form-data.")
	}
	raw, err := readJSON(w, r, maxCreateBody)
	if err != nil {
		return err
	}
	var in newSession
	settings, err := readCreate(raw, &in)
	if err != nil {
		return err
	}
	if in.AgentID = bareID(in.AgentID); in.AgentID == "" && in.ParentID == "" {
		return invalid("agent_id", "missing", "Field required")
	}
	ses, err := s.create(r.Context(), principal(r), in, settings)
	if err != nil {
		return err
	}
	return s.answerSnapshot(w, r.Context(), http.StatusCreated, ses.ID, readView(r))
}

// readCreate decodes a create's body; what is only kept comes apart.
func readCreate(raw []byte, in any) (map[string]json.RawMessage, error) {
	fields, err := object(raw, "the body")
	if err != nil {
		return nil, err
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, in); errors.As(err, &wrong) {
		return nil, invalid(wrong.Field, "type_error", "Input should be a valid %s", wrong.Type)
	} else if err != nil {
		return nil, badInput("the body is malformed: %v", err)
	}
	settings := make(map[string]json.RawMessage)
	for _, k := range keptSettings {
		if !isNull(fields[k]) {
			settings[k] = fields[k]
		}
	}
	return settings, nil
}

func (s *Server) create(ctx context.Context, p Principal, in newSession, settings map[string]json.RawMessage) (*store.Session, error) {
	if err := checkLabels(in.Labels); err != nil {
		return nil, err
	}
	if in.HostID != "" {
		return nil, badInput("this server has no hosts: leave host_id out")
	}
	if !isNull(in.InitialInput) {
		return nil, badInput("initial_input is not supported: post the message to the session's events")
	}
	effort, err := checkEffort(in.ReasoningEffort)
	if err != nil {
		return nil, err
	}
	in.ReasoningEffort = effort
	ses := &store.Session{ID: store.NewID(), Owner: p.Owner, AgentID: in.AgentID, Title: in.Title, Labels: in.Labels, Status: statusIdle,
		SubAgentName: in.SubAgentName, RunnerID: in.RunnerID, Workspace: in.Workspace, ModelOverride: in.ModelOverride,
		HarnessOverride: in.HarnessOverride, ReasoningEffort: in.ReasoningEffort, ExternalSessionID: in.ExternalSessionID, Settings: settings}
	ses.RootID = ses.ID
	if in.ParentID != "" {
		parent, err := s.db.Read().Session(ctx, bareID(in.ParentID))
		if err != nil {
			return nil, err
		}
		ses.ParentID, ses.RootID = parent.ID, parent.RootID
		ses.AgentID, ses.RunnerID = firstOf(in.AgentID, parent.AgentID), firstOf(in.RunnerID, parent.RunnerID)
	}
	a, err := s.agent(ctx, ses.AgentID)
	if err != nil {
		return nil, err
	}
	if a.specOf(ses) == nil {
		return nil, refuse(http.StatusNotFound, "not_found", "The agent %q declares no sub-agent %q.", a.Name, clip(in.SubAgentName, 64))
	}
	ses.AgentName = firstOf(in.SubAgentName, a.Name)
	if ses.RunnerID != "" {
		if err := s.checkRunner(ctx, ses.RunnerID); err != nil {
			return nil, err
		}
	}
	items, err := initialItems(p, ses.ID, in.InitialItems)
	if err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if ses.ParentID != "" { // it may have been deleted meanwhile
			if _, err := tx.Session(ctx, ses.ParentID); err != nil {
				return err
			}
		}
		if err := checkTitle(ctx, tx, ses); err != nil {
			return err
		}
		if len(items) > 0 {
			if _, err := s.bind(ctx, tx, ses); err != nil {
				return err
			}
		}
		if err := tx.CreateSession(ses); err != nil {
			return err
		}
		return addInitial(ctx, tx, ses, items)
	})
	if err != nil {
		return nil, err
	}
	s.introduce(ctx, ses, a, len(items) > 0)
	return ses, nil
}

// checkLabels refuses the labels that only the server may set.
func checkLabels(labels map[string]string) error {
	for k := range labels {
		if strings.HasPrefix(k, "cost_control.") || strings.HasPrefix(k, "omnigent.pinned.") || k == "omnigent.turn_actor" {
			return badInput("the label %q is reserved", k)
		}
	}
	return nil
}

// checkRunner refuses to bind to a runner that was never here.
func (s *Server) checkRunner(ctx context.Context, id string) error {
	if s.presences.get(id) != nil {
		return nil
	}
	known, err := s.db.Read().Runners(ctx, ownerLocal)
	if err != nil {
		return err
	}
	for _, k := range known {
		if k.ID == id {
			return nil
		}
	}
	return badInput("runner '%s' is not registered", clip(id, 100))
}
