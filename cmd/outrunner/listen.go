package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/outrunner/outrunner/internal/config"
	"github.com/outrunner/outrunner/internal/server"
)

const (
	defaultListen = "127.0.0.1:7171"
	// serverStop bounds how long the server may take to end.
	serverStop = 10 * time.Second
	// headerTimeout bounds the reading of a request's head.
	headerTimeout = 10 * time.Second
	// idleTimeout is how long an unused connection stays open.
	idleTimeout = 2 * time.Minute
)

// serving is a server that listens.
type serving struct {
	// Addr is the address listened on.
	Addr net.Addr

	listener net.Listener
	server   *server.Server
	http     *http.Server
	failed   chan error
}

// serve opens the server's state and begins to listen. The port comes first:
// that it is taken is the mistake that people make.
func serve(room *config.Room, listen, db string, file *config.File, log *slog.Logger) (*serving, error) {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, listenError(listen, err)
	}
	s, err := server.Open(server.Config{
		Dir: room.Dir, DB: db, Listen: listener.Addr().String(), PublicHosts: file.PublicHosts, Version: version(), Log: log,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the server: %w", err), listener.Close())
	}
	out := &serving{
		Addr: listener.Addr(), listener: listener, server: s, failed: make(chan error, 1),
		http: &http.Server{
			Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
	}
	go func() { out.failed <- out.http.Serve(listener) }()
	return out, nil
}

func listenError(listen string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("the address %s is in use: another server runs there, or choose another with --listen", listen)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("not allowed to listen on %s: choose a port above 1023 with --listen", listen)
	}
	return fmt.Errorf("listening on %s: %w", listen, err)
}

// wait returns when ctx ends, or with the error that ended the listening.
func (s *serving) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.failed:
		s.failed <- err // for stop
		return fmt.Errorf("serving: %w", err)
	}
}

// stop ends tunnels and streams, then everything else, and waits for it.
func (s *serving) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), serverStop)
	defer cancel()
	// Requests end by themselves once their streams and tunnels have; no new
	// ones come in meanwhile, because the listener is closed first.
	err := s.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	err = errors.Join(err, s.server.Shutdown(ctx))
	if shut := s.http.Shutdown(ctx); shut != nil {
		err = errors.Join(err, s.http.Close())
	}
	if served := <-s.failed; !errors.Is(served, http.ErrServerClosed) && !errors.Is(served, net.ErrClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// address is how to reach the server from this machine.
func (s *serving) address() string {
	host, port, err := net.SplitHostPort(s.Addr.String())
	if err != nil {
		return s.Addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.To4() == nil {
			host = "::1"
		}
	}
	return "http://" + net.JoinHostPort(host, port)
}

// open reports whether other machines can reach the server.
func (s *serving) open() bool {
	host, _, err := net.SplitHostPort(s.Addr.String())
	return err == nil && !config.Loopback(host)
}
