package store

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A database from before children had tasks: what is known of each session says
// how its newest task stands.
func TestSessionsFromBeforeTasks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	require.NoError(t, step(db, "migrations/0001_start.sql", 1))
	want := map[string]string{"fresh": "", "running": "open", "waiting": "open", "broken": "failed", "answered": "completed", "unsent": "open"}
	status := map[string]string{"running": "running", "waiting": "waiting", "broken": "failed"}
	for id := range want {
		s := status[id]
		if s == "" {
			s = "idle"
		}
		_, err = db.Exec(`INSERT INTO sessions (id, owner, agent_id, agent_name, status, root_id, created_at, updated_at) VALUES (?, 'local', 'a', 'shell', ?, ?, 1, 1)`, id, s, id)
		require.NoError(t, err)
	}
	item := func(id, session, role string) {
		_, err = db.Exec(`INSERT INTO items (id, session, response_id, type, status, data, created_at) VALUES (?, ?, '', 'message', 'completed', json_object('role', ?), 1)`, id, session, role)
		require.NoError(t, err)
	}
	for _, id := range []string{"running", "broken", "answered", "unsent"} {
		item(id+"1", id, "assistant")
	}
	item("u", "unsent", "user")
	_, err = db.Exec(`INSERT INTO pending (n, item, session, extra) SELECT n, id, session, '{}' FROM items WHERE id = 'u'`)
	require.NoError(t, err)
	_, err = db.Exec(`INSERT INTO agents (id, owner, name, source, digest, content, version, created_at, updated_at) VALUES ('a', 'local', 'shell', 'upload', 'd', x'00', 3, 1, 1)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())

	d, err := Open(path, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	for id, outcome := range want {
		s, err := d.Read().Session(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, outcome, s.Outcome, id)
	}
	a, err := d.Read().Agent(t.Context(), "a")
	require.NoError(t, err)
	require.Nil(t, a.Spec)
	require.EqualValues(t, 3, a.Version)
}
