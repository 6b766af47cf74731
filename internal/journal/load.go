package journal

import (
	"encoding/json"
	"fmt"

	"github.com/outrunner/outrunner/runner/wire"
)

// Load returns all records in order. It reads the whole journal in one go: the
// runner calls it once, at its start.
func (db *DB) Load() ([]wire.Record, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := db.ready(); err != nil {
		return nil, err
	}
	rows, err := db.sql.Query("SELECT seq, body FROM records ORDER BY seq")
	if err != nil {
		return nil, explain(db.path, err)
	}
	defer rows.Close() // rows.Err below tells what went wrong
	var records []wire.Record
	for rows.Next() {
		var seq int64
		var body []byte
		if err := rows.Scan(&seq, &body); err != nil {
			return nil, explain(db.path, err)
		}
		var r wire.Record
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, explain(db.path, fmt.Errorf("%w: record %d: %w", errDamaged, seq, err))
		}
		records = append(records, r)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(db.path, err)
	}
	return records, nil
}
