package serverapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// labelClosed marks a child that takes no more tasks.
const labelClosed = "omnigent.closed"

// childPage is how many children one page holds, and childPages how many pages
// are read at most.
const (
	childPage  = "?limit=1000"
	childPages = 100
)

// CreateChild makes a child session (sessions.md 12.1). A title that is taken
// is wire.ErrConflict. When the answer is lost, the child that has its title and
// its labels is the one that was made: the labels name the dispatch. If there is
// none it is asked for again, for as long as the server may be away. Without
// labels nobody could tell, so it is asked for once.
func (c *Client) CreateChild(ctx context.Context, child wire.NewChild) (made wire.Made, err error) {
	if len(child.Labels) == 0 {
		made, err = c.create(ctx, child)
	} else {
		sent := false
		err = c.patiently(ctx, func() (err error) {
			made, err = c.create(ctx, child)
			// A taken title may be taken by the child that was made before.
			if err != nil && (unsure(err) || sent && errors.Is(err, wire.ErrConflict)) {
				sent = true
				if found, ok := c.made(ctx, child); ok {
					made, err = found, nil
				}
			}
			return err
		})
	}
	if err != nil {
		return wire.Made{}, fmt.Errorf("creating session %q below %s: %w", child.Title, child.ParentID, err)
	}
	return made, nil
}

func (c *Client) create(ctx context.Context, child wire.NewChild) (made wire.Made, err error) {
	err = c.object(ctx, call{
		method: http.MethodPost, path: "/v1/sessions", body: child,
		timeout: c.Timing.call(), limit: snapshotLimit, conflict: true,
	}, &made)
	if err == nil && made.ID == "" {
		err = errors.New("the answer has no id")
	}
	return made, err
}

// made looks for a child whose creation was not answered. When that fails too,
// the creation failed: its own error is the one to tell.
func (c *Client) made(ctx context.Context, child wire.NewChild) (wire.Made, bool) {
	agent, name, _ := strings.Cut(child.Title, ":")
	found, ok, err := c.findChild(ctx, child.ParentID, agent, name)
	if err != nil || !ok {
		return wire.Made{}, false
	}
	for key, value := range child.Labels {
		if found.Labels[key] != value {
			return wire.Made{}, false
		}
	}
	return wire.Made{ID: found.ID, AgentName: found.AgentName}, true
}

// FindChild looks a child up by its agent and name; the newest that is not
// closed. Without an agent the name is a session's id, and that session is the
// child, closed or not; one that has another parent is marked Foreign. It asks
// for as long as the server may be away.
func (c *Client) FindChild(ctx context.Context, parent, agent, name string) (child wire.ChildSummary, ok bool, err error) {
	err = c.patiently(ctx, func() (err error) {
		child, ok, err = c.findChild(ctx, parent, agent, name)
		return err
	})
	return child, ok, err
}

func (c *Client) findChild(ctx context.Context, parent, agent, name string) (wire.ChildSummary, bool, error) {
	if agent == "" {
		return c.childByID(ctx, parent, name)
	}
	matches := func(child wire.ChildSummary) bool {
		return child.Tool == agent && child.SessionName == name && child.Labels[labelClosed] != "true"
	}
	page, err := c.childPage(ctx, parent, "?limit=1&order=desc&tool="+url.QueryEscape(agent)+"&session_name="+url.QueryEscape(name))
	if err != nil || len(page.children) == 0 {
		return wire.ChildSummary{}, false, err
	}
	if matches(page.children[0]) {
		return page.children[0], true, nil
	}
	// The newest is closed, or this server does not look for names.
	all, err := c.children(ctx, parent)
	if err != nil {
		return wire.ChildSummary{}, false, err
	}
	for _, child := range all {
		if matches(child) {
			return child, true, nil
		}
	}
	return wire.ChildSummary{}, false, nil
}

func (c *Client) childByID(ctx context.Context, parent, id string) (wire.ChildSummary, bool, error) {
	got, err := c.readSession(ctx, id)
	switch {
	case errors.Is(err, wire.ErrNotFound):
		return wire.ChildSummary{}, false, nil
	case err != nil:
		return wire.ChildSummary{}, false, err
	case got.ParentID != parent:
		return wire.ChildSummary{ID: id, Foreign: true}, true, nil
	}
	child := wire.ChildSummary{
		ID: id, Title: got.Title, SessionName: got.Title, AgentName: cmp.Or(got.SubAgentName, got.AgentName),
		Busy: got.Status == "running" || got.Status == "waiting", Labels: got.Labels,
	}
	if tool, name, ok := strings.Cut(got.Title, ":"); ok {
		child.Tool, child.SessionName = tool, name
	}
	switch {
	case child.Busy:
		child.Status = "in_progress"
	case got.Status == "failed":
		child.Status, child.ErrorCode, child.ErrorMessage = "failed", got.LastError.Code, got.LastError.Message
	}
	return child, true, nil
}

// Children lists all children of a session, newest first. A server that pages
// without getting on is believed to have no more. It asks for as long as the
// server may be away.
func (c *Client) Children(ctx context.Context, parent string) (all []wire.ChildSummary, err error) {
	err = c.patiently(ctx, func() (err error) {
		all, err = c.children(ctx, parent)
		return err
	})
	return all, err
}

func (c *Client) children(ctx context.Context, parent string) ([]wire.ChildSummary, error) {
	var all []wire.ChildSummary
	seen := map[string]bool{}
	query := childPage
	for range childPages {
		page, err := c.childPage(ctx, parent, query)
		if err != nil {
			return nil, err
		}
		before := len(all)
		for _, child := range page.children {
			if !seen[child.ID] {
				seen[child.ID] = true
				all = append(all, child)
			}
		}
		if !page.more || len(all) == before {
			return all, nil
		}
		query = childPage + "&after=" + url.QueryEscape(page.lastID)
	}
	return nil, fmt.Errorf("listing the children of session %s: there are more than %d pages", parent, childPages)
}

// children is one page of them.
type children struct {
	children []wire.ChildSummary
	lastID   string
	more     bool
}

func (c *Client) childPage(ctx context.Context, parent, query string) (children, error) {
	var answer struct {
		Data []struct {
			wire.ChildSummary
			Status    string `json:"current_task_status"`
			LastError struct {
				Code    string `json:"code"`
				Message string `json:"message"`
			} `json:"last_task_error"`
		} `json:"data"`
		LastID  string `json:"last_id"`
		HasMore bool   `json:"has_more"`
	}
	err := c.object(ctx, call{
		method: http.MethodGet, path: sessionPath(parent, "/child_sessions"+query),
		timeout: orDefault(c.Timing.Children, 10*time.Second), limit: pageLimit,
	}, &answer)
	if err == nil && answer.Data == nil {
		err = errors.New("the answer has no list of children")
	}
	page := children{lastID: answer.LastID, more: answer.HasMore}
	for _, row := range answer.Data {
		child := row.ChildSummary
		child.Status, child.ErrorCode, child.ErrorMessage = row.Status, row.LastError.Code, row.LastError.Message
		page.children = append(page.children, child)
		if child.ID == "" {
			err = errors.New("the answer has a child without an id")
		}
	}
	if err != nil {
		return children{}, fmt.Errorf("listing the children of session %s: %w", parent, err)
	}
	if n := len(page.children); page.lastID == "" && n > 0 {
		page.lastID = page.children[n-1].ID
	}
	return page, nil
}
