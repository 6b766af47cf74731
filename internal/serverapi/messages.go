package serverapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
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
	return c.message(ctx, session, text, "")
}

// Task is Message for what must arrive, and once: when its answer gets lost, and
// the session does not have it, it is sent again, for as long as the server may
// be away. Each time it has the same stable id, by which a server may know it.
func (c *Client) Task(ctx context.Context, session, text string) error {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	ctx, cancel := context.WithTimeout(ctx, orDefault(c.Timing.Message, 24*time.Hour))
	defer cancel()
	before, known, sent := "", false, false
	return c.whileAway(ctx, func() (err error) {
		if !known {
			if before, err = c.newestItem(ctx, session); err != nil {
				return err
			}
			known = true
		}
		if sent {
			if arrived, err := c.arrived(ctx, session, text, before); arrived || err != nil {
				return err
			}
		}
		err = c.message(ctx, session, text, hex.EncodeToString(id[:]))
		sent = sent || unsure(err)
		return err
	})
}

// newestItem is the id of a session's newest item, "" if it has none.
func (c *Client) newestItem(ctx context.Context, session string) (string, error) {
	page, err := c.itemPage(ctx, session, "desc", "", 1)
	if err != nil || len(page.Items) == 0 {
		return "", err
	}
	return page.Items[0].ID, nil
}

// arrivedWithin is how many of a session's newest items are looked through for a
// message whose answer was lost a moment ago.
const arrivedWithin = 100

// arrived tells whether a session has a user's message of this text behind an
// item.
func (c *Client) arrived(ctx context.Context, session, text, behind string) (bool, error) {
	page, err := c.itemPage(ctx, session, "desc", "", arrivedWithin)
	if err != nil {
		return false, err
	}
	for _, it := range page.Items {
		switch {
		case it.ID == behind:
			return false, nil
		case it.Type == "message" && it.Role == "user" && wire.Text(it.Content) == text:
			return true, nil
		}
	}
	return false, nil
}

func (c *Client) message(ctx context.Context, session, text, stableID string) error {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type data struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
		Stable  string  `json:"stable_id,omitempty"`
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
		}{"message", data{"user", []block{{"input_text", text}}, stableID}},
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
