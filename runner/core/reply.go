package core

import (
	"encoding/json"
	"slices"
)

func (c *Core) reply(req Req, status int, body json.RawMessage) {
	c.effect(Reply{Req: req, Status: status, Body: body})
}

// replyError answers with the envelope that session handlers use (sessions.md
// 1): a code for programs, a sentence for people.
func (c *Core) replyError(req Req, status int, code, detail string) {
	c.reply(req, status, encode(map[string]string{"error": code, "detail": detail}))
}

func (c *Core) replyAccepted(req Req, status, detail string) {
	c.reply(req, 202, encode(map[string]string{"status": status, "detail": detail}))
}

// sessionBody is the answer to GET /v1/sessions/{id}, and the base of an init's.
type sessionBody struct {
	ID              string            `json:"id"`
	AgentID         *string           `json:"agent_id"`
	Status          string            `json:"status"`
	CreatedAt       int64             `json:"created_at"`
	Title           *string           `json:"title"`
	Labels          map[string]string `json:"labels"`
	RunnerID        *string           `json:"runner_id"`
	ReasoningEffort *string           `json:"reasoning_effort"`
	Items           []any             `json:"items"`
	PermissionLevel *int              `json:"permission_level"`
}

func (c *Core) sessionBody(s *session) sessionBody {
	created := s.Identity.CreatedAt
	if created == 0 {
		created = int64(c.now) / 1000
	}
	status := s.status()
	if slices.ContainsFunc(s.Queued, func(q queued) bool { return !q.Scanned }) {
		status = "running" // what was accepted runs next
	}
	return sessionBody{
		ID: s.id, AgentID: optional(s.Identity.AgentID), Status: status, CreatedAt: created,
		Labels: map[string]string{}, ReasoningEffort: optional(s.Identity.Effort), Items: []any{},
	}
}

type initBody struct {
	sessionBody
	ProtocolVersion   *int  `json:"session_init_protocol_version"`
	TerminalReady     *bool `json:"terminal_ready"`
	InferenceVerified bool  `json:"inference_config_verified"`
}

func (c *Core) initBody(s *session, versioned bool) json.RawMessage {
	b := initBody{sessionBody: c.sessionBody(s), InferenceVerified: true}
	if b.Status == "failed" {
		b.Status = "idle" // an init knows running and idle only
	}
	if versioned {
		two := 2
		b.ProtocolVersion = &two
	}
	return encode(b)
}

func (c *Core) onGet(ev Get) {
	s := c.sessions[ev.Session]
	if s == nil || s.Identity.AgentID == "" && !s.known() {
		c.replyError(ev.Req, 404, "not_found", "No session of that id runs here.")
		return
	}
	c.reply(ev.Req, 200, encode(c.sessionBody(s)))
}

func deletedBody(id string) []byte {
	return encode(map[string]any{"session_id": id, "object": "session.deleted", "deleted": true})
}

func resetBody(id string, kind ResetKind) []byte {
	if kind == ResetResources {
		return encode(map[string]any{"session_id": id, "object": "session.resources.cleaned", "cleaned": true})
	}
	return encode(map[string]any{"session_id": id, "object": "session.state_reset", "reset": true})
}

func agentResetBody(id, agent string) []byte {
	return encode(map[string]any{
		"session_id": id, "agent_id": optional(agent), "object": "session.agent_cache_reset", "reset": true,
	})
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
