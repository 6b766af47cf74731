package store

import (
	"context"
	"database/sql"
)

// querier is what a read needs: the pool of readers, or a change in the making,
// which sees its own writes.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// reader has every read. DB and Tx both offer it, so a read is written once.
type reader struct{ q querier }

// Read gives the reads outside of a change.
func (d *DB) Read() Reader { return Reader{reader{q: d.read}} }

// Reader reads what is committed.
type Reader struct{ reader }

// collect runs a query and scans each row.
func collect[T any](ctx context.Context, q querier, doing string, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, unavailable(doing, err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, unavailable(doing, err)
		}
		out = append(out, v)
	}
	if err := rows.Err(); err != nil {
		return nil, unavailable(doing, err)
	}
	return out, nil
}
