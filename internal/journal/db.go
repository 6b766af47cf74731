package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the database driver "sqlite"
)

// ErrClosed is returned by every method after Close.
var ErrClosed = errors.New("journal is closed")

// DB is an open journal. Its methods may be called from any goroutine; they
// run one at a time.
type DB struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	sql    *sql.DB // nil while the file has to be opened again
	next   int64   // the sequence number of the next record; 1 in an empty journal
	doubt  doubt   // what the last failed call may have left behind
	closed bool
}

// Open opens the journal at path, or makes an empty one that only this user
// can read. It fails with a sentence that names the file and the next step
// when the file is damaged, is something else, or was written by a newer
// version. log may be nil.
func Open(path string, log *slog.Logger) (*DB, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening journal %s: %w", path, err)
	}
	// SQLite gives the files that it puts beside this one the same mode.
	f, err := os.OpenFile(abs, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening journal: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("opening journal: %w", err)
	}
	db := &DB{path: abs, log: log, next: 1}
	if err := db.open(); err != nil {
		return nil, err
	}
	if db.next, err = nextSeq(db.sql, db.next); err != nil {
		return nil, errors.Join(explain(abs, err), db.sql.Close())
	}
	return db, nil
}

// Close ends the journal. It is safe to call it twice.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil
	}
	db.closed = true
	return db.drop()
}

// open connects, and checks what it finds. The caller holds mu, or the only
// reference.
func (db *DB) open() error {
	conn, err := sql.Open("sqlite", dsn(db.path))
	if err != nil {
		return fmt.Errorf("opening journal %s: %w", db.path, err)
	}
	// One connection: its pragmas are those of the DSN for ever, and a
	// statement can never meet a transaction of our own on another one.
	conn.SetMaxOpenConns(1)
	if err := prepare(conn); err != nil {
		return errors.Join(explain(db.path, err), conn.Close())
	}
	db.sql = conn
	return nil
}

// drop closes the connection; the next call opens another.
func (db *DB) drop() error {
	if db.sql == nil {
		return nil
	}
	conn := db.sql
	db.sql = nil
	if err := conn.Close(); err != nil {
		return fmt.Errorf("closing journal %s: %w", db.path, err)
	}
	return nil
}

// dsn names the file as a URI, escaped: in a bare path a "?" or "%" would open
// another file without a word. The pragmas stand in it because database/sql
// may connect again at any time, and an unset busy_timeout means an error at
// the first contact with somebody's backup tool.
func dsn(abs string) string {
	p := filepath.ToSlash(abs)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/dir/file
	}
	q := url.Values{}
	for _, pragma := range []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"} {
		q.Add("_pragma", pragma)
	}
	q.Set("_txlock", "immediate")
	return "file://" + (&url.URL{Path: p}).EscapedPath() + "?" + q.Encode()
}
