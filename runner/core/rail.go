package core

import (
	"strings"
	"unicode/utf8"

	"github.com/outrunner/outrunner/runner/wire"
)

// rail is a child's line to its parent's stream (subagents-catchup.md 6).
type rail struct {
	Parent  string `json:"parent"`
	Title   string `json:"title"`
	Tool    string `json:"tool"`
	Session string `json:"session_name"`
}

// railEdge is what was told last; equal edges are told once.
type railEdge struct {
	busy   bool
	status string
	err    wire.TurnError
}

// untold is an edge that came before there was a rail.
type untold struct {
	status string
	output *string
	err    *wire.TurnError
}

type childEvent struct {
	Type           string      `json:"type"`
	ConversationID string      `json:"conversation_id"`
	ChildID        string      `json:"child_session_id"`
	Child          childRender `json:"child"`
}

type childRender struct {
	ID      string        `json:"id"`
	Title   string        `json:"title"`
	Tool    string        `json:"tool"`
	Session string        `json:"session_name"`
	Busy    bool          `json:"busy"`
	Status  *string       `json:"current_task_status"`
	Error   optionalError `json:"last_task_error,omitzero"`
	Preview string        `json:"last_message_preview,omitempty"`
}

// optionalError is absent, null (nothing failed any more), or an error.
type optionalError struct {
	set bool
	err *wire.TurnError
}

func (o optionalError) IsZero() bool { return !o.set }

func (o optionalError) MarshalJSON() ([]byte, error) { return encode(o.err), nil }

var taskStatus = func(status string) string {
	switch status {
	case "launching", "failed", "cancelled":
		return status
	case "running", "waiting":
		return "in_progress"
	case "idle":
		return "completed"
	}
	return ""
}

// tellParent publishes a child's edge on its parent's stream, if it has a rail.
// Equal edges are told once, and an idle after a failure tells nothing new.
func (c *Core) tellParent(s *session, status string, output *string, err *wire.TurnError) {
	if s.Rail == nil {
		s.untold = &untold{status, output, err}
		return
	}
	edge := railEdge{busy: status == "running" || status == "waiting", status: taskStatus(status)}
	if status == "failed" && err != nil && err.Code != "" && err.Message != "" {
		edge.err = *err
	}
	settled := s.edge != nil && (s.edge.status == "failed" || s.edge.status == "cancelled")
	if s.edge != nil && *s.edge == edge || status == "idle" && settled {
		return
	}
	s.edge = &edge
	c.publishChild(s, edge, output)
}

func (c *Core) publishChild(s *session, edge railEdge, output *string) {
	child := childRender{
		ID: s.id, Title: s.Rail.Title, Tool: s.Rail.Tool, Session: s.Rail.Session, Busy: edge.busy, Status: optional(edge.status),
	}
	if edge.busy {
		child.Error = optionalError{set: true}
	} else if edge.err.Code != "" {
		child.Error = optionalError{set: true, err: &edge.err}
	}
	if !edge.busy && output != nil {
		child.Preview = preview(*output)
	}
	c.effect(Publish{Session: s.Rail.Parent, Event: encode(childEvent{
		Type: "session.child_session.updated", ConversationID: s.Rail.Parent, ChildID: s.id, Child: child,
	})})
}

// previewRunes is how much of a child's text its parent's viewers are shown.
const previewRunes = 150

func preview(text string) string {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= previewRunes {
		return text
	}
	runes := []rune(text)
	return strings.TrimRight(string(runes[:previewRunes]), " \t\r\n") + "…"
}
