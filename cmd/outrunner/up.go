package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outrunner/outrunner/internal/config"
)

func (a *app) upCommand() *cobra.Command {
	var listen, workspace string
	cmd := &cobra.Command{
		Use: "up", Short: "run a server and a runner in one process", Args: cobra.NoArgs,
		Long: `Starts a server on this machine and a runner that is connected to it. Agents work
in the workspace, which is the current folder unless --workspace says otherwise.
They can do whatever you can: everybody who can reach the server's address can
run commands as you. On a machine with other users, loopback is theirs too.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.up(cmd.Context(), listen, workspace) },
	}
	cmd.Flags().StringVar(&listen, "listen", defaultListen, "`address` to listen on")
	cmd.Flags().StringVar(&workspace, "workspace", "", "`folder` that agents work in (default: the current one)")
	return cmd
}

func (a *app) up(ctx context.Context, listen, workspace string) (err error) {
	if err := config.ListenAddress(listen); err != nil {
		return usage(err)
	}
	if workspace, err = folder(workspace); err != nil {
		return usage(err)
	}
	ctx, stop := untilAsked(ctx)
	defer stop()
	server, err := config.Claim(a.state, config.ServerRoom)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	room, err := config.Claim(a.state, config.RunnerRoom)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	secret, err := room.Secret()
	if err != nil {
		return err
	}
	a.secrets.Add(secret)
	id, err := config.RunnerID(secret)
	if err != nil {
		return err
	}
	s, err := serve(server, listen, "", a.file, a.log)
	if err != nil {
		return err
	}
	// The runner ends first: its last words still reach the server.
	defer func() { err = errors.Join(err, s.stop()) }()
	address, err := url.Parse(s.address())
	if err != nil {
		return fmt.Errorf("finding the server's own address: %w", err)
	}
	if err := a.greet(s, server, workspace); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan error, 1)
	go func() {
		err := s.wait(ctx)
		if err != nil {
			cancel(err)
		}
		watched <- err
	}()
	err = runRunner(ctx, runnerSetup{
		room: room, server: address, id: id, secret: secret, workspace: workspace, file: a.file, omnigent: config.OmnigentFile(a.lookup), log: a.log,
	})
	cancel(nil)
	return errors.Join(err, <-watched)
}

// greet says what to do next.
func (a *app) greet(s *serving, room *config.Room, workspace string) error {
	at := ""
	if s.address() != defaultServer {
		at = " --server " + s.address()
	}
	_, err := fmt.Fprintf(a.out, `outrunner is up at %s, working in %s

  look at it:  open %s/ in a browser
  try it:      %s send%s --agent shell 'uname -a'
  stop it:     ctrl-c

%s`, s.address(), workspace, s.address(), program(), at, tokenNote(s, room))
	return err
}

// folder is an existing folder's absolute path; "" is the current one.
func folder(path string) (string, error) {
	path, err := config.Expand(path)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", fmt.Errorf("finding the workspace: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("the workspace cannot be used: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("the workspace %s is not a folder", path)
	}
	return path, nil
}

// program is how this program is called, for lines to copy.
func program() string {
	if len(os.Args) > 0 && strings.Contains(filepath.ToSlash(os.Args[0]), "/go-build") {
		return "go run ./cmd/outrunner"
	}
	return "outrunner"
}
