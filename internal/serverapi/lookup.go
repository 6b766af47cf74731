package serverapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// The limits of sys_session_get_history (sessions.md 12), in items and
// characters.
const (
	tailItems    = 10
	tailMax      = 50
	contentChars = 2000
	historyChars = tailMax * contentChars
)

// listMax is how many sessions sys_session_list returns at most.
const listMax = 100

// LookUp runs a tool of an agent that only reads the server: sys_session_list,
// sys_session_get_info, sys_session_get_history (sessions.md 12). The output is
// JSON, also where it says what is wrong; an error means that the server could
// not be asked, for as long as it may be away.
func (c *Client) LookUp(ctx context.Context, session, tool string, args json.RawMessage) (string, error) {
	var a lookupArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return toolJSON(map[string]string{"error": tool + ": the arguments are not of the right types: " + err.Error()})
	}
	var out any
	err := c.patiently(ctx, func() (err error) {
		switch tool {
		case "sys_session_list":
			out, err = c.list(ctx, session, a)
		case "sys_session_get_info":
			out, err = c.info(ctx, session, a)
		case "sys_session_get_history":
			out, err = c.history(ctx, a)
		default:
			err = fmt.Errorf("there is no look-up %q", tool)
		}
		return err
	})
	switch {
	case errors.Is(err, wire.ErrNotFound):
		return toolJSON(map[string]string{"error": "session_not_found", "session_id": a.target(session)})
	case errors.Is(err, wire.ErrDenied):
		return toolJSON(map[string]string{"error": "access_denied", "session_id": a.target(session)})
	case err != nil:
		return "", err
	}
	return toolJSON(out)
}

type lookupArgs struct {
	AgentName      string `json:"agent_name"`
	Limit          int    `json:"limit"`
	Cursor         string `json:"cursor"`
	SessionID      string `json:"session_id"`
	ConversationID string `json:"conversation_id"`
	TailItems      *int   `json:"tail_items"`
	MaxChars       *int   `json:"content_max_chars"`
	OffsetChars    int    `json:"content_offset_chars"`
}

// target is the session that is asked about.
func (a lookupArgs) target(session string) string {
	for _, id := range []string{a.SessionID, a.ConversationID} {
		if id != "" {
			return id
		}
	}
	return session
}

type failure struct {
	Error string `json:"error"`
}

func toolJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("writing a tool's output: %w", err)
	}
	return string(text), nil
}

// list shows the caller's family, and all sessions that it may see.
func (c *Client) list(ctx context.Context, session string, a lookupArgs) (any, error) {
	type relative struct {
		Agent  string  `json:"agent"`
		Title  *string `json:"title"`
		ID     string  `json:"conversation_id"`
		Status string  `json:"status,omitempty"`
	}
	type row struct {
		ID        string  `json:"id"`
		AgentName *string `json:"agent_name"`
		Title     *string `json:"title"`
		Status    string  `json:"status"`
		RunnerID  *string `json:"runner_id"`
		ParentID  *string `json:"parent_session_id"`
	}
	if a.Limit < 0 || a.Limit > listMax {
		return failure{fmt.Sprintf("sys_session_list: limit is 1 to %d", listMax)}, nil
	}
	if a.Limit == 0 {
		a.Limit = listMax
	}
	family := []relative{}
	add := func(parent, except string) error {
		children, err := c.children(ctx, parent)
		for _, child := range children {
			if child.ID != except && child.Labels[labelClosed] != "true" {
				family = append(family, relative{child.Tool, &child.SessionName, child.ID, child.Status})
			}
		}
		return err
	}
	if err := add(session, ""); err != nil {
		return nil, err
	}
	self, err := c.readSession(ctx, session)
	if err != nil {
		return nil, err
	}
	if self.ParentID != "" {
		family = append(family, relative{Agent: "main", ID: self.ParentID})
		if err := add(self.ParentID, session); err != nil {
			return nil, err
		}
	}
	query := url.Values{"limit": {strconv.Itoa(a.Limit)}, "order": {"desc"}, "kind": {"any"}, "visibility": {"all"}}
	if a.AgentName != "" {
		query.Set("agent_name", a.AgentName)
	}
	if a.Cursor != "" {
		query.Set("after", a.Cursor)
	}
	var page struct {
		Data    []row  `json:"data"`
		LastID  string `json:"last_id"`
		HasMore bool   `json:"has_more"`
	}
	err = c.object(ctx, call{
		method: http.MethodGet, path: "/v1/sessions?" + query.Encode(),
		timeout: c.Timing.call(), limit: snapshotLimit,
	}, &page)
	if errors.Is(err, wire.ErrStaleCursor) {
		return failure{"sys_session_list: the cursor is of an older list; call again without it"}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the sessions: %w", err)
	}
	out := struct {
		SubAgents []relative `json:"sub_agents"`
		Sessions  []row      `json:"sessions"`
		Cursor    string     `json:"next_cursor,omitempty"`
	}{SubAgents: family, Sessions: page.Data}
	if page.HasMore {
		out.Cursor = page.LastID
	}
	return out, nil
}

