package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// opened is a database in a folder whose name has everything that could end a
// DSN, and what it handed over.
func opened(t *testing.T) (*DB, *[]Event, string) {
	t.Helper()
	name := "a ?b#c%20&_pragma=synchronous(OFF)"
	if runtime.GOOS == "windows" {
		name = "a b#c%20&_pragma=synchronous(OFF)"
	}
	dir := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "server.db")
	var mu sync.Mutex
	var got []Event
	d, err := Open(path, func(e []Event) { mu.Lock(); defer mu.Unlock(); got = append(got, e...) })
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d, &got, path
}

func (d *DB) must(t *testing.T, fn func(*Tx) error) {
	t.Helper()
	require.NoError(t, d.Write(t.Context(), fn))
}

func session(t *testing.T, d *DB) string {
	t.Helper()
	s := &Session{ID: NewID(), Owner: "local", AgentID: NewID(), AgentName: "shell", Status: "idle"}
	s.RootID = s.ID
	d.must(t, func(tx *Tx) error { return tx.CreateSession(s) })
	return s.ID
}

func TestPragmas(t *testing.T) {
	d, _, path := opened(t)
	for name, db := range map[string]*sql.DB{"write": d.write, "read": d.read} {
		for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
			var got string
			require.NoError(t, db.QueryRow("PRAGMA "+pragma).Scan(&got))
			require.Equal(t, want, got, "%s %s", name, pragma)
		}
	}
	_, err := d.read.Exec("DELETE FROM sessions")
	require.ErrorContains(t, err, "readonly", "readers can not write")
	if runtime.GOOS != "windows" {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(path + suffix)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
		}
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.db")
	d, err := Open(path, nil)
	require.NoError(t, err)
	_, err = d.write.Exec("PRAGMA user_version = 99")
	require.NoError(t, err)
	require.NoError(t, d.Close())
	_, err = Open(path, nil)
	require.ErrorContains(t, err, "schema 99")
	require.ErrorContains(t, err, "newer program")
	require.ErrorContains(t, err, path)
}

func TestWhatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "missing", "server.db"), nil)
	require.Error(t, err)
	_, err = Open(dir, nil)
	require.Error(t, err)
	garbage := filepath.Join(dir, "garbage.db")
	require.NoError(t, os.WriteFile(garbage, []byte(strings.Repeat("this is no database. ", 1000)), 0o600))
	_, err = Open(garbage, nil)
	require.ErrorContains(t, err, "not a database")
}

