package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// File is a file that belongs to a session. Its bytes are not in the database.
type File struct {
	N           int64
	ID          string
	Session     string
	Name        string
	ContentType string
	Bytes       int64
	CreatedAt   int64
}

const fileColumns = `n, id, session, name, content_type, bytes, created_at`

func scanFile(row scanner) (*File, error) {
	var f File
	err := row.Scan(&f.N, &f.ID, &f.Session, &f.Name, &f.ContentType, &f.Bytes, &f.CreatedAt)
	return &f, err
}

func scanFiles(rows *sql.Rows) (*File, error) { return scanFile(rows) }

// File reads one file of a session, or ErrNotFound.
func (r reader) File(ctx context.Context, session, id string) (*File, error) {
	f, err := scanFile(r.q.QueryRowContext(ctx, `SELECT `+fileColumns+` FROM files WHERE session = ? AND id = ?`, session, id))
	if err != nil {
		return nil, notFound("reading file "+id, err)
	}
	return f, nil
}

// FileQuery selects a page of a session's files.
type FileQuery struct {
	Session       string
	Ascending     bool
	After, Before string // cursors: file ids
	Limit         int    // 0 = all
}

// Files reads one page and whether more follows it. Beyond a file that is gone
// there is nothing: unlike in other lists, that is no error upstream.
func (r reader) Files(ctx context.Context, q FileQuery) ([]*File, bool, error) {
	query, args := `SELECT `+fileColumns+` FROM files WHERE session = ?`, []any{q.Session}
	order, beyond, back := "DESC", " AND n < ?", " AND n > ?"
	if q.Ascending {
		order, beyond, back = "ASC", back, beyond
	}
	for _, c := range []struct{ id, cond string }{{q.After, beyond}, {q.Before, back}} {
		if c.id == "" {
			continue
		}
		at, err := r.File(ctx, q.Session, c.id)
		if errors.Is(err, ErrNotFound) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		query += c.cond
		args = append(args, at.N)
	}
	limit := -1 // SQLite: none
	if q.Limit > 0 {
		limit = q.Limit + 1
	}
	rows, err := collect(ctx, r.q, "listing files", scanFiles, query+` ORDER BY n `+order+` LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, false, err
	}
	if q.Limit > 0 && len(rows) > q.Limit {
		return rows[:q.Limit], true, nil
	}
	return rows, false, nil
}

// AddFile stores a file's row; its time is set here, its id is the caller's.
func (t *Tx) AddFile(f *File) error {
	f.CreatedAt = t.now
	_, err := t.exec("storing file "+f.Name, `INSERT INTO files (id, session, name, content_type, bytes, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		f.ID, f.Session, f.Name, f.ContentType, f.Bytes, f.CreatedAt)
	return err
}

// DeleteFile removes a file's row, or says ErrNotFound.
func (t *Tx) DeleteFile(session, id string) error {
	n, err := t.exec("deleting file "+id, `DELETE FROM files WHERE session = ? AND id = ?`, session, id)
	if err == nil && n == 0 {
		err = fmt.Errorf("deleting file %s: %w", id, ErrNotFound)
	}
	return err
}
