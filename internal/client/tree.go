package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// The bounds of a tree: how deep it is read, and how many sessions it may have.
const (
	treeDepth = 16
	treeSize  = 10_000
)

// The labels that say whether a child's result was read by its parent.
const (
	labelDispatch  = "omnigent.subagent.dispatch_id"
	labelDelivered = "omnigent.subagent.delivered_id"
)

// Child is a session that another one started.
type Child struct {
	ID       string            `json:"id"`
	ParentID string            `json:"parent_session_id"`
	Title    string            `json:"title"`
	Status   string            `json:"current_task_status"` // in_progress, completed, failed or "" for none
	Busy     bool              `json:"busy"`
	Labels   map[string]string `json:"labels"`
	Preview  string            `json:"last_message_preview"`

	LastError    *Error  `json:"last_task_error"`
	Elicitations int     `json:"pending_elicitations_count"`
	Children     []Child `json:"-"`
	// Cut: it has children of its own that were not read, for they are too many.
	Cut bool `json:"-"`
}

// Unread reports whether its parent has work done by it that it has not read.
// A child whose runner is away has not done it: it is waited for.
func (c *Child) Unread() bool {
	given := c.Labels[labelDispatch]
	if e := c.LastError; e != nil && (e.Code == "runner_disconnected" || e.Code == "runner_failed_to_start") {
		return false
	}
	ended := !c.Busy && (c.Status == "completed" || c.Status == "failed" || c.Status == "cancelled")
	return ended && given != "" && given != c.Labels[labelDelivered]
}

// Tree reads the sessions below one, and the JSON of each, parents before their
// children.
func (c *Client) Tree(ctx context.Context, session string) ([]Child, []json.RawMessage, error) {
	left := treeSize
	return c.below(ctx, session, treeDepth, &left)
}

func (c *Client) below(ctx context.Context, session string, depth int, left *int) ([]Child, []json.RawMessage, error) {
	children, own, err := collect(ctx, c, sessionPath(session, "/child_sessions?order=asc&limit="+strconv.Itoa(pageSize)), "",
		func(child *Child) string { return child.ID })
	if err != nil {
		return nil, nil, fmt.Errorf("reading the sub-agents of session %s: %w", session, err)
	}
	var raws []json.RawMessage
	for n := range children {
		child := &children[n]
		raws = append(raws, own[n])
		*left--
		if depth == 1 || *left <= 0 {
			child.Cut = true
			continue
		}
		var more []json.RawMessage
		if child.Children, more, err = c.below(ctx, child.ID, depth-1, left); err != nil {
			return nil, nil, err
		}
		raws = append(raws, more...)
	}
	return children, raws, nil
}