// A change is all or nothing, its events included.
func TestAChangeIsAllOrNothing(t *testing.T) {
	d, got, _ := opened(t)
	id := session(t, d)
	boom := errors.New("boom")
	err := d.Write(t.Context(), func(tx *Tx) error {
		if _, err := tx.AddItem(t.Context(), &Item{Session: id, Type: "message", Status: "completed", Data: json.RawMessage("{}")}); err != nil {
			return err
		}
		if err := tx.Emit(id, "x", map[string]any{}); err != nil {
			return err
		}
		return boom
	})
	require.ErrorIs(t, err, boom)
	require.Panics(t, func() {
		_ = d.Write(t.Context(), func(tx *Tx) error {
			require.NoError(t, tx.Emit(id, "x", map[string]any{}))
			panic("boom")
		})
	})
	items, _, err := d.Read().Items(t.Context(), ItemQuery{Session: id, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, items)
	require.Empty(t, *got)
	d.must(t, func(tx *Tx) error { return tx.Emit(id, "y", map[string]any{"a": "<&>"}) })
	require.Equal(t, []Event{{Session: id, Seq: 1, Type: "y", Data: []byte(`{"a":"<&>"}`)}}, *got)
}

func TestItemsHaveOneNamePerSession(t *testing.T) {
	d, _, _ := opened(t)
	a, b := session(t, d), session(t, d)
	add := func(i Item) (string, bool) {
		var added bool
		i.Type, i.Status, i.Data = "message", "completed", json.RawMessage(`{"n":1}`)
		d.must(t, func(tx *Tx) (err error) { added, err = tx.AddItem(t.Context(), &i); return err })
		return i.ID, added
	}
	first, added := add(Item{Session: a, SourceID: "s"})
	require.True(t, added)
	again, added := add(Item{Session: a, SourceID: "s"})
	require.False(t, added)
	require.Equal(t, first, again)
	other, added := add(Item{Session: b, SourceID: "s"})
	require.True(t, added)
	require.NotEqual(t, first, other)
	stable, added := add(Item{Session: a, StableID: "s"})
	require.True(t, added, "the two kinds of names are apart")
	repeat, added := add(Item{Session: a, StableID: "s"})
	require.False(t, added)
	require.Equal(t, stable, repeat)
	for range 2 {
		_, added = add(Item{Session: a})
		require.True(t, added)
	}
}

func TestEventsAreNumberedAndPruned(t *testing.T) {
	d, got, path := opened(t)
	d.keep = 100
	id, other := session(t, d), session(t, d)
	const n = 3 * pruneEvery
	for range n {
		d.must(t, func(tx *Tx) error { return tx.Emit(id, "x", map[string]any{}) })
	}
	d.must(t, func(tx *Tx) error { return tx.Emit(other, "x", map[string]any{}) })
	require.Len(t, *got, n+1)
	for i, e := range (*got)[:n] {
		require.EqualValues(t, i+1, e.Seq)
	}
	require.EqualValues(t, 1, (*got)[n].Seq, "each session counts for itself")
	rows, err := d.Read().Events(t.Context(), id, 0, n, 1000)
	require.NoError(t, err)
	require.Len(t, rows, 100)
	require.EqualValues(t, n-99, rows[0].Seq)
	for seq, want := range map[int64]bool{n: true, n - 1: true, n - 100: true, n - 101: false, 0: false, n + 1: false, -1: false} {
		has, err := d.Read().HasEventsAfter(t.Context(), id, seq)
		require.NoError(t, err)
		require.Equal(t, want, has, "after %d", seq)
	}
	fresh := session(t, d)
	has, err := d.Read().HasEventsAfter(t.Context(), fresh, 0)
	require.NoError(t, err)
	require.True(t, has)

	again, err := Open(path, func(e []Event) { *got = append(*got, e...) })
	require.NoError(t, err)
	again.must(t, func(tx *Tx) error { return tx.Emit(id, "x", map[string]any{}) })
	require.NoError(t, again.Close())
	require.EqualValues(t, n+1, (*got)[n+1].Seq, "numbers go on after a restart")
}

// A full disk refuses the change, keeps the database whole, and is over once
// there is room.
func TestAFullDisk(t *testing.T) {
	d, got, _ := opened(t)
	id := session(t, d)
	var pages int
	require.NoError(t, d.write.QueryRow("PRAGMA page_count").Scan(&pages))
	var limit int
	require.NoError(t, d.write.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", pages+2)).Scan(&limit))
	big, err := Encode(map[string]string{"text": strings.Repeat("x", 100_000)})
	require.NoError(t, err)
	add := func() error {
		return d.Write(t.Context(), func(tx *Tx) error {
			i := &Item{Session: id, Type: "message", Status: "completed", Data: big}
			if err := tx.Emit(id, "x", map[string]any{}); err != nil {
				return err
			}
			if _, err := tx.AddItem(t.Context(), i); err != nil {
				return err
			}
			return tx.Pend(i, nil)
		})
	}
	for range 3 {
		require.ErrorIs(t, add(), ErrUnavailable)
	}
	seq, err := d.Read().LastSeq(t.Context(), id)
	require.NoError(t, err)
	require.Zero(t, seq, "nothing of the refused change is there")
	require.Empty(t, *got)
	require.NoError(t, d.write.QueryRow("PRAGMA max_page_count = 1000000").Scan(&limit))
	require.NoError(t, add())
	require.Len(t, *got, 1)
	require.NoError(t, d.Ping(t.Context()))
}

func TestPendingMarks(t *testing.T) {
	d, _, _ := opened(t)
	id := session(t, d)
	var ids []string
	for n := range 3 {
		i := &Item{Session: id, Type: "message", Status: "completed", Data: json.RawMessage(`{"role":"user"}`), StableID: fmt.Sprint(n)}
		d.must(t, func(tx *Tx) error {
			if _, err := tx.AddItem(t.Context(), i); err != nil {
				return err
			}
			return tx.Pend(i, map[string]json.RawMessage{"n": json.RawMessage(fmt.Sprint(n))})
		})
		ids = append(ids, i.ID)
	}
	waiting, err := d.Read().Pending(t.Context(), id)
	require.NoError(t, err)
	for n, p := range waiting {
		require.Equal(t, ids[n], p.Item.ID)
		require.Equal(t, fmt.Sprint(n), string(p.Extra["n"]))
		require.Equal(t, fmt.Sprint(n), p.Item.StableID)
	}
	unbound, err := d.Read().UnboundPending(t.Context())
	require.NoError(t, err)
	require.Len(t, unbound, 1)
	for _, item := range ids {
		for _, want := range []bool{true, false} {
			d.must(t, func(tx *Tx) error {
				had, err := tx.Settle(id, item)
				require.Equal(t, want, had)
				return err
			})
		}
	}
	_, err = d.Read().NextPending(t.Context(), id)
	require.ErrorIs(t, err, ErrNotFound)
}

// Deleting a session leaves no row of it or of what is below it.
func TestDeleteLeavesNothing(t *testing.T) {
	d, _, _ := opened(t)
	keep := session(t, d)
	root := session(t, d)
	parent := root
	for range 3 {
		s := &Session{ID: NewID(), Owner: "local", Status: "idle", ParentID: parent, RootID: root, Labels: map[string]string{"a": "b"}}
		d.must(t, func(tx *Tx) error {
			if err := tx.CreateSession(s); err != nil {
				return err
			}
			i := &Item{Session: s.ID, Type: "message", Status: "completed", Data: json.RawMessage("{}")}
			if _, err := tx.AddItem(t.Context(), i); err != nil {
				return err
			}
			if err := tx.Pend(i, nil); err != nil {
				return err
			}
			if err := tx.SaveResponse(Response{Session: s.ID, ID: "r", Status: InProgress}); err != nil {
				return err
			}
			return tx.Emit(s.ID, "x", map[string]any{})
		})
		parent = s.ID
	}
	d.must(t, func(tx *Tx) error { return tx.DeleteSession(t.Context(), root) })
	for _, table := range []string{"labels", "items", "pending", "responses", "events"} {
		var n int
		require.NoError(t, d.read.QueryRow("SELECT count(*) FROM "+table).Scan(&n))
		require.Zero(t, n, table)
	}
	_, err := d.Read().Session(t.Context(), keep)
	require.NoError(t, err)
	err = d.Write(t.Context(), func(tx *Tx) error { return tx.DeleteSession(t.Context(), root) })
	require.ErrorIs(t, err, ErrNotFound)
}

func TestAgentsAreCountedByContent(t *testing.T) {
	d, _, _ := opened(t)
	see := func(digest string) int64 {
		a := Agent{ID: "a", Name: "n", Source: "file", Digest: digest, Spec: &wire.Spec{Name: "n", Agents: []*wire.Spec{{Name: digest}}}}
		d.must(t, func(tx *Tx) error { return tx.SawAgent(t.Context(), &a, []byte(digest)) })
		content, err := d.Read().AgentContent(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, digest, string(content))
		row, err := d.Read().Agent(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, a, row)
		return a.Version
	}
	require.Equal(t, []int64{1, 1, 2, 3}, []int64{see("x"), see("x"), see("y"), see("x")})
}

// Many writers at once: each change is whole, in one order, and no reader ever
// waits for them.
func TestWritersTakeTurns(t *testing.T) {
	d, got, _ := opened(t)
	id := session(t, d)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if err := d.Write(context.Background(), func(tx *Tx) error {
					if err := tx.Emit(id, "a", map[string]any{}); err != nil {
						return err
					}
					return tx.Emit(id, "b", map[string]any{})
				}); err != nil {
					t.Error(err)
				}
				if _, err := d.Read().Session(context.Background(), id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, *got, 160)
	for n, e := range *got {
		require.EqualValues(t, n+1, e.Seq)
		require.Equal(t, []string{"a", "b"}[n%2], e.Type)
	}
}

func TestAChangeThatBeganIsNotTorn(t *testing.T) {
	d, _, _ := opened(t)
	id := session(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, d.Write(ctx, func(tx *Tx) error {
		cancel()
		return tx.Emit(id, "x", map[string]any{})
	}))
	require.ErrorIs(t, d.Write(ctx, func(*Tx) error { t.Error("ran"); return nil }), context.Canceled)
}
