package journal

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/outrunner/outrunner/runner/wire"
)

// batch makes n records whose numbers go on from first.
func batch(first, n int) []wire.Record {
	records := make([]wire.Record, n)
	for i := range records {
		records[i] = wire.Record{Kind: wire.RecItem, Session: "s", Item: fmt.Sprint(first + i)}
	}
	return records
}

// items is what batch numbered.
func items(records []wire.Record) []string {
	var out []string
	for _, r := range records {
		out = append(out, r.Item)
	}
	return out
}

func open(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func load(t *testing.T, db *DB) []string {
	t.Helper()
	records, err := db.Load()
	require.NoError(t, err)
	return items(records)
}

func TestRecordsComeBackInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	want := []wire.Record{
		{Kind: wire.RecItem, Session: "a", Item: "i", ItemState: wire.ItemQueued, Content: json.RawMessage(`[{"text":"<b> & é 🙂 \u0000"}]`)},
		{Kind: wire.RecOpened, Session: "b", Turn: "t", Response: "r", Inputs: []string{"i"}},
		{Kind: wire.RecEnded, Session: "b", Turn: "t", End: &wire.TurnEnd{Outcome: wire.Failed, Error: &wire.TurnError{Code: "c", Message: "m"}}},
		{Kind: wire.RecOut, Session: "a", Turn: "t", Out: &wire.Outgoing{ItemData: json.RawMessage(`{"a":1}`)}},
	}
	db, err := Open(path, nil)
	require.NoError(t, err)
	require.NoError(t, db.Commit(want[:1]))
	require.NoError(t, db.Commit(nil))
	require.NoError(t, db.Commit(want[1:]))
	require.NoError(t, db.Close())
	require.NoError(t, db.Close(), "twice is fine")

	got, err := open(t, path).Load()
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestReplaceTakesThePlaceOfAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	db := open(t, path)
	require.NoError(t, db.Commit(batch(1, 5)))
	require.NoError(t, db.Replace(batch(100, 2)))
	require.NoError(t, db.Commit(batch(200, 1)))
	require.Equal(t, []string{"100", "101", "200"}, load(t, db))
	require.NoError(t, db.Replace(nil))
	require.Empty(t, load(t, db))
	require.NoError(t, db.Commit(batch(300, 1)))
	require.NoError(t, db.Close())
	require.Equal(t, []string{"300"}, load(t, open(t, path)))
}

func TestPathsAreTakenLiterally(t *testing.T) {
	for _, name := range []string{"a?b.db", "a#b.db", "100%25.db", "a b+c.db", "é漢🙂.db", "a:b.db", "a&_pragma=x.db"} {
		if runtime.GOOS == "windows" && strings.ContainsAny(name, "?:") {
			continue // such a file cannot exist there
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			db := open(t, path)
			require.NoError(t, db.Commit(batch(1, 1)))
			require.NoError(t, db.Close())
			require.Equal(t, []string{"1"}, load(t, open(t, path)))
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			require.NoError(t, err)
			for _, f := range files {
				require.Contains(t, []string{path, path + "-wal", path + "-shm"}, f, "nothing else was opened")
			}
		})
	}
}

func TestPragmasHoldOnTheConnection(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "journal.db"))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000"} {
		var got string
		require.NoError(t, db.sql.QueryRow("PRAGMA "+pragma).Scan(&got))
		require.Equal(t, want, got, pragma)
	}
	require.Equal(t, 1, db.sql.Stats().MaxOpenConnections)
}

func TestOnlyTheUserCanReadIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // no mode bits; the state directory's access list guards it
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	db := open(t, path)
	require.NoError(t, db.Commit(batch(1, 1)))
	for _, p := range []string{path, path + "-wal"} {
		info, err := os.Stat(p)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), p)
	}
}

