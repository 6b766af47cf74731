package wire

import (
	"encoding/json"
	"errors"
)

// Errors that a caller of the server's API decides on. Anything else is
// transient: worth another try.
var (
	// ErrNotFound is the server's settled answer that a session is not there.
	ErrNotFound = errors.New("not found")
	// ErrRejected is a settled refusal (4xx other than 404, 408, 425, 429 and
	// the authentication ones): the same request will never pass.
	ErrRejected = errors.New("rejected by the server")
	// ErrDenied says that the user may not (401, 403). It is not settled: a
	// credential may be renewed.
	ErrDenied = errors.New("access denied")
	// ErrStaleCursor says that the listing must start again from the beginning.
	ErrStaleCursor = errors.New("stale cursor")
	// ErrConflict says that something of that name is there already (409).
	ErrConflict = errors.New("conflict")
)

// Snapshot is what the runner reads of GET /v1/sessions/{id}: the authority
// for a session's identity (server.md 2.2, subagents-catchup.md 2).
type Snapshot struct {
	ID              string            `json:"id"`
	AgentID         string            `json:"agent_id,omitempty"`
	AgentName       string            `json:"agent_name,omitempty"`
	SubAgentName    string            `json:"sub_agent_name,omitempty"`
	ParentID        string            `json:"parent_session_id,omitempty"`
	Title           string            `json:"title,omitempty"`
	RunnerID        string            `json:"runner_id,omitempty"`
	Status          string            `json:"status,omitempty"`
	LastErrorCode   string            `json:"last_error_code,omitempty"`
	Archived        bool              `json:"archived,omitempty"`
	Workspace       string            `json:"workspace,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	ModelOverride   string            `json:"model_override,omitempty"`
	HarnessOverride string            `json:"harness_override,omitempty"`
	ReasoningEffort string            `json:"reasoning_effort,omitempty"`
	CreatedAt       int64             `json:"created_at,omitempty"`
	// Pending names the items that our server has stored and not yet got a
	// 2xx for; the upstream server has no such list.
	Pending []string `json:"pending,omitempty"`
}

// Item is one entry of GET /v1/sessions/{id}/items, in its flat form
// (server.md 2.4). Fields that the type of item lacks are empty.
type Item struct {
	ID              string          `json:"id"`
	ResponseID      string          `json:"response_id,omitempty"`
	Type            string          `json:"type"`
	Status          string          `json:"status,omitempty"`
	CreatedAt       int64           `json:"created_at,omitempty"`
	Role            string          `json:"role,omitempty"`
	Content         json.RawMessage `json:"content,omitempty"`
	IsMeta          bool            `json:"is_meta,omitempty"`
	CallID          string          `json:"call_id,omitempty"`
	Name            string          `json:"name,omitempty"`
	Arguments       string          `json:"arguments,omitempty"`
	Output          string          `json:"output,omitempty"`
	StreamMessageID string          `json:"stream_message_id,omitempty"`
	Code            string          `json:"code,omitempty"`
	Message         string          `json:"message,omitempty"`
	// Of a compaction: what stands in the place of everything before it.
	Summary   string          `json:"summary,omitempty"`
	Compacted json.RawMessage `json:"compacted_messages,omitempty"`
}

// Page is one page of items, oldest first.
type Page struct {
	Items   []Item
	LastID  string
	HasMore bool
}

// ChildSummary is one entry of GET /v1/sessions/{id}/child_sessions
// (server.md 2.5).
type ChildSummary struct {
	ID           string            `json:"id"`
	Title        string            `json:"title,omitempty"`
	Tool         string            `json:"tool,omitempty"`
	SessionName  string            `json:"session_name,omitempty"`
	AgentName    string            `json:"agent_name,omitempty"`
	Status       string            `json:"status,omitempty"` // current_task_status
	Busy         bool              `json:"busy,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	ErrorCode    string            `json:"error_code,omitempty"`
	ErrorMessage string            `json:"error_message,omitempty"`
	// Foreign: it was asked for by its id, and is another session's child or
	// nobody's; nothing else is said of it.
	Foreign bool `json:"-"`
}

// NewChild is the body of a POST /v1/sessions that makes a child
// (sessions.md 12.1).
type NewChild struct {
	AgentID         string            `json:"agent_id"`
	ParentID        string            `json:"parent_session_id"`
	Title           string            `json:"title,omitempty"`
	SubAgentName    string            `json:"sub_agent_name,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	HarnessOverride string            `json:"harness_override,omitempty"`
	ModelOverride   string            `json:"model_override,omitempty"`
	ReasoningEffort string            `json:"reasoning_effort,omitempty"`
}

// Made is what the server says of a session that it has made.
type Made struct {
	ID        string `json:"id"`
	AgentName string `json:"agent_name,omitempty"`
}

// Verdict is the server's word on a policy question (server.md 2.6).
type Verdict struct {
	Action string          `json:"result"`
	Reason string          `json:"reason"`
	Data   json.RawMessage `json:"data"`
}

// ToolCall is a tool that a running program asked for, as the server's /mcp
// takes it (sessions.md 11). Op names the call; a repeat is the same call.
type ToolCall struct {
	Op   string
	Name string
	Args json.RawMessage
}

// Outgoing is an item that the server must store: the data of one
// external_conversation_item event (server.md 2.6). The server keeps the first
// of equal SourceIDs, so sending it again is always safe.
type Outgoing struct {
	SourceID   string          `json:"source_id"`
	MessageID  string          `json:"message_id,omitempty"`
	ResponseID string          `json:"response_id,omitempty"`
	ItemType   string          `json:"item_type"`
	ItemData   json.RawMessage `json:"item_data"`
}
