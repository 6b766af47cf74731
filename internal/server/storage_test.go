package server

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"
)

// breakTable makes every use of a table fail, as a broken disk would, and gives
// what mends it.
func (s *site) breakTable(table string) (mend func()) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.cfg.Dir, "server.db"))
	require.NoError(s.t, err)
	run := func(stmt string) {
		_, err := db.Exec("PRAGMA busy_timeout = 5000; PRAGMA legacy_alter_table = 1; " + stmt)
		require.NoError(s.t, err)
	}
	run("ALTER TABLE " + table + " RENAME TO hidden")
	return func() {
		run("ALTER TABLE hidden RENAME TO " + table)
		require.NoError(s.t, db.Close())
	}
}

// While the database fails nothing is answered 202, nothing of a change stays,
// and afterwards everything works as before.
func TestADatabaseThatFails(t *testing.T) {
	s := newSite(t)
	session := s.session()
	mend := s.breakTable("pending")
	out := s.ok(503, "POST", "/v1/sessions/"+session+"/events", message("lost?"))
	require.Equal(t, "storage_unavailable", out["error"].(map[string]any)["code"])
	require.Contains(t, out["error"].(map[string]any)["message"], "nothing was stored")
	require.Empty(t, s.items(session))
	mend()
	s.send(session, "kept")
	require.Equal(t, []string{"kept"}, s.texts(session))

	mend = s.breakTable("runners")
	s.ok(503, "GET", "/health", nil)
	mend()
	s.ok(200, "GET", "/health", nil)
}

// What a runner tells while the database fails is told on once it works: the
// runner may never tell it again.
func TestARunnersEventsOutliveAFailure(t *testing.T) {
	s, r, session, input := started(t)
	v := s.watch(session, "")
	mend := s.breakTable("events")
	r.say(session, status(session, "running"), response("in_progress", "resp_1", []string{input}), response("completed", "resp_1", []string{input}), status(session, "idle"))
	s.ok(503, "POST", "/v1/sessions/"+session+"/events", map[string]any{"type": "external_conversation_item",
		"data": map[string]any{"item_type": "message", "source_id": "a:1", "item_data": map[string]any{"role": "assistant", "content": "x"}}})
	mend()
	require.Equal(t, []string{"session.status", "response.in_progress", "response.completed", "session.status"},
		types(append(v.until("response.completed"), v.next())))
	require.Len(t, s.items(session), 1)
}

// A runner that comes while the database fails gets its sessions later.
func TestARunnerThatComesWhileTheDatabaseFails(t *testing.T) {
	s := newSite(t)
	session := s.session()
	s.send(session, "waits")
	mend := s.breakTable("runners")
	r := s.runner("secret")
	require.Empty(t, r.requests(session, ""))
	mend()
	r.await(s, session, "message", 1)
}
