package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// Session is one conversation.
type Session struct {
	ID        string `json:"id"`
	AgentID   string `json:"agent_id"`
	AgentName string `json:"agent_name"`
	Status    string `json:"status"`
	Title     string `json:"title"`
	RunnerID  string `json:"runner_id"`
	ParentID  string `json:"parent_session_id"`
	Workspace string `json:"workspace"`
	CreatedAt int64  `json:"created_at"` // seconds
	UpdatedAt int64  `json:"updated_at"` // seconds

	// RunnerOnline is nil when nothing is known.
	RunnerOnline   *bool  `json:"runner_online"`
	ActiveResponse string `json:"active_response_id"`
	LastError      *Error `json:"last_task_error"`
	Pending        []struct {
		ItemID string `json:"item_id"`
	} `json:"pending_inputs"`
}

// Waits reports whether no runner has taken the item yet.
func (s *Session) Waits(item string) bool {
	for _, p := range s.Pending {
		if p.ItemID == item {
			return true
		}
	}
	return false
}

// Error is why a turn failed.
type Error struct {
	Code        string `json:"code"`
	Message     string `json:"message"`
	Remediation string `json:"remediation"`
	ItemID      string `json:"item_id"`
}

// Item is one entry of a session.
type Item struct {
	ID              string `json:"id"`
	Type            string `json:"type"`
	ResponseID      string `json:"response_id"`
	Status          string `json:"status"`
	CreatedAt       int64  `json:"created_at"`
	Role            string `json:"role"`
	StreamMessageID string `json:"stream_message_id"`
	Content         []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Name      string `json:"name"`      // of a function call
	Arguments string `json:"arguments"` // of a function call
	Output    string `json:"output"`    // of a function call's output
	Code      string `json:"code"`      // of an error
	Message   string `json:"message"`   // of an error
}

// Text is the item's text, joined.
func (i *Item) Text() string {
	text := ""
	for _, block := range i.Content {
		text += block.Text
	}
	return text
}

// Agent is something that can answer.
type Agent struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Harness     string `json:"harness"`
	Description string `json:"description"`
	// Terminals are the names of those that it declares.
	Terminals []string `json:"terminals"`
}

// Runner is a machine that is, or was, connected.
type Runner struct {
	ID        string   `json:"runner_id"`
	Online    bool     `json:"online"`
	Harnesses []string `json:"harnesses"`
}

// pageSize is how many rows one call asks for.
const pageSize = 100

// list reads a listing to its end, from the row after the given one. Each row is handed over as it was sent, with
// its id.
func (c *Client) list(ctx context.Context, path, after string, row func(json.RawMessage) (string, error)) error {
	for {
		var page struct {
			Data    []json.RawMessage `json:"data"`
			HasMore bool              `json:"has_more"`
		}
		query := path
		if after != "" {
			query += "&after=" + url.QueryEscape(after)
		}
		if err := c.call(ctx, http.MethodGet, query, nil, &page); err != nil {
			return err
		}
		last := after
		for _, raw := range page.Data {
			id, err := row(raw)
			if err != nil {
				return fmt.Errorf("reading a row of %s: %w", path, err)
			}
			last = id
		}
		if !page.HasMore || last == after {
			return nil
		}
		after = last
	}
}

// collect is list into a slice; the raw rows come along.
func collect[T any](ctx context.Context, c *Client, path, after string, id func(*T) string) ([]T, []json.RawMessage, error) {
	var rows []T
	var raws []json.RawMessage
	err := c.list(ctx, path, after, func(raw json.RawMessage) (string, error) {
		var row T
		if err := decode(raw, &row); err != nil {
			return "", err
		}
		rows, raws = append(rows, row), append(raws, raw)
		return id(&row), nil
	})
	return rows, raws, err
}

// decode leaves fields of an unexpected type empty: a newer server may have
// changed what we do not need.
func decode(raw json.RawMessage, out any) error {
	var wrongType *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, out); err != nil && !errors.As(err, &wrongType) {
		return err
	}
	return nil
}

// Sessions lists all sessions, newest first, and their JSON.
func (c *Client) Sessions(ctx context.Context) ([]Session, []json.RawMessage, error) {
	return collect(ctx, c, "/v1/sessions?order=desc&limit="+strconv.Itoa(pageSize), "", func(s *Session) string { return s.ID })
}

// Agents lists the server's agents and their JSON.
func (c *Client) Agents(ctx context.Context) ([]Agent, []json.RawMessage, error) {
	return collect(ctx, c, "/v1/agents?limit="+strconv.Itoa(pageSize), "", func(a *Agent) string { return a.ID })
}

// Runners lists the server's runners.
func (c *Client) Runners(ctx context.Context) ([]Runner, error) {
	var answer struct {
		Data []Runner `json:"data"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/runners", nil, &answer)
	return answer.Data, err
}

func sessionPath(session, rest string) string {
	return "/v1/sessions/" + url.PathEscape(session) + rest
}

// Session reads one session and its JSON, without its items.
func (c *Client) Session(ctx context.Context, id string) (*Session, json.RawMessage, error) {
	var raw json.RawMessage
	if err := c.call(ctx, http.MethodGet, sessionPath(id, "?include_items=false"), nil, &raw); err != nil {
		return nil, nil, err
	}
	var s Session
	if err := decode(raw, &s); err != nil {
		return nil, nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	return &s, raw, nil
}

// Items reads a session's items after the given one, oldest first, and their
// JSON; after "" reads all.
func (c *Client) Items(ctx context.Context, session, after string) ([]Item, []json.RawMessage, error) {
	return collect(ctx, c, sessionPath(session, "/items?order=asc&limit="+strconv.Itoa(pageSize)), after,
		func(i *Item) string { return i.ID })
}

// Create makes a session with an agent.
func (c *Client) Create(ctx context.Context, agent string) (*Session, error) {
	var s Session
	err := c.call(ctx, http.MethodPost, "/v1/sessions", map[string]string{"agent_id": agent}, &s)
	if err == nil && s.ID == "" {
		err = errors.New("the server made a session without an id")
	}
	return &s, err
}

// Delete removes a session.
func (c *Client) Delete(ctx context.Context, session string) error {
	return c.call(ctx, http.MethodDelete, sessionPath(session, ""), nil, nil)
}

// Interrupt asks the running turn of a session to stop.
func (c *Client) Interrupt(ctx context.Context, session string) error {
	return c.call(ctx, http.MethodPost, sessionPath(session, "/events"),
		map[string]any{"type": "interrupt", "data": map[string]any{}}, nil)
}

// Post adds a user's message and returns its item. Repeating it with the same
// stable id, 32 hex digits, adds nothing and returns the same item.
func (c *Client) Post(ctx context.Context, session, text, stableID string) (string, error) {
	var ack struct {
		ItemID string `json:"item_id"`
		Denied bool   `json:"denied"`
		Reason string `json:"reason"`
	}
	err := c.call(ctx, http.MethodPost, sessionPath(session, "/events"), map[string]any{
		"type": "message",
		"data": map[string]any{
			"role": "user", "stable_id": stableID,
			"content": []map[string]string{{"type": "input_text", "text": text}},
		},
	}, &ack)
	switch {
	case err != nil:
		return "", err
	case ack.Denied:
		return "", fmt.Errorf("the server refused the message: %s", ack.Reason)
	case ack.ItemID == "":
		return "", errors.New("the server took the message without saying under which id")
	}
	return ack.ItemID, nil
}
