package store

import (
	"context"
	"database/sql"
)

// Touch says that a change may have changed what lists show of a session.
type Touch struct {
	Session string
	New     bool // the change made it
}

// OnTouched has fn called after each commit with the sessions that it touched.
// It is set once, before the first change. fn must not call the database.
func (d *DB) OnTouched(fn func([]Touch)) { d.touched = fn }

// touch notes that a session's row in lists may differ.
func (t *Tx) touch(session string, isNew bool) {
	for i, have := range t.touches {
		if have.Session == session {
			t.touches[i].New = have.New || isNew
			return
		}
	}
	t.touches = append(t.touches, Touch{Session: session, New: isNew})
}

// SessionsByID reads the sessions that there are of the given ones, oldest
// first.
func (r reader) SessionsByID(ctx context.Context, ids []string) ([]*Session, error) {
	list, err := Encode(ids)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "reading sessions", func(rows *sql.Rows) (*Session, error) { return scanSession(rows) },
		`SELECT `+sessionColumns+` FROM sessions WHERE id IN (SELECT value FROM json_each(?)) ORDER BY n`, string(list))
}
