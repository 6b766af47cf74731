package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/outrunner/outrunner/internal/server/store"
)

// blobs keeps the bytes of the sessions' files: one folder per session, one
// file per id, both made of 32 hex digits. A blob is whole before its row is
// there, and its row is gone before it is: what a crash leaves is swept at the
// next start.
type blobs struct{ dir string }

func (b blobs) path(session, id string) string { return filepath.Join(b.dir, session, id) }

// put stores what it reads, at most limit bytes; more is errTooLarge.
func (b blobs) put(session, id string, from io.Reader, limit int64) (size int64, err error) {
	if err := os.MkdirAll(filepath.Join(b.dir, session), 0o700); err != nil {
		return 0, fmt.Errorf("storing a file: %w", err)
	}
	f, err := os.OpenFile(b.path(session, id), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("storing a file: %w", err)
	}
	size, err = io.Copy(f, io.LimitReader(from, limit+1))
	if err == nil && size > limit {
		err = errTooLarge
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, errors.Join(err, b.remove(session, id))
	}
	return size, nil
}

var errTooLarge = errors.New("the file is too large")

func (b blobs) open(session, id string) (*os.File, error) { return os.Open(b.path(session, id)) }

func (b blobs) remove(session, id string) error { return gone(os.Remove(b.path(session, id))) }

// forget removes all blobs of a session.
func (b blobs) forget(session string) error { return os.RemoveAll(filepath.Join(b.dir, session)) }

// copy gives another session a file.
func (b blobs) copy(from, id, to, as string, size int64) (err error) {
	src, err := b.open(from, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	_, err = b.put(to, as, src, size)
	return err
}

// sweep removes what no row names.
func (b blobs) sweep(ctx context.Context, db store.Reader) error {
	sessions, err := os.ReadDir(b.dir)
	if err != nil {
		return gone(err)
	}
	for _, e := range sessions {
		rows, _, err := db.Files(ctx, store.FileQuery{Session: e.Name()})
		if err != nil {
			return err
		}
		known := make(map[string]bool, len(rows))
		for _, f := range rows {
			known[f.ID] = true
		}
		if len(known) == 0 {
			if err := b.forget(e.Name()); err != nil {
				return err
			}
			continue
		}
		files, err := os.ReadDir(filepath.Join(b.dir, e.Name()))
		if err != nil {
			return gone(err)
		}
		for _, f := range files {
			if !known[f.Name()] {
				if err := b.remove(e.Name(), f.Name()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// gone drops the error of what is not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
