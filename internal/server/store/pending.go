package store

import (
	"context"
	"database/sql"
	"encoding/json"
)

// Pending is a user's message that no runner has accepted yet.
type Pending struct {
	Item  *Item
	Extra map[string]json.RawMessage // what the forward carries besides the item
}

// Pend marks a stored message as not accepted yet.
func (t *Tx) Pend(i *Item, extra map[string]json.RawMessage) error {
	b, err := Encode(extra)
	if err != nil {
		return err
	}
	_, err = t.exec("marking a message as pending", `INSERT INTO pending (n, item, session, extra) VALUES (?, ?, ?, ?)`, i.N, i.ID, i.Session, string(b))
	return err
}

// Settle takes the mark from a message and says whether there was one.
func (t *Tx) Settle(session, item string) (bool, error) {
	n, err := t.exec("settling a message", `DELETE FROM pending WHERE session = ? AND item = ?`, session, item)
	return n > 0, err
}

// Pending lists a session's messages that wait, oldest first.
func (r reader) Pending(ctx context.Context, session string) ([]Pending, error) {
	return collect(ctx, r.q, "listing pending messages", scanPending, `SELECT `+pendingColumns+` WHERE pending.session = ? ORDER BY pending.n`, session)
}

// NextPending reads the oldest message that waits, or ErrNotFound.
func (r reader) NextPending(ctx context.Context, session string) (Pending, error) {
	list, err := collect(ctx, r.q, "reading a pending message", scanPending, `SELECT `+pendingColumns+` WHERE pending.session = ? ORDER BY pending.n LIMIT 1`, session)
	if err != nil {
		return Pending{}, err
	}
	if len(list) == 0 {
		return Pending{}, ErrNotFound
	}
	return list[0], nil
}

// UnboundPending lists the sessions that have messages and no runner.
func (r reader) UnboundPending(ctx context.Context) ([]*Session, error) {
	return collect(ctx, r.q, "listing sessions without a runner", scanSessions,
		`SELECT `+sessionColumns+` FROM sessions WHERE runner_id = '' AND EXISTS (SELECT 1 FROM pending WHERE pending.session = sessions.id) ORDER BY n`)
}

const pendingColumns = `pending.extra, items.n, items.id, items.session, items.response_id, items.type, items.status, items.data,
	coalesce(items.source_id, ''), coalesce(items.stable_id, ''), items.call_id, items.created_by, items.created_at
	FROM pending JOIN items ON items.id = pending.item`

func scanPending(rows *sql.Rows) (Pending, error) {
	p := Pending{Item: &Item{}}
	i := p.Item
	var extra, data string
	if err := rows.Scan(&extra, &i.N, &i.ID, &i.Session, &i.ResponseID, &i.Type, &i.Status, &data,
		&i.SourceID, &i.StableID, &i.CallID, &i.CreatedBy, &i.CreatedAt); err != nil {
		return p, err
	}
	i.Data = json.RawMessage(data)
	return p, json.Unmarshal([]byte(extra), &p.Extra)
}
