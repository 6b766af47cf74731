package server

import (
	"context"
	"net/http"
	"time"

	"github.com/outrunner/outrunner/internal/server/store"
)

// closeIdle is the close reason of a runner that leaves because it has nothing
// to do (server.md 4).
const closeIdle = "runner idle shutdown"

// serveRunner is a runner's connection from its hello to its loss, which ends
// ctx. It opens the stream of every session that is bound to the runner, and
// messages that wait go out over the same lines.
func (s *Server) serveRunner(ctx context.Context, runner string, harnesses []string, through http.RoundTripper) {
	pr := &presence{id: store.NewID(), runner: runner, harnesses: harnesses, client: &http.Client{Transport: through, CheckRedirect: noRedirect}, lost: make(chan struct{})}
	s.presences.enter(pr)
	s.watchers.runners()
	s.graces.end(runner)
	for !s.welcome(ctx, runner, harnesses) {
		retry := time.NewTimer(s.cfg.Timing.StorageRetry)
		select {
		case <-retry.C:
			continue
		case <-ctx.Done():
			retry.Stop()
		}
		break
	}
	s.restore(ctx, pr)
	<-ctx.Done()
	if s.presences.leave(pr) {
		s.watchers.runners()
		s.awaitReturn(runner)
	}
	s.drain(pr)
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// welcome notes the runner, gives it the sessions that wait for any, and opens
// the lines of all that are bound to it. It says whether it came to its end.
func (s *Server) welcome(ctx context.Context, runner string, harnesses []string) bool {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.SawRunner(runner, ownerLocal, harnesses); err != nil {
			return err
		}
		waiting, err := tx.UnboundPending(ctx)
		if err != nil {
			return err
		}
		for _, ses := range waiting {
			ses.RunnerID = runner
			if err := tx.SaveSession(ses); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		var bound []*store.Session
		if bound, err = s.db.Read().BoundTo(ctx, runner); err == nil {
			for _, ses := range bound {
				s.attach(ses.ID, runner)
			}
			return true
		}
	}
	if ctx.Err() == nil {
		s.log.Error("reading the sessions of a runner", "runner", runner, "error", err)
	}
	return false
}

// chooseRunner picks the runner of a session that has none: the only one that
// is here, else the only one that is known. "" means: the next that connects.
func (s *Server) chooseRunner(ctx context.Context, tx *store.Tx) (string, error) {
	known, err := tx.Runners(ctx, ownerLocal)
	if err != nil {
		return "", err
	}
	here := s.presences.harnesses()
	switch {
	case len(here) > 1:
		return "", refuse(http.StatusConflict, "conflict",
			"%d runners are connected and the session is bound to none: choose one with PATCH /v1/sessions/{id} {\"runner_id\": ...}.", len(here))
	case len(here) == 1:
		for id := range here {
			return id, nil
		}
	case len(known) == 1:
		return known[0].ID, nil
	}
	return "", nil
}

// awaitReturn fails a runner's running sessions unless it is back in time.
func (s *Server) awaitReturn(runner string) {
	cancel, ok := s.tasks.start(func(ctx context.Context) {
		grace := time.NewTimer(s.cfg.Timing.DisconnectGrace)
		defer grace.Stop()
		select {
		case <-grace.C:
		case <-ctx.Done(): // it is back, or the server stops: nothing fails
			return
		}
		if s.presences.get(runner) != nil {
			return
		}
		s.settleLost(ctx, runner, statusChange{status: statusFailed, lost: true,
			err: taskError([]byte(`{"code":"` + codeDisconnected + `","message":"Runner disconnected unexpectedly."}`))})
	})
	if ok {
		s.graces.begin(runner, time.Now().Add(s.cfg.Timing.DisconnectGrace), cancel)
	}
}

// settleLost gives the running sessions of a runner that is gone their status.
func (s *Server) settleLost(ctx context.Context, runner string, ch statusChange) {
	running, err := s.db.Read().InTurn(ctx)
	if err != nil {
		s.log.Error("settling the sessions of a lost runner", "runner", runner, "error", err)
		return
	}
	for _, ses := range running {
		if ses.RunnerID != runner {
			continue
		}
		if err := s.db.Write(ctx, func(tx *store.Tx) error { return applyStatus(ctx, tx, ses.ID, ch) }); ignoreNotFound(err) != nil {
			s.log.Error("settling a session of a lost runner", "session", ses.ID, "runner", runner, "error", err)
		}
	}
}

// awaitAll starts the grace of every runner that had a turn when the server
// stopped.
func (s *Server) awaitAll(ctx context.Context) error {
	running, err := s.db.Read().InTurn(ctx)
	if err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, ses := range running {
		if !seen[ses.RunnerID] {
			seen[ses.RunnerID] = true
			s.awaitReturn(ses.RunnerID)
		}
	}
	return nil
}

// leftIdle settles the sessions of a runner that left because it was idle: none
// of them runs.
func (s *Server) leftIdle(runner string) {
	s.tasks.start(func(ctx context.Context) {
		s.settleLost(ctx, runner, statusChange{status: statusIdle, lost: true})
	})
}

// listRunners lists the runners that are here or once were.
func (s *Server) listRunners(w http.ResponseWriter, r *http.Request) error {
	known, err := s.db.Read().Runners(r.Context(), principal(r).Owner)
	if err != nil {
		return err
	}
	here := s.presences.harnesses()
	rows := []any{}
	row := func(id string, online bool, harnesses []string) {
		if harnesses == nil {
			harnesses = []string{}
		}
		rows = append(rows, dict{"runner_id": id, "online": online, "harnesses": harnesses})
	}
	for _, k := range known {
		now, online := here[k.ID]
		if online {
			k.Harnesses = now
		}
		row(k.ID, online, k.Harnesses)
		delete(here, k.ID)
	}
	for id, now := range here { // connected a moment ago
		row(id, true, now)
	}
	answer(w, s.log, http.StatusOK, dict{"data": rows})
	return nil
}

func (s *Server) runnerStatus(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("runner_id")
	answer(w, s.log, http.StatusOK, dict{"runner_id": id, "online": s.presences.get(id) != nil})
	return nil
}
