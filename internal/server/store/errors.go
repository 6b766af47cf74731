package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
)

// Errors that a caller decides on (match with errors.Is).
var (
	// ErrNotFound says that no such row exists.
	ErrNotFound = errors.New("not found")
	// ErrStaleCursor says that the row which a listing should go on from is
	// not there.
	ErrStaleCursor = errors.New("stale cursor")
	// ErrUnavailable says that the database itself failed: a full disk, an
	// input or output error. Nothing of the change was kept.
	ErrUnavailable = errors.New("storage is unavailable")
)

// unavailable marks an error of the database, as opposed to one of the domain.
func unavailable(doing string, err error) error {
	return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, err)
}

// notFound turns the driver's "no rows" into ours.
func notFound(doing string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", doing, ErrNotFound)
	}
	return unavailable(doing, err)
}

func joinClose(err error, c io.Closer) error { return errors.Join(err, c.Close()) }

// joinRollback ends a failed transaction. After a full disk SQLite has already
// rolled back, which is no second error.
func joinRollback(err error, tx *sql.Tx) error {
	if rerr := tx.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) {
		return errors.Join(err, rerr)
	}
	return err
}
