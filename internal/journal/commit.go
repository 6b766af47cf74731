package journal

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/outrunner/outrunner/runner/wire"
)

// doubt says what the last failed call may have left at next and above. An
// error from COMMIT does not say that nothing was committed.
type doubt int

const (
	none       doubt = iota
	appended         // a batch that nobody was told about
	checkpoint       // a checkpoint in the place of everything before it
)

// Commit makes the records durable, all or none, in order, and returns when
// they are. After an error none is known to be, and the same call may be
// repeated: the records land once. A different call instead takes their place.
func (db *DB) Commit(records []wire.Record) error {
	if len(records) == 0 {
		return nil
	}
	return db.write(appended, records)
}

// Replace puts the records in the place of everything committed so far, all or
// nothing: a checkpoint. After an error it may or may not have happened; the
// records mean the same in both cases, so any call may follow.
func (db *DB) Replace(records []wire.Record) error {
	return db.write(checkpoint, records)
}

func (db *DB) write(kind doubt, records []wire.Record) error {
	bodies, err := encode(records)
	if err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := db.ready(); err != nil {
		return err
	}
	if db.doubt == checkpoint {
		// If it landed, it is all there is, and new records go behind it.
		next, err := nextSeq(db.sql, db.next)
		if err != nil {
			return db.failed(err)
		}
		db.next, db.doubt = next, none
	}
	next, err := db.transact(kind, records, bodies)
	if err != nil {
		db.doubt = kind
		return db.failed(err)
	}
	db.next, db.doubt = next, none
	return nil
}

// transact does the whole call in one transaction. At the first error of any
// statement it rolls back and returns: SQLITE_FULL has rolled back by itself
// by then, and one more statement would run, and commit, on its own.
func (db *DB) transact(kind doubt, records []wire.Record, bodies [][]byte) (next int64, err error) {
	tx, err := db.sql.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do, before it the first error is the one to tell

	seq := db.next
	switch {
	case kind == checkpoint:
		_, err = tx.Exec("DELETE FROM records")
	case db.doubt == appended:
		// Writing it again is better than looking whether it is there: after
		// a failed sync the file may read as if it were while the disk has
		// lost it.
		_, err = tx.Exec("DELETE FROM records WHERE seq >= ?", seq)
	}
	if err != nil {
		return 0, err
	}
	insert, err := tx.Prepare("INSERT INTO records (seq, session, kind, body) VALUES (?, ?, ?, ?)")
	if err != nil {
		return 0, err
	}
	defer insert.Close() //nolint:errcheck // it ends with the transaction
	for i, r := range records {
		if _, err := insert.Exec(seq, r.Session, string(r.Kind), bodies[i]); err != nil {
			return 0, err
		}
		seq++
	}
	return seq, tx.Commit()
}

// failed notes what must happen before the next call, and returns err as a
// sentence. A full disk or a lock leaves the connection in order; after
// anything else its caches cannot be trusted.
func (db *DB) failed(err error) error {
	switch code(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY:
		return explain(db.path, err)
	}
	db.log.Warn("journal failed, opening it again", "path", db.path, "err", err)
	if err := db.drop(); err != nil {
		db.log.Warn("journal did not close cleanly", "path", db.path, "err", err)
	}
	return explain(db.path, err)
}

// ready opens the file again if an earlier error closed it.
func (db *DB) ready() error {
	if db.closed {
		return ErrClosed
	}
	if db.sql != nil {
		return nil
	}
	if err := db.open(); err != nil {
		return err
	}
	// A log whose sync has failed may have a hole on the disk that the page
	// cache still hides, and everything written behind a hole is lost with
	// it. So bring the log into the database and begin a new one.
	var busy, pages, moved int
	err := db.sql.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	if err == nil && busy != 0 {
		err = fmt.Errorf("another program reads it")
	}
	if err != nil {
		if cerr := db.drop(); cerr != nil {
			db.log.Warn("journal did not close cleanly", "path", db.path, "err", cerr)
		}
		return explain(db.path, err)
	}
	db.log.Info("journal opened again", "path", db.path)
	return nil
}

// encode gives one JSON body per record. HTML escapes stay off so that the
// JSON inside a record comes back as it was.
func encode(records []wire.Record) ([][]byte, error) {
	bodies := make([][]byte, len(records))
	for i := range records {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(&records[i]); err != nil {
			return nil, fmt.Errorf("encoding record %s of session %s: %w", records[i].Kind, records[i].Session, err)
		}
		bodies[i] = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	}
	return bodies, nil
}

// querier is a database or a transaction.
type querier interface {
	QueryRow(query string, args ...any) *sql.Row
}

// nextSeq is the number after the newest record, at least low.
func nextSeq(q querier, low int64) (int64, error) {
	var top sql.NullInt64
	if err := q.QueryRow("SELECT max(seq) FROM records").Scan(&top); err != nil {
		return 0, err
	}
	return max(low, top.Int64+1), nil
}
