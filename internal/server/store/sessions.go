package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
)

// Session is one row of sessions with its labels. Empty strings mean "not set".
type Session struct {
	N                 int64
	ID                string
	Owner             string
	AgentID           string
	AgentName         string
	Title             string
	Status            string
	Error             json.RawMessage // last_task_error, nil when there is none
	Outcome           string          // of the newest task: "", OutcomeOpen, completed, failed, cancelled
	ResponseID        string          // the running response
	RunnerID          string
	ParentID          string
	RootID            string
	SubAgentName      string
	Workspace         string
	ModelOverride     string
	HarnessOverride   string
	ReasoningEffort   string
	ExternalSessionID string
	Archived          bool
	Settings          map[string]json.RawMessage // what is only kept and shown
	LastSeq           int64
	CreatedAt         int64
	UpdatedAt         int64
	Labels            map[string]string
	LastSeen          int64 // when the user saw it, 0 for never
	Unread            bool  // the user marked it so
	Questions         int   // that wait for an answer here
}

// Kind is the wire's word for whether a session has a parent.
func (s *Session) Kind() string {
	if s.ParentID != "" {
		return "sub_agent"
	}
	return "default"
}

// OutcomeOpen is the outcome of a task that has not ended.
const OutcomeOpen = "open"

const sessionColumns = `n, id, owner, agent_id, agent_name, title, status, error, outcome, response_id, runner_id,
	parent_id, root_id, sub_agent_name, workspace, model_override, harness_override, reasoning_effort,
	external_session_id, archived, settings, last_seq, created_at, updated_at, last_seen, unread,
	(SELECT count(*) FROM elicitations WHERE elicitations.session = sessions.id),
	(SELECT json_group_object(key, value) FROM labels WHERE labels.session = sessions.id)`

type scanner interface{ Scan(...any) error }

func scanSession(row scanner) (*Session, error) {
	var s Session
	var taskError, settings, labels string
	err := row.Scan(&s.N, &s.ID, &s.Owner, &s.AgentID, &s.AgentName, &s.Title, &s.Status, &taskError, &s.Outcome, &s.ResponseID, &s.RunnerID,
		&s.ParentID, &s.RootID, &s.SubAgentName, &s.Workspace, &s.ModelOverride, &s.HarnessOverride, &s.ReasoningEffort,
		&s.ExternalSessionID, &s.Archived, &settings, &s.LastSeq, &s.CreatedAt, &s.UpdatedAt,
		&s.LastSeen, &s.Unread, &s.Questions, &labels)
	if err != nil {
		return nil, err
	}
	if taskError != "" {
		s.Error = json.RawMessage(taskError)
	}
	if err := json.Unmarshal([]byte(settings), &s.Settings); err != nil {
		return nil, fmt.Errorf("settings of session %s: %w", s.ID, err)
	}
	if err := json.Unmarshal([]byte(labels), &s.Labels); err != nil {
		return nil, fmt.Errorf("labels of session %s: %w", s.ID, err)
	}
	return &s, nil
}

func scanSessions(rows *sql.Rows) (*Session, error) { return scanSession(rows) }

