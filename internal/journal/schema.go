package journal

import (
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// appID marks the file as a journal of ours ("outr"), so that another
	// program's database is refused instead of being written to.
	appID = 0x6f757472
	// version is the newest schema that this code knows.
	version = 1
)

// migrations[n] brings a journal from schema n to n+1. They only ever grow.
func migrations() []string {
	return []string{
		`CREATE TABLE records (
			seq     INTEGER PRIMARY KEY, -- given by us, never by SQLite
			session TEXT NOT NULL,       -- for people who look inside
			kind    TEXT NOT NULL,
			body    BLOB NOT NULL        -- the whole record as JSON
		) STRICT`,
	}
}

var (
	errDamaged = errors.New("is damaged")
	errForeign = errors.New("is another program's database")
	errNewer   = errors.New("was written by a newer version of outrunner")
)

// prepare checks that the file is whole and ours, and brings it to the newest
// schema.
func prepare(db *sql.DB) error {
	var id, have int
	if err := db.QueryRow("PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if err := db.QueryRow("PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if id != appID {
		var tables int
		if err := db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
			return err
		}
		if id != 0 || have != 0 || tables != 0 {
			return errForeign
		}
	}
	if have > version {
		return fmt.Errorf("%w (its schema is %d, this one knows %d)", errNewer, have, version)
	}
	var verdict string
	if err := db.QueryRow("PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, verdict)
	}
	if have == version {
		return nil
	}
	return migrate(db, have)
}

// migrate runs what is missing in one transaction, so that a kill leaves the
// old schema or the new one.
func migrate(db *sql.DB, have int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do, before it the first error is the one to tell
	for _, step := range migrations()[have:] {
		if _, err := tx.Exec(step); err != nil {
			return err
		}
	}
	// A pragma takes no parameters; both values are constants of ours.
	if _, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", appID, version)); err != nil {
		return err
	}
	return tx.Commit()
}

// explain turns what went wrong with the file into a sentence with a next step.
func explain(path string, err error) error {
	switch {
	case errors.Is(err, errForeign):
		return fmt.Errorf("journal %s %w; choose another state directory", path, err)
	case errors.Is(err, errNewer):
		return fmt.Errorf("journal %s %w; run that version, or move the file away to start with an empty journal", path, err)
	case errors.Is(err, errDamaged):
		return fmt.Errorf("journal %s %w; move the file away to start with an empty journal", path, err)
	}
	switch code(err) {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("journal %s %w: %w; move the file away to start with an empty journal", path, errDamaged, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("journal %s: the disk is full; free some space: %w", path, err)
	}
	return fmt.Errorf("journal %s: %w", path, err)
}

// code is the primary SQLite result code of an error, or 0.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}