func TestFilesThatAreNotOurs(t *testing.T) {
	exec := func(t *testing.T, path string, statements ...string) {
		db, err := sql.Open("sqlite", dsn(path))
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		for _, s := range statements {
			_, err = db.Exec(s)
			require.NoError(t, err)
		}
	}
	tests := map[string]struct {
		make func(t *testing.T, path string)
		says []string
	}{
		"garbage": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000)), 0o600))
		}, []string{"is damaged", "move the file away"}},
		"a damaged page": {func(t *testing.T, path string) {
			db := open(t, path)
			require.NoError(t, db.Commit(batch(1, 1000)))
			require.NoError(t, db.Close())
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			require.NoError(t, err)
			_, err = f.WriteAt([]byte(strings.Repeat("\xff", 4096)), 3*4096)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}, []string{"is damaged", "move the file away"}},
		"a newer schema": {func(t *testing.T, path string) {
			require.NoError(t, open(t, path).Close())
			exec(t, path, "PRAGMA user_version = 7")
		}, []string{"newer version", "schema is 7", "run that version"}},
		"another program's": {func(t *testing.T, path string) {
			exec(t, path, "CREATE TABLE records (x)")
		}, []string{"another program", "another state directory"}},
		"a folder": {func(t *testing.T, path string) {
			require.NoError(t, os.Mkdir(path, 0o700))
		}, []string{"is a directory"}},
	}
	if runtime.GOOS == "windows" {
		delete(tests, "a folder") // its sentence there is the system's
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			tt.make(t, path)
			before, _ := os.ReadFile(path)
			_, err := Open(path, nil)
			require.Error(t, err)
			require.Contains(t, err.Error(), path)
			for _, s := range tt.says {
				require.Contains(t, err.Error(), s)
			}
			after, _ := os.ReadFile(path)
			require.Equal(t, before, after, "nothing was written to it")
		})
	}
}

func TestARecordThatCannotBeReadIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	db := open(t, path)
	require.NoError(t, db.Commit(batch(1, 2)))
	_, err := db.sql.Exec("UPDATE records SET body = x'7b' WHERE seq = 2")
	require.NoError(t, err)
	_, err = db.Load()
	require.ErrorIs(t, err, errDamaged)
	require.Contains(t, err.Error(), path)
	require.Contains(t, err.Error(), "record 2")
}

func TestClosedJournal(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "journal.db"))
	require.NoError(t, db.Close())
	_, err := db.Load()
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, db.Commit(batch(1, 1)), ErrClosed)
	require.ErrorIs(t, db.Replace(nil), ErrClosed)
}

func TestCommitsFromManyGoroutines(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "journal.db"))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 10 {
				require.NoError(t, db.Commit(batch(1000*g+10*i, 2)))
			}
		})
	}
	wg.Wait()
	got := load(t, db)
	require.Len(t, got, 160)
	for i := 0; i < len(got); i += 2 {
		var a, b int
		_, err := fmt.Sscan(got[i]+" "+got[i+1], &a, &b)
		require.NoError(t, err)
		require.Equal(t, a+1, b, "a batch stays together")
	}
}

// TestAnyOrderOfCalls holds the journal against a slice, with restarts.
func TestAnyOrderOfCalls(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(t, err)
		path := filepath.Join(dir, "journal.db")
		db, err := Open(path, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		var want []string
		next := 0
		for range rapid.IntRange(1, 8).Draw(rt, "calls") {
			b := batch(next, rapid.IntRange(0, 5).Draw(rt, "n"))
			next += len(b)
			switch rapid.IntRange(0, 3).Draw(rt, "op") {
			case 0:
				require.NoError(t, db.Replace(b))
				want = items(b)
			case 1:
				require.NoError(t, db.Close())
				db, err = Open(path, nil)
				require.NoError(t, err)
			default:
				require.NoError(t, db.Commit(b))
				want = append(want, items(b)...)
			}
			records, err := db.Load()
			require.NoError(t, err)
			require.Equal(t, want, items(records))
		}
	})
}
