package main

import (
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

// socketPath is the longest path that a socket can have on every system.
const socketPath = 100

// toolsTimeout bounds the time that a program may take to say what it wants.
const toolsTimeout = 10 * time.Second

// toolSocket is the path of the socket of a runner whose room that is, "" where
// it would be too long.
func toolSocket(room string) string {
	path := filepath.Join(room, "tools.sock")
	if len(path) > socketPath {
		return ""
	}
	return path
}

// serveTools offers the runner's tools to programs of this user, until stop is
// called. The room is ours alone, so a socket that is there is a dead one.
func (s runnerSetup) serveTools(r *runner.Runner) (stop func() error, err error) {
	path := toolSocket(s.room.Dir)
	if path == "" {
		s.log.Warn("agents get no tools by MCP: the path of the state directory is too long for a socket; choose a shorter one with --state")
		return func() error { return nil }, nil
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
		return err
	}, nil
}
