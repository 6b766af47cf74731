package serverapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// Limits of an answer's body, in bytes. A snapshot without its items is a few
// KiB; a page holds 100 items, and a message may be 10 MiB.
const (
	snapshotLimit = 4 << 20
	pageLimit     = 256 << 20
	ackLimit      = 1 << 20
	policyLimit   = 16 << 20 // a verdict may replace the text
	toolLimit     = 64 << 20
	errorLimit    = 64 << 10
)

// snapshotQuery leaves out what costs the server time and is not read.
const snapshotQuery = "?include_items=false&include_liveness=false&include_usage=false&include_live_status=false"

// session is GET /v1/sessions/{id} as far as it is read.
type session struct {
	wire.Snapshot
	CreatedAt float64 `json:"created_at"` // some servers send fractions
	LastError struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"last_task_error"`
	PendingInputs []struct {
		ItemID string `json:"item_id"`
	} `json:"pending_inputs"`
}

func sessionPath(session, rest string) string {
	return "/v1/sessions/" + url.PathEscape(session) + rest
}

// Snapshot reads the session. An object without an id is a settled answer too,
// of a session that says nothing about itself (subagents-catchup.md W1): it is
// top-level and has no agent. An object with another session's id is an error.
func (c *Client) Snapshot(ctx context.Context, id string) (wire.Snapshot, error) {
	answer, err := c.readSession(ctx, id)
	if err != nil {
		return wire.Snapshot{}, err
	}
	got := answer.Snapshot
	got.CreatedAt = int64(answer.CreatedAt)
	got.LastErrorCode, got.Pending = answer.LastError.Code, nil
	for _, p := range answer.PendingInputs {
		if p.ItemID != "" {
			got.Pending = append(got.Pending, p.ItemID)
		}
	}
	return got, nil
}

func (c *Client) readSession(ctx context.Context, id string) (session, error) {
	var got session
	err := c.object(ctx, call{
		method: http.MethodGet, path: sessionPath(id, snapshotQuery),
		timeout: orDefault(c.Timing.Snapshot, 10*time.Second), limit: snapshotLimit,
	}, &got)
	if err == nil && got.ID != "" && got.ID != id {
		err = fmt.Errorf("the server answered with session %s", got.ID)
	}
	if err != nil {
		return session{}, fmt.Errorf("reading session %s: %w", id, err)
	}
	got.ID = id
	return got, nil
}

// PatchLabels merges labels into a session's (server.md 2.3). It is repeated for
// as long as the server may be away.
func (c *Client) PatchLabels(ctx context.Context, session string, labels map[string]string) error {
	err := c.patiently(ctx, func() error {
		return c.object(ctx, call{
			method: http.MethodPatch, path: sessionPath(session, ""),
			body: struct {
				Labels map[string]string `json:"labels"`
			}{labels},
			timeout: c.Timing.call(), limit: snapshotLimit,
		}, &struct{}{})
	})
	if err != nil {
		return fmt.Errorf("labelling session %s: %w", session, err)
	}
	return nil
}

// DeleteSession deletes a session; one that is not there is deleted. It is
// repeated for as long as the server may be away, and once if it broke over it.
func (c *Client) DeleteSession(ctx context.Context, session string) error {
	tried := false
	err := c.patiently(ctx, func() error {
		for {
			err := c.object(ctx, call{
				method: http.MethodDelete, path: sessionPath(session, ""),
				timeout: c.Timing.call(), limit: ackLimit,
			}, &struct{}{})
			if tried || !unsure(err) || !pause(ctx, orDefault(c.Timing.DeletePause, 100*time.Millisecond)) {
				return err
			}
			tried = true
		}
	})
	if err != nil && !errors.Is(err, wire.ErrNotFound) {
		return fmt.Errorf("deleting session %s: %w", session, err)
	}
	return nil
}
