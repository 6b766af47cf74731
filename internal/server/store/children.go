package store

import (
	"context"
	"strings"
)

// ChildQuery selects a page of the sessions right below one (server.md 2.5).
type ChildQuery struct {
	Parent string
	// Tool and Name are the two halves of a child's title, which the first colon
	// divides; a title without one is all tool. "" = any.
	Tool, Name    string
	Ascending     bool
	After, Before string // cursors: session ids
	Limit         int
}

// Children reads one page, in the order of creation, and whether more follows
// it. An unknown cursor is ErrStaleCursor.
func (r reader) Children(ctx context.Context, q ChildQuery) ([]*Session, bool, error) {
	where, args := []string{"parent_id = ?"}, []any{q.Parent}
	add := func(cond string, arg any) { where = append(where, cond); args = append(args, arg) }
	if q.Tool != "" {
		add("substr(title, 1, instr(title || ':', ':') - 1) = ?", q.Tool)
	}
	if q.Name != "" {
		add("substr(title, instr(title || ':', ':') + 1) = ?", q.Name)
	}
	order, beyond, back := "DESC", "n < ?", "n > ?"
	if q.Ascending {
		order, beyond, back = "ASC", back, beyond
	}
	for _, c := range []struct{ id, cond string }{{q.After, beyond}, {q.Before, back}} {
		if c.id == "" {
			continue
		}
		at, err := r.Session(ctx, c.id)
		if err != nil {
			return nil, false, stale(err)
		}
		add(c.cond, at.N)
	}
	rows, err := collect(ctx, r.q, "listing child sessions", scanSessions, `SELECT `+sessionColumns+` FROM sessions WHERE `+
		strings.Join(where, " AND ")+` ORDER BY n `+order+` LIMIT ?`, append(args, q.Limit+1)...)
	if err != nil {
		return nil, false, err
	}
	if len(rows) > q.Limit {
		return rows[:q.Limit], true, nil
	}
	return rows, false, nil
}

// ChildTitled finds the child with that title, or ErrNotFound.
func (r reader) ChildTitled(ctx context.Context, parent, title string) (*Session, error) {
	s, err := scanSession(r.q.QueryRowContext(ctx,
		`SELECT `+sessionColumns+` FROM sessions WHERE parent_id = ? AND title = ? LIMIT 1`, parent, title))
	if err != nil {
		return nil, notFound("looking for a child session", err)
	}
	return s, nil
}

// Unsettled lists the sessions whose turn has not ended, as far as the server
// knows, or has failed; oldest first.
func (r reader) Unsettled(ctx context.Context) ([]*Session, error) {
	return collect(ctx, r.q, "listing unsettled sessions", scanSessions,
		`SELECT `+sessionColumns+` FROM sessions WHERE status <> 'idle' ORDER BY n`)
}

// LastAnswer finds the newest message of an assistant that is not meta, or
// ErrNotFound. With ofThisTurn it must follow the newest user's message.
func (r reader) LastAnswer(ctx context.Context, session string, ofThisTurn bool) (*Item, error) {
	query := `SELECT ` + itemColumns + ` FROM items WHERE session = ?1 AND type = 'message' AND data ->> 'role' = 'assistant'
		AND coalesce(data ->> 'is_meta', 0) = 0`
	if ofThisTurn {
		query += ` AND n > coalesce((SELECT max(n) FROM items WHERE session = ?1 AND type = 'message' AND data ->> 'role' = 'user'), 0)`
	}
	i, err := scanItem(r.q.QueryRowContext(ctx, query+` ORDER BY n DESC LIMIT 1`, session))
	if err != nil {
		return nil, notFound("reading the newest answer", err)
	}
	return i, nil
}

// HasPending says whether a message of the session waits for a runner.
func (r reader) HasPending(ctx context.Context, session string) (bool, error) {
	var has bool
	if err := r.q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pending WHERE session = ?)`, session).Scan(&has); err != nil {
		return false, unavailable("looking for pending messages", err)
	}
	return has, nil
}
