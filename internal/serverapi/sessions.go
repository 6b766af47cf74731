package serverapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// Limits of an answer's body, in bytes. A snapshot without its items is a few
// KiB; a page holds 100 items, and a message may be 10 MiB.
const (
	snapshotLimit = 4 << 20
	pageLimit     = 256 << 20
	ackLimit      = 1 << 20
	errorLimit    = 64 << 10
)

// snapshotQuery leaves out what costs the server time and is not read.
const snapshotQuery = "?include_items=false&include_liveness=false&include_usage=false&include_live_status=false"

func sessionPath(session, rest string) string {
	return "/v1/sessions/" + url.PathEscape(session) + rest
}

// Snapshot reads the session. An object without an id is a settled answer too,
// of a session that says nothing about itself (subagents-catchup.md W1): it is
// top-level and has no agent. An object with another session's id is an error.
func (c *Client) Snapshot(ctx context.Context, session string) (wire.Snapshot, error) {
	var answer struct {
		wire.Snapshot
		CreatedAt float64 `json:"created_at"` // some servers send fractions
		LastError struct {
			Code string `json:"code"`
		} `json:"last_task_error"`
		PendingInputs []struct {
			ItemID string `json:"item_id"`
		} `json:"pending_inputs"`
	}
	err := c.object(ctx, call{
		method: http.MethodGet, path: sessionPath(session, snapshotQuery),
		timeout: orDefault(c.Timing.Snapshot, 10*time.Second), limit: snapshotLimit,
	}, &answer)
	if err != nil {
		return wire.Snapshot{}, fmt.Errorf("reading session %s: %w", session, err)
	}
	got := answer.Snapshot
	if got.ID == "" {
		got.ID = session
	}
	if got.ID != session {
		return wire.Snapshot{}, fmt.Errorf("reading session %s: the server answered with session %s", session, got.ID)
	}
	got.CreatedAt = int64(answer.CreatedAt)
	got.LastErrorCode, got.Pending = answer.LastError.Code, nil
	for _, p := range answer.PendingInputs {
		if p.ItemID != "" {
			got.Pending = append(got.Pending, p.ItemID)
		}
	}
	return got, nil
}

// Items reads one page after the cursor, oldest first; after "" starts at the
// beginning, limit is 1 to 100.
func (c *Client) Items(ctx context.Context, session, after string, limit int) (wire.Page, error) {
	query := "?limit=" + strconv.Itoa(limit) + "&order=asc"
	if after != "" {
		query += "&after=" + url.QueryEscape(after)
	}
	var answer struct {
		Data    []wire.Item `json:"data"`
		LastID  string      `json:"last_id"`
		HasMore bool        `json:"has_more"`
	}
	err := c.object(ctx, call{
		method: http.MethodGet, path: sessionPath(session, "/items"+query),
		timeout: orDefault(c.Timing.Items, 10*time.Second), limit: pageLimit,
	}, &answer)
	if err == nil {
		err = complete(answer.Data)
	}
	if err != nil {
		return wire.Page{}, fmt.Errorf("reading the items of session %s: %w", session, err)
	}
	page := wire.Page{Items: answer.Data, LastID: answer.LastID, HasMore: answer.HasMore}
	if n := len(page.Items); page.LastID == "" && n > 0 {
		page.LastID = page.Items[n-1].ID
	}
	return page, nil
}

// complete refuses a listing that is none: without it, a wrong answer would
// read as an empty session, and the session's messages as lost.
func complete(items []wire.Item) error {
	if items == nil {
		return errors.New("the answer has no list of items")
	}
	for _, item := range items {
		if item.ID == "" {
			return errors.New("the answer has an item without an id")
		}
	}
	return nil
}

// Store sends one item and returns the id under which the server keeps it, ""
// if the server does not say. Sending it again is safe (server.md 2.6).
func (c *Client) Store(ctx context.Context, session string, out wire.Outgoing) (string, error) {
	var answer struct {
		ItemID string `json:"item_id"`
	}
	err := c.object(ctx, call{
		method: http.MethodPost, path: sessionPath(session, "/events"),
		body: struct {
			Type string        `json:"type"`
			Data wire.Outgoing `json:"data"`
		}{"external_conversation_item", out},
		timeout: orDefault(c.Timing.Store, 10*time.Second), limit: ackLimit,
	}, &answer)
	if err != nil {
		return "", fmt.Errorf("storing item %s of session %s: %w", out.SourceID, session, err)
	}
	return answer.ItemID, nil
}

// AgentContents opens the bundle of a session's agent. wire.ErrNotFound means
// that it has none. The caller closes the body; it ends with an error when the
// context or the time limit does.
func (c *Client) AgentContents(ctx context.Context, session string) (io.ReadCloser, error) {
	q := call{method: http.MethodGet, path: sessionPath(session, "/agent/contents")}
	ctx, cancel := context.WithTimeout(ctx, orDefault(c.Timing.Contents, 5*time.Minute))
	response, err := c.send(ctx, q) //nolint:bodyclose // the caller closes it
	if err != nil {
		cancel()
		return nil, fmt.Errorf("fetching the agent of session %s: %w", session, err)
	}
	if response.StatusCode != http.StatusOK || foreign(response, nil) {
		err := refusal(q, response)
		cancel()
		return nil, fmt.Errorf("fetching the agent of session %s: %w", session, err)
	}
	return &body{response.Body, cancel}, nil
}

// refusal is the error of an answer that is not the file that was asked for.
func refusal(q call, response *http.Response) error {
	defer func() { _ = response.Body.Close() }() // only its first bytes matter
	text, err := io.ReadAll(io.LimitReader(response.Body, errorLimit))
	if err != nil {
		return fmt.Errorf("reading the answer to %s %s: %w", q.method, q.path, err)
	}
	if err := judge(q, response, text); err != nil {
		return err
	}
	return notOurs(q, response, text)
}

// body ends a call's context with the answer's body.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
