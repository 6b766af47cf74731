package journal

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/outrunner/outrunner/runner/wire"
)

// full makes the next growth of the file fail like a full disk, and returns
// what gives it room again.
func full(t *testing.T, db *DB) (room func()) {
	t.Helper()
	var pages int
	require.NoError(t, db.sql.QueryRow("PRAGMA page_count").Scan(&pages))
	_, err := db.sql.Exec("PRAGMA max_page_count = 1") // it means: as large as now
	require.NoError(t, err)
	return func() {
		_, err := db.sql.Exec("PRAGMA max_page_count = 1073741823")
		require.NoError(t, err)
	}
}

func TestFullDiskReleasesNothingAndTheRepeatLandsOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	db := open(t, path)
	require.NoError(t, db.Commit(batch(1, 3)))
	big := batch(4, 500)
	for i := range big {
		big[i].Cursor = strings.Repeat("x", 200)
	}
	room := full(t, db)
	for range 3 {
		err := db.Commit(big)
		require.Error(t, err)
		require.Equal(t, sqlite3.SQLITE_FULL, code(err))
		require.Contains(t, err.Error(), "the disk is full")
		require.Equal(t, []string{"1", "2", "3"}, load(t, db), "all or none")
	}
	room()
	require.NoError(t, db.Commit(big))
	require.NoError(t, db.Commit(batch(504, 1)))
	require.Equal(t, items(batch(1, 504)), load(t, db))
	require.NoError(t, db.Close())
	require.Equal(t, items(batch(1, 504)), load(t, open(t, path)))
}

func TestFullDiskInACheckpointKeepsTheOldState(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "journal.db"))
	require.NoError(t, db.Commit(batch(1, 3)))
	big := batch(100, 500)
	for i := range big {
		big[i].Cursor = strings.Repeat("x", 200)
	}
	room := full(t, db)
	require.Error(t, db.Replace(big))
	require.Equal(t, []string{"1", "2", "3"}, load(t, db))
	require.NoError(t, db.Commit(batch(4, 1)), "small ones still fit and go behind the old state")
	require.Equal(t, []string{"1", "2", "3", "4"}, load(t, db))
	room()
	require.NoError(t, db.Replace(big))
	require.Equal(t, items(big), load(t, db))
}

// landed makes db believe that a call which did land has failed: what an error
// from COMMIT after the disk had it looks like.
func landed(db *DB, call func([]wire.Record) error, records []wire.Record, kind doubt) error {
	if err := call(records); err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.next, db.doubt = db.next-int64(len(records)), kind
	return db.failed(errors.New("disk I/O error"))
}

func TestACommitThatLandedUnheardIsRepeatedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	db := open(t, path)
	require.NoError(t, db.Commit(batch(1, 2)))
	for range 2 {
		require.Error(t, landed(db, db.Commit, batch(3, 2), appended))
		require.Nil(t, db.sql, "it is opened again before the next call")
	}
	require.NoError(t, db.Commit(batch(3, 2)))
	require.NoError(t, db.Commit(batch(5, 1)))
	require.Equal(t, items(batch(1, 5)), load(t, db))
}

func TestADifferentCommitTakesThePlaceOfTheUnheardOne(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "journal.db"))
	require.NoError(t, db.Commit(batch(1, 2)))
	require.Error(t, landed(db, db.Commit, batch(3, 5), appended))
	require.NoError(t, db.Commit(batch(90, 1)))
	require.Equal(t, []string{"1", "2", "90"}, load(t, db))
}

func TestACheckpointThatLandedUnheardIsKept(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "journal.db"))
	require.NoError(t, db.Commit(batch(1, 2)))
	require.Error(t, landed(db, db.Replace, batch(50, 3), checkpoint))
	require.Error(t, landed(db, db.Commit, batch(60, 1), appended))
	require.NoError(t, db.Commit(batch(60, 1)))
	require.Equal(t, []string{"50", "51", "52", "60"}, load(t, db))
	require.Error(t, landed(db, db.Replace, batch(70, 1), checkpoint))
	require.NoError(t, db.Replace(batch(70, 1)))
	require.Equal(t, []string{"70"}, load(t, db))
}

func TestALockOfAnotherProgramIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	db := open(t, path)
	other, err := sql.Open("sqlite", dsn(path))
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	tx, err := other.Begin()
	require.NoError(t, err)

	done := make(chan error, 1)
	go func() { done <- db.Commit(batch(1, 1)) }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, tx.Rollback())
	require.NoError(t, <-done)
}
