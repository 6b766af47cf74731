package store

import (
	"context"
	"database/sql"
	"errors"
)

// Event is one published event: a row, numbered in its session from 1.
type Event struct {
	Session string
	Seq     int64
	Type    string
	Data    []byte // a JSON object
}

// pruneEvery is how often old rows are removed: once in so many events.
const pruneEvery = 64

// Emit publishes an event of a session with this change. The data must be a
// JSON object.
func (t *Tx) Emit(session, typ string, data any) error {
	b, err := Encode(data)
	if err != nil {
		return err
	}
	var seq int64
	if err := t.tx.QueryRow(`UPDATE sessions SET last_seq = last_seq + 1 WHERE id = ? RETURNING last_seq`, session).Scan(&seq); err != nil {
		return notFound("numbering an event of session "+session, err)
	}
	if _, err := t.exec("storing an event", `INSERT INTO events (session, seq, type, data) VALUES (?, ?, ?, ?)`, session, seq, typ, string(b)); err != nil {
		return err
	}
	if seq%pruneEvery == 0 {
		if _, err := t.exec("removing old events", `DELETE FROM events WHERE session = ? AND seq <= ?`, session, seq-t.keep); err != nil {
			return err
		}
	}
	t.touch(session, false)
	t.events = append(t.events, Event{Session: session, Seq: seq, Type: typ, Data: b})
	return nil
}

// LastSeq is the number of a session's newest event, 0 before the first.
func (r reader) LastSeq(ctx context.Context, session string) (int64, error) {
	var seq int64
	if err := r.q.QueryRowContext(ctx, `SELECT last_seq FROM sessions WHERE id = ?`, session).Scan(&seq); err != nil {
		return 0, notFound("reading session "+session, err)
	}
	return seq, nil
}

// HasEventsAfter says whether every event that followed seq is still there to
// be replayed.
func (r reader) HasEventsAfter(ctx context.Context, session string, seq int64) (bool, error) {
	last, err := r.LastSeq(ctx, session)
	if err != nil || seq > last || seq < 0 {
		return false, err
	}
	if seq == last {
		return true, nil
	}
	var one int
	err = r.q.QueryRowContext(ctx, `SELECT 1 FROM events WHERE session = ? AND seq = ?`, session, seq+1).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, unavailable("reading an event", err)
	}
	return true, nil
}

// Events reads the events after and up to the given numbers, oldest first, at
// most limit.
func (r reader) Events(ctx context.Context, session string, after, upTo int64, limit int) ([]Event, error) {
	return collect(ctx, r.q, "reading events", func(rows *sql.Rows) (Event, error) {
		e := Event{Session: session}
		var data string
		err := rows.Scan(&e.Seq, &e.Type, &data)
		e.Data = []byte(data)
		return e, err
	}, `SELECT seq, type, data FROM events WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, session, after, upTo, limit)
}
