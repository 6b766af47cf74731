package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

const (
	// readers bounds the connections that only read.
	readers = 4
	// keepEvents is how many event rows a session keeps: a viewer that was
	// away for longer reads the items again.
	keepEvents = 4096
)

// DB is the open database. Its methods are safe for concurrent use.
type DB struct {
	write     *sql.DB // one connection
	read      *sql.DB
	committed func([]Event)
	touched   func([]Touch) // nil = nobody asked
	now       func() time.Time
	keep      int64

	mu sync.Mutex // held by the one writer, and while committed runs
}

// Open opens or creates the database at path and brings its schema up to date.
// committed gets the events of each transaction right after its commit, in the
// order of the commits, and must not call the database.
func Open(path string, committed func([]Event)) (*DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening database %s: %w", path, err)
	}
	// SQLite would create it readable for everyone; its -wal and -shm files take
	// over the mode of this one.
	f, err := os.OpenFile(abs, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening database: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("opening database %s: %w", path, err)
	}
	d := &DB{committed: committed, now: time.Now, keep: keepEvents}
	if d.write, err = sql.Open("sqlite", dsn(abs, false)); err != nil {
		return nil, fmt.Errorf("opening database %s: %w", path, err)
	}
	d.write.SetMaxOpenConns(1)
	if err := migrate(d.write); err != nil {
		return nil, fmt.Errorf("opening database %s: %w", path, joinClose(err, d.write))
	}
	if d.read, err = sql.Open("sqlite", dsn(abs, true)); err != nil {
		return nil, fmt.Errorf("opening database %s: %w", path, joinClose(err, d.write))
	}
	d.read.SetMaxOpenConns(readers)
	d.read.SetMaxIdleConns(readers)
	return d, nil
}

// Close waits for the writer and closes the database.
func (d *DB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return joinClose(d.read.Close(), d.write)
}

// Ping says whether the database can be read at the moment.
func (d *DB) Ping(ctx context.Context) error {
	var one int
	if err := d.read.QueryRowContext(ctx, `SELECT 1 FROM (SELECT count(*) FROM runners)`).Scan(&one); err != nil {
		return unavailable("reading the database", err)
	}
	return nil
}

// dsn names the file and the pragmas of every connection. The path is escaped:
// a '?', '#' or '%' in a folder's name must not end it.
func dsn(abs string, readOnly bool) string {
	path := filepath.ToSlash(abs)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/... on Windows
	}
	q := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}}
	if readOnly {
		q.Add("_pragma", "query_only(1)")
	} else {
		q.Set("_txlock", "immediate")
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}
