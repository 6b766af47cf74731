package serverapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// Message posts a user message to a session. A policy may have a human approve
// it first, so it may be held for a day. A message that the policy denies, which
// the server answers 202, is wire.ErrRejected; a 409 is wire.ErrConflict, which
// another try may pass (subagents-catchup.md 7). Repeating it sends it twice.
func (c *Client) Message(ctx context.Context, session, text string) error {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type data struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
	}
	var answer struct {
		Denied bool   `json:"denied"`
		Reason string `json:"reason"`
	}
	err := c.object(ctx, call{
		method: http.MethodPost, path: sessionPath(session, "/events"),
		body: struct {
			Type string `json:"type"`
			Data data   `json:"data"`
		}{"message", data{"user", []block{{"input_text", text}}}},
		connect: c.Timing.messageConnect(), timeout: orDefault(c.Timing.Message, 24*time.Hour),
		limit: ackLimit, conflict: true,
	}, &answer)
	if err == nil && answer.Denied {
		err = fmt.Errorf("a policy denies it: %s: %w", cut(answer.Reason), wire.ErrRejected)
	}
	if err != nil {
		return fmt.Errorf("sending a message to session %s: %w", session, err)
	}
	return nil
}

// Control posts a control event, "interrupt" or "stop_session", to a session.
// Repeating it is safe.
func (c *Client) Control(ctx context.Context, session, event string) error {
	err := c.object(ctx, call{
		method: http.MethodPost, path: sessionPath(session, "/events"),
		body: struct {
			Type string   `json:"type"`
			Data struct{} `json:"data"`
		}{Type: event},
		timeout: c.Timing.call(), limit: ackLimit,
	}, &struct{}{})
	if err != nil {
		return fmt.Errorf("sending %s to session %s: %w", event, session, err)
	}
	return nil
}
