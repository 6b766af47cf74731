package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Terminal is a terminal of a session's.
type Terminal struct {
	ID       string `json:"id"`
	Name     string `json:"name"` // "bash:main": as the agent declares it, and a key
	Metadata struct {
		Name    string `json:"terminal_name"`
		Key     string `json:"session_key"`
		Running bool   `json:"running"`
	} `json:"metadata"`
}

// Terminals lists the terminals that run in a session, oldest first.
func (c *Client) Terminals(ctx context.Context, session string) ([]Terminal, error) {
	var page struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := c.call(ctx, http.MethodGet, sessionPath(session, "/resources/terminals?order=asc&limit=1000"), nil, &page); err != nil {
		return nil, err
	}
	var out []Terminal
	for _, raw := range page.Data {
		var t Terminal
		if err := decode(raw, &t); err != nil {
			return nil, fmt.Errorf("reading the terminals of session %s: %w", session, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// StartTerminal starts a terminal that the session's agent declares, or finds
// the one that runs under that name and key.
func (c *Client) StartTerminal(ctx context.Context, session, name, key string) (*Terminal, error) {
	var t Terminal
	err := c.call(ctx, http.MethodPost, sessionPath(session, "/resources/terminals"),
		map[string]string{"terminal": name, "session_key": key}, &t)
	if err == nil && t.ID == "" {
		err = errors.New("the server started a terminal without an id")
	}
	return &t, err
}

// AgentOf reads the agent of a session.
func (c *Client) AgentOf(ctx context.Context, session string) (*Agent, error) {
	var raw json.RawMessage
	if err := c.call(ctx, http.MethodGet, sessionPath(session, "/agent"), nil, &raw); err != nil {
		return nil, err
	}
	var a Agent
	if err := decode(raw, &a); err != nil {
		return nil, fmt.Errorf("reading the agent of session %s: %w", session, err)
	}
	return &a, nil
}

func attachPath(session, terminal string, readOnly bool) string {
	return sessionPath(session, fmt.Sprintf("/resources/terminals/%s/attach?read_only=%t", url.PathEscape(terminal), readOnly))
}
