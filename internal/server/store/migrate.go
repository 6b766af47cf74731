package store

import (
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date: each numbered file that the database
// has not seen runs in a transaction of its own together with the new number.
func migrate(db *sql.DB) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return fmt.Errorf("listing migrations: %w", err)
	}
	var have int
	if err := db.QueryRow(`PRAGMA user_version`).Scan(&have); err != nil {
		return fmt.Errorf("reading the schema version: %w", err)
	}
	if have > len(names) {
		return fmt.Errorf("the database has schema %d, and this program knows only up to %d: run the newer program that wrote it", have, len(names))
	}
	for i := have; i < len(names); i++ {
		if err := step(db, names[i], i+1); err != nil {
			return fmt.Errorf("migrating to schema %d: %w", i+1, err)
		}
	}
	return nil
}

func step(db *sql.DB, name string, version int) error {
	text, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if _, err := tx.Exec(string(text)); err != nil {
		return joinRollback(err, tx)
	}
	if _, err := tx.Exec(fmt.Sprintf(`PRAGMA user_version = %d`, version)); err != nil {
		return joinRollback(err, tx)
	}
	return tx.Commit()
}
