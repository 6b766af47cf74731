package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/outrunner/outrunner/runner"
)

// envTools tells a program of the runner where its tools are: the socket's path.
const envTools = "OUTRUNNER_TOOLS"

// socketPath is the longest path that a socket can have on every system, in
// bytes.
const socketPath = 100

// toolsTimeout bounds the time that a program may take to say what it wants.
const toolsTimeout = 10 * time.Second

// toolSocket is the path of the socket of a runner whose room that is. It is in
// the room, or where that would be too long in a folder of its own among the
// temporary files, which the room's path names.
func toolSocket(room string) string {
	const name = "tools.sock"
	if path := filepath.Join(room, name); len(path) <= socketPath {
		return path
	}
	sum := sha256.Sum256([]byte(room))
	return filepath.Join(os.TempDir(), "outrunner-"+hex.EncodeToString(sum[:8]), name)
}

// closedFolder makes the folder of a socket, or sees to it that nobody else has
// made it.
func closedFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir() || !ours(info):
		return fmt.Errorf("%s is not a folder of this user", path)
	}
	return os.Chmod(path, 0o700)
}

// serveTools offers the runner's tools to programs of this user, until stop is
// called. The room is ours alone, so a socket that is there is a dead one.
func (s runnerSetup) serveTools(r *runner.Runner) (stop func() error, err error) {
	path := toolSocket(s.room.Dir)
	if err := closedFolder(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("offering the tools: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing the tools' old socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("offering the tools: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("offering the tools: %w", err), listener.Close())
	}
	srv := &http.Server{Handler: r.ToolsHandler(), ReadHeaderTimeout: toolsTimeout}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(listener) }()
	return func() error {
		err := srv.Close()
		if serving := <-ended; !errors.Is(serving, http.ErrServerClosed) {
			err = errors.Join(err, fmt.Errorf("offering the tools: %w", serving))
		}
		if dir := filepath.Dir(path); dir != s.room.Dir {
			err = errors.Join(err, os.Remove(dir))
		}
		return err
	}, nil
}
