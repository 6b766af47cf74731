package store

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Tx is a change in the making. It is valid only inside the function given to
// DB.Write.
type Tx struct {
	reader
	tx     *sql.Tx
	now    int64
	keep   int64
	events []Event

	touches []Touch
}

// Write runs fn in a transaction and makes it durable: when Write returns nil,
// the change is on disk and its events are handed over; otherwise nothing of it
// happened. Only the wait for the turn can be cut short by ctx: a change that
// has begun is not torn.
func (d *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	t, err := d.attempt(ctx, fn)
	if err != nil {
		return err
	}
	if len(t.events) > 0 {
		d.committed(t.events)
	}
	if len(t.touches) > 0 && d.touched != nil {
		d.touched(t.touches)
	}
	return nil
}

func (d *DB) attempt(ctx context.Context, fn func(*Tx) error) (_ *Tx, err error) {
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return nil, unavailable("opening the database", err)
	}
	defer func() {
		if broken(err) {
			// After an input or output error SQLite may hold pages that are not
			// on disk: the next change starts on a new connection.
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		if cerr := conn.Close(); err == nil && cerr != nil {
			err = unavailable("closing the connection", cerr)
		}
	}()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, unavailable("beginning a change", err)
	}
	t := &Tx{reader: reader{q: tx}, tx: tx, now: d.now().Unix(), keep: d.keep}
	done := false
	defer func() {
		if !done { // fn panicked
			_ = tx.Rollback()
		}
	}()
	err = fn(t)
	done = true
	if err != nil {
		// The first error ends the change: after SQLITE_FULL a further statement
		// would run outside of the transaction.
		return nil, joinRollback(err, tx)
	}
	if err := tx.Commit(); err != nil {
		return nil, unavailable("committing a change", joinRollback(err, tx))
	}
	return t, nil
}

// Quiet runs fn while no change is being made: what fn reads of the committed
// function's side is in step with the rows.
func (d *DB) Quiet(fn func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fn()
}

// Now is the time of the change, in unix seconds.
func (t *Tx) Now() int64 { return t.now }

func (t *Tx) exec(doing, query string, args ...any) (int64, error) {
	res, err := t.tx.Exec(query, args...)
	if err != nil {
		return 0, unavailable(doing, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, unavailable(doing, err)
	}
	return n, nil
}

func broken(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_IOERR || e.Code()&0xff == sqlite3.SQLITE_CORRUPT)
}

// Encode is the JSON that rows hold: one line, no HTML escapes.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
