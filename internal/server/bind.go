package server

import (
	"context"
	"errors"

	"github.com/outrunner/outrunner/internal/server/store"
)

// bind gives a session the runner that its messages go to: the one it has, else
// one that can be chosen, "" when there is none yet. A child goes where its
// parent is (inherit). The caller saves the session.
func (s *Server) bind(ctx context.Context, tx *store.Tx, ses *store.Session) (string, error) {
	if err := s.inherit(ctx, tx, ses); err != nil {
		return "", err
	}
	if ses.RunnerID != "" {
		return ses.RunnerID, nil
	}
	runner, err := s.chooseRunner(ctx, tx)
	if err != nil {
		return "", err
	}
	ses.RunnerID = runner
	return runner, nil
}

// inherit binds a child that has no runner, or one that is gone for good, to
// that of its parent, else of its root. A runner that may come back keeps its
// children: it has their processes.
func (s *Server) inherit(ctx context.Context, tx *store.Tx, ses *store.Session) error {
	if ses.ParentID == "" || ses.RunnerID != "" && !s.gone(ses.RunnerID) {
		return nil
	}
	for _, id := range []string{ses.ParentID, ses.RootID} {
		above, err := tx.Session(ctx, id)
		if err != nil {
			return ignoreNotFound(err)
		}
		if above.RunnerID != "" && (ses.RunnerID == "" || s.presences.get(above.RunnerID) != nil) {
			ses.RunnerID = above.RunnerID
			return nil
		}
	}
	return nil
}

// gone says that a runner is away and nobody waits for it any more.
func (s *Server) gone(runner string) bool {
	return s.presences.get(runner) == nil && !s.graces.waiting(runner)
}

// rebind moves a child to another runner, and its stream with it.
func (s *Server) rebind(ctx context.Context, session, runner string) error {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.Session(ctx, session)
		if err != nil || ses.RunnerID == runner {
			return err
		}
		ses.RunnerID = runner
		return tx.SaveSession(ses)
	})
	if err == nil {
		s.attach(session, runner)
	}
	return err
}

// checkTitle refuses a title that another child of the same parent has: it is
// how the parent addresses it.
func checkTitle(ctx context.Context, tx *store.Tx, ses *store.Session) error {
	if ses.ParentID == "" || ses.Title == "" {
		return nil
	}
	other, err := tx.ChildTitled(ctx, ses.ParentID, ses.Title)
	if errors.Is(err, store.ErrNotFound) || err == nil && other.ID == ses.ID {
		return nil
	}
	if err != nil {
		return err
	}
	return refuse(409, "already_exists", "Session %s already has a sub-agent session titled %q.", ses.ParentID, clip(ses.Title, 200))
}
