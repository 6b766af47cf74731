package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Room is one part of the state directory, held by this process alone.
type Room struct {
	// Dir is the room's folder, mode 0700.
	Dir  string
	lock *os.File
}

// The rooms of the state directory. They are apart so that a server and a
// runner may share one directory and be different processes.
const (
	ServerRoom = "server"
	RunnerRoom = "runner"
)

const lockName = "lock"

// ErrInUse says that another process holds the room.
var ErrInUse = errors.New("in use by another process")

// Claim makes the room in the state directory if it is missing, and takes its
// lock. The operating system gives the lock back when the process ends, however
// it ends. A second claimant gets ErrInUse with the folder and the holder's
// process id.
func Claim(state, room string) (*Room, error) {
	if err := makeDir(state); err != nil {
		return nil, err
	}
	dir := filepath.Join(state, room)
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("closing %s to other users: %w", dir, err)
	}
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the state directory %s: %w%s", dir, err, advice(err))
	}
	if err := lock(f); err != nil {
		defer func() { _ = f.Close() }() // nothing was written
		if errors.Is(err, ErrInUse) {
			return nil, fmt.Errorf("%s is %w%s: stop it, or choose another folder with --state", dir, err, holder(f))
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	if err := sign(f); err != nil {
		return nil, errors.Join(fmt.Errorf("writing to the state directory %s: %w%s", dir, err, advice(err)), f.Close())
	}
	return &Room{Dir: dir, lock: f}, nil
}

// Close gives the room back.
func (r *Room) Close() error {
	if err := r.lock.Close(); err != nil {
		return fmt.Errorf("closing the lock of %s: %w", r.Dir, err)
	}
	return nil
}

// Path is a file in the room.
func (r *Room) Path(name string) string { return filepath.Join(r.Dir, name) }

func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		if info, statErr := os.Stat(dir); statErr == nil && !info.IsDir() {
			return fmt.Errorf("the state directory %s is a file: choose another with --state", dir)
		}
		return fmt.Errorf("making the state directory: %w%s", err, advice(err))
	}
	return nil
}

// advice is the next step for an error of the state directory.
func advice(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "; make it writable for you, or choose another with --state"
	case isFull(err):
		return "; free some space, or choose another folder with --state"
	}
	return "; choose another folder with --state"
}

// sign writes the holder's process id into the lock, for the one who comes
// second.
func sign(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return err
	}
	return f.Sync()
}

func holder(f *os.File) string {
	text := make([]byte, 32)
	n, _ := f.ReadAt(text, 0) // short files end with io.EOF; no id is no harm
	pid := strings.TrimSpace(string(text[:n]))
	if _, err := strconv.Atoi(pid); err != nil {
		return ""
	}
	return ", process " + pid
}
