package core

import (
	"encoding/json"
	"fmt"

	"github.com/outrunner/outrunner/runner/wire"
)

// The events of the session stream that the core makes (sessions.md 5.15). A
// response is told in progress before it is told ended, on every stream that
// shows its end; both name the items that the turn answers.

func (c *Core) publish(s *session, event any) {
	c.effect(Publish{Session: s.id, Event: encode(event)})
}

type statusEvent struct {
	Type           string          `json:"type"`
	ConversationID string          `json:"conversation_id"`
	Status         string          `json:"status"`
	ResponseID     string          `json:"response_id,omitempty"`
	Error          *wire.TurnError `json:"error,omitempty"`
}

type responseEvent struct {
	Type         string       `json:"type"`
	Source       string       `json:"source,omitempty"`
	Response     responseBody `json:"response"`
	Error        any          `json:"error,omitempty"`
	InputItemIDs []string     `json:"input_item_ids"`
}

type responseBody struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Status      string `json:"status"`
	Model       string `json:"model"`
	CreatedAt   int64  `json:"created_at"`
	CompletedAt int64  `json:"completed_at,omitempty"`
	Output      []any  `json:"output"`
	Error       any    `json:"error,omitempty"`
	// Usage is what the turn cost, as its harness said.
	Usage             json.RawMessage    `json:"usage,omitempty"`
	IncompleteDetails *incompleteDetails `json:"incomplete_details,omitempty"`
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

// publishStatus tells how the session stands between and in turns.
func (c *Core) publishStatus(s *session) {
	status := c.statusOf(s)
	s.waits = status == "waiting"
	ev := statusEvent{Type: "session.status", ConversationID: s.id, Status: status}
	switch status {
	case "running":
		if s.Open != nil {
			ev.ResponseID = s.Open.Response
		}
	case "failed":
		ev.Error = s.Last.Error
		if n := len(s.Turns); n > 0 {
			ev.ResponseID = s.Turns[n-1].Response
		}
	case "waiting":
		if !c.serverWaits {
			ev.Status = "running" // it knows no session that waits
		}
	}
	c.publish(s, ev)
	c.tellParent(s, status, s.lastText(), ev.Error)
	if status == "running" && s.Rail != nil {
		c.started(s)
	}
}

// statusOf is the status of a session, which waits while sub-agents of it work.
func (c *Core) statusOf(s *session) string {
	status := s.status()
	if status == "idle" && s.Last != nil && s.Last.Outcome == wire.Completed && c.busyKids(s) {
		return "waiting"
	}
	return status
}

// lastText is what the session said in the turn that ended last, if that is
// still known.
func (s *session) lastText() *string {
	if n := len(s.Ended); n > 0 {
		return &s.Ended[n-1].Text
	}
	return nil
}

// status is running from a turn's start until its terminal response is out,
// else what the last turn left.
func (s *session) status() string {
	switch {
	case !s.quiet():
		return "running"
	case s.Last != nil && s.Last.Outcome == wire.Failed:
		return "failed"
	}
	return "idle"
}

func (c *Core) publishInProgress(s *session, t *turn) {
	s.told[t.ID] = true
	c.publish(s, responseEvent{
		Type: "response.in_progress", Response: c.responseOf(t, "in_progress"), InputItemIDs: t.inputIDs(),
	})
}

// publishEnd publishes a turn's terminal response.
func (c *Core) publishEnd(s *session, t *turn) {
	if !s.told[t.ID] {
		c.publishInProgress(s, t)
	}
	c.closeQuestions(s, t)
	status := string(t.End.Outcome)
	if t.End.Outcome == wire.Resumed {
		status = "incomplete"
	}
	ev := responseEvent{Type: "response." + status, Response: c.responseOf(t, status), InputItemIDs: t.inputIDs()}
	ev.Response.CompletedAt, ev.Response.Usage = int64(c.now)/1000, t.End.Usage
	if t.End.Outcome == wire.Resumed {
		ev.Response.IncompleteDetails = &incompleteDetails{Reason: wire.CodeRunnerRestarted}
	}
	if t.End.Outcome == wire.Failed {
		ev.Source = "harness"
		if t.End.Error.Code == wire.CodeRunnerRestarted || t.End.Error.Code == wire.CodeIdentityUnknown {
			ev.Source = "execution"
		}
		ev.Error, ev.Response.Error = t.End.Error, t.End.Error
	}
	c.effect(Publish{Session: s.id, Event: encode(ev), Covers: t.ID})
}

func (c *Core) responseOf(t *turn, status string) responseBody {
	return responseBody{
		ID: t.Response, Object: "response", Status: status, Model: t.Agent,
		CreatedAt: int64(c.now) / 1000, Output: []any{},
	}
}

func itemDone(item json.RawMessage) any {
	return map[string]any{"type": wire.ItemDone, "item": item}
}

// onStreamOpened tells a new reader what it may have missed: unseen ends, then
// the open response, then the status (design 3).
func (c *Core) onStreamOpened(ev StreamOpened) {
	s := c.session(ev.Session)
	c.name(s)
	c.effect(Welcome{Session: s.id, Reader: ev.Reader})
	for _, t := range s.Ended {
		c.publishInProgress(s, t)
		if s.terminal[t.ID] {
			c.publishEnd(s, t)
		}
	}
	if s.Open != nil {
		c.publishInProgress(s, s.Open)
		c.tellQuestions(s, s.Open)
		c.tellCalls(s)
	}
	// Of a session that never had a turn here there is nothing to re-assert:
	// the server's own word, or what a scan settles, stands.
	if len(s.Turns) > 0 {
		c.publishStatus(s)
	}
	c.tellOwed(s, ev.Tunnel)
	c.requestScan(s)
}

// encode makes JSON of a value of this package, which cannot fail.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("core: encoding %T: %v", v, err))
	}
	return b
}

func quote(s string) string { return fmt.Sprintf("%q", s) }