// Session reads one session, or ErrNotFound.
func (r reader) Session(ctx context.Context, id string) (*Session, error) {
	s, err := scanSession(r.q.QueryRowContext(ctx, `SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, id))
	if err != nil {
		return nil, notFound("reading session "+id, err)
	}
	return s, nil
}

// BoundTo lists the sessions of a runner, archived ones too, oldest first.
func (r reader) BoundTo(ctx context.Context, runner string) ([]*Session, error) {
	return collect(ctx, r.q, "listing bound sessions", scanSessions,
		`SELECT `+sessionColumns+` FROM sessions WHERE runner_id = ? ORDER BY n`, runner)
}

// InTurn lists the sessions whose turn has not ended, as far as the server
// knows.
func (r reader) InTurn(ctx context.Context) ([]*Session, error) {
	return collect(ctx, r.q, "listing running sessions", scanSessions,
		`SELECT `+sessionColumns+` FROM sessions WHERE status IN ('running', 'waiting', 'launching') ORDER BY n`)
}

// Tree lists a session and everything below it, parents before children.
func (r reader) Tree(ctx context.Context, root string) ([]*Session, error) {
	return collect(ctx, r.q, "listing a session tree", scanSessions, `
		WITH RECURSIVE tree (tid, depth) AS (
			SELECT id, 0 FROM sessions WHERE id = ?1
			UNION ALL
			SELECT sessions.id, depth + 1 FROM sessions JOIN tree ON sessions.parent_id = tree.tid
		)
		SELECT `+sessionColumns+` FROM sessions JOIN tree ON sessions.id = tree.tid ORDER BY depth, n`, root)
}

// SessionQuery selects a page of sessions (server.md 0, 2.5).
type SessionQuery struct {
	Owner         string
	AgentID       string
	AgentName     string
	Kind          string // default, sub_agent, any
	Search        string // in the title
	Archived      bool   // archived ones too
	OnlyArchived  bool
	ByUpdate      bool // sort by updated_at instead of creation
	Project       string
	Pinned        bool
	Ascending     bool
	After, Before string // cursors: session ids
	Limit         int
}

// Sessions reads one page and whether more follows it. An unknown cursor is
// ErrStaleCursor.
func (r reader) Sessions(ctx context.Context, q SessionQuery) ([]*Session, bool, error) {
	where, args := []string{"owner = ?"}, []any{q.Owner}
	add := func(cond string, arg ...any) { where = append(where, cond); args = append(args, arg...) }
	if q.AgentID != "" {
		add("agent_id = ?", q.AgentID)
	}
	if q.AgentName != "" {
		add("agent_name = ?", q.AgentName)
	}
	switch q.Kind {
	case "sub_agent":
		add("parent_id <> ''")
	case "default":
		add("parent_id = ''")
	}
	if q.Search != "" {
		add("instr(lower(title), lower(?)) > 0", q.Search)
	}
	if q.Project != "" {
		add("settings ->> 'project_id' = ?", q.Project)
	}
	if q.Pinned {
		add("EXISTS (SELECT 1 FROM labels WHERE labels.session = sessions.id AND key LIKE 'omnigent.pinned.%')")
	}
	switch {
	case q.OnlyArchived:
		add("archived = 1")
	case !q.Archived:
		add("archived = 0")
	}
	key := "n"
	if q.ByUpdate {
		key = "updated_at"
	}
	for _, c := range []struct{ id, beyond, back string }{{q.After, "<", ">"}, {q.Before, ">", "<"}} {
		if c.id == "" {
			continue
		}
		at, err := r.Session(ctx, c.id)
		if err != nil {
			return nil, false, stale(err)
		}
		op := c.beyond
		if q.Ascending {
			op = c.back
		}
		if q.ByUpdate {
			add("(updated_at, n) "+op+" (?, ?)", at.UpdatedAt, at.N)
		} else {
			add("n "+op+" ?", at.N)
		}
	}
	order := "DESC"
	if q.Ascending {
		order = "ASC"
	}
	rows, err := collect(ctx, r.q, "listing sessions", scanSessions,
		`SELECT `+sessionColumns+` FROM sessions WHERE `+strings.Join(where, " AND ")+
			` ORDER BY `+key+` `+order+`, n `+order+` LIMIT ?`, append(args, q.Limit+1)...)
	if err != nil {
		return nil, false, err
	}
	if len(rows) > q.Limit {
		return rows[:q.Limit], true, nil
	}
	return rows, false, nil
}

// CreateSession stores a new session; its times are set here, and its id,
// owner, agent and root are the caller's.
func (t *Tx) CreateSession(s *Session) error {
	s.CreatedAt, s.UpdatedAt = t.now, t.now
	settings, err := settingsJSON(s.Settings)
	if err != nil {
		return err
	}
	if _, err := t.exec("storing a session", `INSERT INTO sessions (id, owner, agent_id, agent_name, title, status, outcome, runner_id,
		parent_id, root_id, sub_agent_name, workspace, model_override, harness_override, reasoning_effort,
		external_session_id, settings, created_at, updated_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		s.ID, s.Owner, s.AgentID, s.AgentName, s.Title, s.Status, s.Outcome, s.RunnerID,
		s.ParentID, s.RootID, s.SubAgentName, s.Workspace, s.ModelOverride, s.HarnessOverride, s.ReasoningEffort,
		s.ExternalSessionID, settings, s.CreatedAt, s.UpdatedAt); err != nil {
		return err
	}
	t.touch(s.ID, true)
	return t.SetLabels(s.ID, s.Labels)
}

// SaveSession stores what may change of a session and stamps updated_at.
func (t *Tx) SaveSession(s *Session) error {
	s.UpdatedAt = t.now
	t.touch(s.ID, false)
	settings, err := settingsJSON(s.Settings)
	if err != nil {
		return err
	}
	n, err := t.exec("storing session "+s.ID, `UPDATE sessions SET title = ?, status = ?, error = ?, outcome = ?, response_id = ?, runner_id = ?,
		workspace = ?, model_override = ?, reasoning_effort = ?, external_session_id = ?, archived = ?, settings = ?,
		updated_at = ? WHERE id = ?`,
		s.Title, s.Status, string(s.Error), s.Outcome, s.ResponseID, s.RunnerID,
		s.Workspace, s.ModelOverride, s.ReasoningEffort, s.ExternalSessionID, s.Archived, settings,
		s.UpdatedAt, s.ID)
	if err == nil && n == 0 {
		err = fmt.Errorf("storing session %s: %w", s.ID, ErrNotFound)
	}
	return err
}

// SetLabels merges labels into a session's.
func (t *Tx) SetLabels(session string, labels map[string]string) error {
	if len(labels) == 0 {
		return nil
	}
	all, err := Encode(labels)
	if err != nil {
		return err
	}
	t.touch(session, false)
	_, err = t.exec("storing labels", `INSERT INTO labels (session, key, value) SELECT ?, key, value FROM json_each(?) WHERE true
		ON CONFLICT (session, key) DO UPDATE SET value = excluded.value`, session, string(all))
	return err
}

// DropLabel takes a label from a session.
func (t *Tx) DropLabel(session, key string) error {
	t.touch(session, false)
	_, err := t.exec("removing a label", `DELETE FROM labels WHERE session = ? AND key = ?`, session, key)
	return err
}

// SawSession notes what the user has seen of a session. That is no change of
// the session: its times stay.
func (t *Tx) SawSession(id string, at int64, unread bool) error {
	t.touch(id, false)
	n, err := t.exec("noting what was seen", `UPDATE sessions SET last_seen = ?, unread = ? WHERE id = ?`, at, unread, id)
	if err == nil && n == 0 {
		err = fmt.Errorf("noting what was seen of session %s: %w", id, ErrNotFound)
	}
	return err
}

// DeleteSession removes a session and everything below it, with all their rows.
func (t *Tx) DeleteSession(ctx context.Context, id string) error {
	tree, err := t.Tree(ctx, id)
	if err != nil {
		return err
	}
	if len(tree) == 0 {
		return fmt.Errorf("deleting session %s: %w", id, ErrNotFound)
	}
	for _, s := range tree {
		t.touch(s.ID, false)
		if _, err := t.exec("deleting session "+s.ID, `DELETE FROM sessions WHERE id = ?`, s.ID); err != nil {
			return err
		}
	}
	return nil
}

func settingsJSON(m map[string]json.RawMessage) (string, error) {
	if m == nil {
		return "{}", nil
	}
	b, err := Encode(m)
	return string(b), err
}