// info shows one session without its items.
func (c *Client) info(ctx context.Context, session string, a lookupArgs) (any, error) {
	var got struct {
		ID            string            `json:"id"`
		Status        string            `json:"status"`
		LastActivity  json.RawMessage   `json:"updated_at"`
		Title         *string           `json:"title"`
		AgentID       *string           `json:"agent_id"`
		AgentName     *string           `json:"agent_name"`
		RunnerID      *string           `json:"runner_id"`
		RunnerOnline  *bool             `json:"runner_online"`
		HostID        *string           `json:"host_id"`
		ParentID      *string           `json:"parent_session_id"`
		SubAgentName  *string           `json:"sub_agent_name"`
		Effort        *string           `json:"reasoning_effort"`
		Model         *string           `json:"model_override"`
		AgentModel    *string           `json:"llm_model"`
		Workspace     *string           `json:"workspace"`
		Branch        *string           `json:"git_branch"`
		LastError     json.RawMessage   `json:"last_task_error"`
		Elicitations  []json.RawMessage `json:"pending_elicitations"`
		PendingInputs []json.RawMessage `json:"pending_inputs"`
	}
	id := a.target(session)
	err := c.object(ctx, call{
		method: http.MethodGet, path: sessionPath(id, "?include_items=false"),
		timeout: orDefault(c.Timing.Snapshot, 10*time.Second), limit: snapshotLimit,
	}, &got)
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	model := got.Model
	if model == nil {
		model = got.AgentModel
	}
	if got.Elicitations == nil {
		got.Elicitations = []json.RawMessage{}
	}
	return map[string]any{
		"session_id": got.ID, "status": got.Status, "last_activity_at": orNull(got.LastActivity), "title": got.Title,
		"agent_id": got.AgentID, "agent_name": got.AgentName, "runner_id": got.RunnerID, "runner_online": got.RunnerOnline,
		"host_id": got.HostID, "parent_session_id": got.ParentID, "sub_agent_name": got.SubAgentName,
		"reasoning_effort": got.Effort, "model": model, "workspace": got.Workspace, "git_branch": got.Branch,
		"last_task_error": orNull(got.LastError), "pending_elicitations": got.Elicitations,
		"pending_elicitation_count": len(got.Elicitations),
	}, nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// history shows the newest items of a session, oldest first, a window of each.
func (c *Client) history(ctx context.Context, a lookupArgs) (any, error) {
	id := a.target("")
	if id == "" {
		return failure{"sys_session_get_history needs a conversation_id"}, nil
	}
	tail, chars := tailItems, contentChars
	if a.TailItems != nil {
		tail = *a.TailItems
	}
	if a.MaxChars != nil {
		chars = *a.MaxChars
	}
	if tail < 1 || chars < 1 || a.OffsetChars < 0 {
		return failure{"sys_session_get_history: tail_items and content_max_chars are at least 1, content_offset_chars at least 0"}, nil
	}
	tail = min(tail, tailMax)
	w := window{from: a.OffsetChars, size: min(chars, historyChars/tail)}
	page, err := c.itemPage(ctx, id, "desc", "", tail)
	if err != nil {
		return nil, err
	}
	self, err := c.readSession(ctx, id)
	if err != nil {
		return nil, err
	}
	items := []map[string]string{}
	for _, it := range slices.Backward(page.Items) {
		items = append(items, w.show(it))
	}
	agent, name, ok := strings.Cut(self.Title, ":")
	if !ok || self.ParentID == "" {
		agent, name = self.AgentName, self.Title
	}
	return map[string]any{"conversation_id": id, "agent": agent, "title": name, "items": items}, nil
}

// window is the part of each text that is shown, in characters.
type window struct{ from, size int }

func (w window) show(it wire.Item) map[string]string {
	switch it.Type {
	case "message":
		return map[string]string{"type": it.Type, "role": it.Role, "text": w.cut(wire.Text(it.Content))}
	case "function_call":
		return map[string]string{"type": it.Type, "tool": it.Name, "args": w.cut(it.Arguments)}
	case "function_call_output":
		return map[string]string{"type": it.Type, "output": w.cut(it.Output)}
	case "error":
		return map[string]string{"type": it.Type, "code": it.Code, "message": w.cut(it.Message)}
	}
	return map[string]string{"type": it.Type}
}

// cut says what it leaves out, and how to see it.
func (w window) cut(text string) string {
	runes := []rune(text)
	begin := min(w.from, len(runes))
	end := min(begin+w.size, len(runes))
	shown := string(runes[begin:end])
	if end < len(runes) {
		shown += fmt.Sprintf("… [%d of %d characters; go on with content_offset_chars=%d]", end, len(runes), end)
	}
	return shown
}
