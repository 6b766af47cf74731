package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// Item is one row of items.
type Item struct {
	N          int64
	ID         string
	Session    string
	ResponseID string
	Type       string
	Status     string
	Data       json.RawMessage // an object: the fields of the type (server.md 2.4)
	SourceID   string          // "" = none; unique in the session
	StableID   string          // "" = none; unique in the session
	CallID     string
	CreatedBy  string
	CreatedAt  int64
}

const itemColumns = `n, id, session, response_id, type, status, data, coalesce(source_id, ''), coalesce(stable_id, ''), call_id, created_by, created_at`

func scanItem(row scanner) (*Item, error) {
	var i Item
	var data string
	err := row.Scan(&i.N, &i.ID, &i.Session, &i.ResponseID, &i.Type, &i.Status, &data, &i.SourceID, &i.StableID, &i.CallID, &i.CreatedBy, &i.CreatedAt)
	i.Data = json.RawMessage(data)
	return &i, err
}

func scanItems(rows *sql.Rows) (*Item, error) { return scanItem(rows) }

// Item reads one item of a session, or ErrNotFound.
func (r reader) Item(ctx context.Context, session, id string) (*Item, error) {
	return r.item(ctx, "id = ?", session, id)
}

// ItemBySource finds an item by its producer's name, or ErrNotFound.
func (r reader) ItemBySource(ctx context.Context, session, source string) (*Item, error) {
	return r.item(ctx, "source_id = ?", session, source)
}

// ItemByStable finds an item by its client's name, or ErrNotFound.
func (r reader) ItemByStable(ctx context.Context, session, stable string) (*Item, error) {
	return r.item(ctx, "stable_id = ?", session, stable)
}

// CallItem finds the newest function_call of a call id, or ErrNotFound.
func (r reader) CallItem(ctx context.Context, session, call string) (*Item, error) {
	return r.item(ctx, "type = 'function_call' AND call_id = ?", session, call)
}

// LastOf finds the newest message with that role, or ErrNotFound.
func (r reader) LastOf(ctx context.Context, session, role string) (*Item, error) {
	return r.item(ctx, "type = 'message' AND data ->> 'role' = ?", session, role)
}

// HasCall says whether the session has an item of that type for that call in
// that response.
func (r reader) HasCall(ctx context.Context, session, typ, response, call string) (bool, error) {
	var n int
	err := r.q.QueryRowContext(ctx, `SELECT count(*) FROM items WHERE session = ? AND type = ? AND response_id = ? AND call_id = ?`,
		session, typ, response, call).Scan(&n)
	if err != nil {
		return false, unavailable("looking for a call", err)
	}
	return n > 0, nil
}

// LastError finds the newest error item that no user's message follows, or
// ErrNotFound.
func (r reader) LastError(ctx context.Context, session string) (*Item, error) {
	i, err := scanItem(r.q.QueryRowContext(ctx, `SELECT `+itemColumns+` FROM items WHERE session = ?1 AND type = 'error'
		AND n > coalesce((SELECT max(n) FROM items WHERE session = ?1 AND type = 'message' AND data ->> 'role' = 'user'), 0)
		ORDER BY n DESC LIMIT 1`, session))
	if err != nil {
		return nil, notFound("reading an error item", err)
	}
	return i, nil
}

// LastResourceEvent finds the newest item that tells of a resource, or
// ErrNotFound.
func (r reader) LastResourceEvent(ctx context.Context, session, resource string) (*Item, error) {
	return r.item(ctx, "type = 'resource_event' AND data ->> 'resource_id' = ?", session, resource)
}

func (r reader) item(ctx context.Context, cond, session, arg string) (*Item, error) {
	i, err := scanItem(r.q.QueryRowContext(ctx,
		`SELECT `+itemColumns+` FROM items WHERE session = ? AND `+cond+` ORDER BY n DESC LIMIT 1`, session, arg))
	if err != nil {
		return nil, notFound("reading an item", err)
	}
	return i, nil
}

// ItemQuery selects a page of a session's items (server.md 0).
type ItemQuery struct {
	Session       string
	Type          string
	Descending    bool
	After, Before string // cursors: item ids
	Limit         int
}

// Items reads one page and whether more follows it. An unknown cursor is
// ErrStaleCursor.
func (r reader) Items(ctx context.Context, q ItemQuery) ([]*Item, bool, error) {
	query, args := `SELECT `+itemColumns+` FROM items WHERE session = ?`, []any{q.Session}
	if q.Type != "" {
		query += ` AND type = ?`
		args = append(args, q.Type)
	}
	beyond, back, order := " AND n > ?", " AND n < ?", "ASC"
	if q.Descending {
		beyond, back, order = back, beyond, "DESC"
	}
	for _, c := range []struct{ id, cond string }{{q.After, beyond}, {q.Before, back}} {
		if c.id == "" {
			continue
		}
		at, err := r.Item(ctx, q.Session, c.id)
		if err != nil {
			return nil, false, stale(err)
		}
		query += c.cond
		args = append(args, at.N)
	}
	rows, err := collect(ctx, r.q, "listing items", scanItems, query+` ORDER BY n `+order+` LIMIT ?`, append(args, q.Limit+1)...)
	if err != nil {
		return nil, false, err
	}
	if len(rows) > q.Limit {
		return rows[:q.Limit], true, nil
	}
	return rows, false, nil
}

// LastItems reads the newest items, oldest of them first.
func (r reader) LastItems(ctx context.Context, session string, limit int) ([]*Item, error) {
	rows, err := collect(ctx, r.q, "reading the newest items", scanItems,
		`SELECT * FROM (SELECT `+itemColumns+` FROM items WHERE session = ? ORDER BY n DESC LIMIT ?) ORDER BY n`, session, limit)
	return rows, err
}

// AddItem appends an item and stamps its session. Its time is made here, and
// its id if it has none. An item whose source or stable id the session already has is not
// stored: added is false, and the item becomes the stored one.
func (t *Tx) AddItem(ctx context.Context, i *Item) (added bool, err error) {
	for _, known := range []struct {
		name string
		find func(context.Context, string, string) (*Item, error)
	}{{i.SourceID, t.ItemBySource}, {i.StableID, t.ItemByStable}} {
		if known.name == "" {
			continue
		}
		was, err := known.find(ctx, i.Session, known.name)
		if err == nil {
			*i = *was
			return false, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return false, err
		}
	}
	if i.ID == "" {
		i.ID = NewID()
	}
	i.CreatedAt = t.now
	row := t.tx.QueryRowContext(ctx, `INSERT INTO items (id, session, response_id, type, status, data, source_id, stable_id, call_id, created_by, created_at)
		VALUES (?, ?, ?, ?, ?, ?, nullif(?, ''), nullif(?, ''), ?, ?, ?) RETURNING n`,
		i.ID, i.Session, i.ResponseID, i.Type, i.Status, string(i.Data), i.SourceID, i.StableID, i.CallID, i.CreatedBy, i.CreatedAt)
	if err := row.Scan(&i.N); err != nil {
		return false, unavailable("storing an item", err)
	}
	t.touch(i.Session, false)
	_, err = t.exec("stamping a session", `UPDATE sessions SET updated_at = ? WHERE id = ?`, t.now, i.Session)
	return true, err
}

func stale(err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: the listing must start again", ErrStaleCursor)
	}
	return err
}
