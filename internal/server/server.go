package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/outrunner/outrunner/internal/server/store"
	"github.com/outrunner/outrunner/internal/web"
	"github.com/outrunner/outrunner/tunnel"
)

// databaseFile is the default database in the server's folder.
const databaseFile = "server.db"

// filesFolder has the files of sessions.
const filesFolder = "files"

// Server is the embedded server. Make one with Open, serve its Handler, and end
// it with Shutdown.
type Server struct {
	cfg     Config
	log     *slog.Logger
	token   string
	epoch   string
	db      *store.DB
	catalog *catalog
	handler http.Handler
	pages   http.Handler // the web UI
	events  map[string]eventHandler
	tunnels *tunnel.Server
	blobs   blobs

	hub       *hub
	lives     lives
	presences presences
	graces    graces
	tasks     tasks
	watchers  watchers
	ending    atomic.Bool
}

// Open opens the server's state and starts what runs in the background. The
// folder cfg.Dir must exist; the token file, the folder for agents and the
// database are made in it at the first start.
func Open(cfg Config) (*Server, error) {
	cfg.Timing = cfg.Timing.withDefaults()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.DB == "" {
		cfg.DB = filepath.Join(cfg.Dir, databaseFile)
	}
	token, err := loadToken(cfg.Dir)
	if err != nil {
		return nil, err
	}
	agents := filepath.Join(cfg.Dir, "agents")
	if err := makeAgentsDir(agents); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Log, token: token, epoch: fmt.Sprintf("%d-%s", os.Getpid(), store.NewID()[:8]),
		catalog: &catalog{dir: agents, log: cfg.Log}, hub: newHub(), pages: web.Handler(), blobs: blobs{filepath.Join(cfg.Dir, filesFolder)}}
	s.events, s.tunnels = s.eventHandlers(), s.newTunnels()
	if s.db, err = store.Open(cfg.DB, s.hub.committed); err != nil {
		return nil, err
	}
	s.db.OnTouched(s.watchers.touched)
	s.handler = s.routes()
	s.catalog.scan() // what is wrong with a file is told at the start
	err = s.blobs.sweep(context.Background(), s.db.Read())
	if err = errors.Join(err, s.awaitAll(context.Background())); err != nil {
		return nil, errors.Join(err, s.Shutdown(context.Background()))
	}
	return s, nil
}

// Handler is the server's API, with all its safety rules.
func (s *Server) Handler() http.Handler { return s.handler }

// Shutdown ends the server: tunnels get close code 1012, viewers' streams end
// without [DONE] so that they come back, and no session fails. It waits for
// everything in the background, or for ctx, and closes the database.
func (s *Server) Shutdown(ctx context.Context) error {
	if s.ending.Swap(true) {
		return nil
	}
	s.hub.stop()
	err := s.tunnels.Close(ctx, closeRestart)
	err = errors.Join(err, s.tasks.stop(ctx))
	return errors.Join(err, s.db.Close())
}

func (s *Server) stopping() bool { return s.ending.Load() }
