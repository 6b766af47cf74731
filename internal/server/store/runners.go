package store

import (
	"context"
	"database/sql"
	"encoding/json"
)

// Runner is a runner that has been connected at least once.
type Runner struct {
	ID        string
	Owner     string
	Harnesses []string
	FirstSeen int64
	LastSeen  int64
}

// Runners lists the known runners of an owner, the oldest first.
func (r reader) Runners(ctx context.Context, owner string) ([]Runner, error) {
	return collect(ctx, r.q, "listing runners", scanRunner,
		`SELECT id, owner, harnesses, first_seen, last_seen FROM runners WHERE owner = ? ORDER BY first_seen, id`, owner)
}

// SawRunner notes that a runner is connected.
func (t *Tx) SawRunner(id, owner string, harnesses []string) error {
	if harnesses == nil {
		harnesses = []string{}
	}
	b, err := Encode(harnesses)
	if err != nil {
		return err
	}
	_, err = t.exec("storing a runner", `INSERT INTO runners (id, owner, harnesses, first_seen, last_seen) VALUES (?1, ?2, ?3, ?4, ?4)
		ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, harnesses = excluded.harnesses, last_seen = excluded.last_seen`, id, owner, string(b), t.now)
	return err
}

func scanRunner(rows *sql.Rows) (Runner, error) {
	var r Runner
	var harnesses string
	if err := rows.Scan(&r.ID, &r.Owner, &harnesses, &r.FirstSeen, &r.LastSeen); err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(harnesses), &r.Harnesses)
}
