package server

import (
	"context"
	"net/http"
	"time"

	"github.com/outrunner/outrunner/internal/server/store"
)

// control sends a control event to a session's runner. here is false when the
// session has none, or it is not connected.
func (s *Server) control(ctx context.Context, session string, event dict) (status int, here bool, err error) {
	ses, err := s.db.Read().Session(ctx, session)
	if err != nil {
		return 0, false, err
	}
	pr := s.presences.get(ses.RunnerID)
	if pr == nil {
		return 0, false, nil
	}
	body, err := store.Encode(event)
	if err != nil {
		return 0, true, err
	}
	status, _, err = pr.post(ctx, session, "/events", body, s.cfg.Timing.Control)
	return status, true, err
}

func delivered(status int, err error) bool { return err == nil && status < 300 }

// onInterrupt asks the runner to end the running turn. What the turn's response
// still brings is held back; an interrupt that did not arrive holds nothing.
func (s *Server) onInterrupt(ctx context.Context, _ Principal, session string, _ inputEvent) (dict, error) {
	lift, err := s.fence(ctx, session)
	if err != nil {
		return nil, err
	}
	status, here, err := s.control(ctx, session, dict{"type": "interrupt"})
	switch {
	case !here:
		lift()
		return dict{"queued": false}, err
	case !delivered(status, err):
		lift()
		s.log.Warn("the runner did not take an interrupt", "session", session, "status", status, "error", err)
		return dict{"queued": false}, nil
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.Session(ctx, session)
		if err != nil {
			return err
		}
		return emit(tx, session, typeInterrupted, dict{"type": typeInterrupted,
			"data": dict{"requested_at": time.Now().Unix(), "response_id": orNull(ses.ResponseID)}})
	})
	if err != nil {
		return nil, err
	}
	return dict{"queued": false}, nil
}

// onStop asks the runner to stop the session's turn and drop its process.
func (s *Server) onStop(ctx context.Context, _ Principal, session string, _ inputEvent) (dict, error) {
	lift, err := s.fence(ctx, session)
	if err != nil {
		return nil, err
	}
	status, here, err := s.control(ctx, session, dict{"type": "stop_session"})
	switch {
	case !here:
		lift()
		if err != nil {
			return nil, err
		}
		err := s.db.Write(ctx, func(tx *store.Tx) error {
			return applyStatus(ctx, tx, session, statusChange{status: statusIdle, lost: true})
		})
		if err != nil {
			return nil, err
		}
	case !delivered(status, err):
		lift()
		s.log.Warn("the runner did not take a stop", "session", session, "status", status, "error", err)
		return nil, refuse(http.StatusServiceUnavailable, "runner_unavailable", "The runner did not take the stop; try again.")
	}
	return dict{"queued": false}, nil
}

// fence holds back the rest of the running response, and gives what undoes it.
func (s *Server) fence(ctx context.Context, session string) (lift func(), err error) {
	ses, err := s.db.Read().Session(ctx, session)
	if err != nil {
		return nil, err
	}
	lv := s.lives.get(session)
	lv.mu.Lock()
	defer lv.mu.Unlock()
	if lv.fenced || !inTurn(ses.Status) {
		return func() {}, nil
	}
	lv.fenced = true
	return func() {
		lv.mu.Lock()
		defer lv.mu.Unlock()
		lv.fenced = false
	}, nil
}

// onRetry wakes the session's line: what is pending is offered again. What could
// not be restored is tried again too.
func (s *Server) onRetry(ctx context.Context, _ Principal, session string, _ inputEvent) (dict, error) {
	ses, err := s.db.Read().Session(ctx, session)
	if err != nil {
		return nil, err
	}
	pr := s.presences.get(ses.RunnerID)
	if pr == nil {
		return nil, refuse(http.StatusServiceUnavailable, "runner_unavailable", "No runner is available to recover this session.")
	}
	s.attach(session, ses.RunnerID)
	s.tasks.start(func(ctx context.Context) { s.restore(ctx, pr) }) // what it was told it is not told again
	return dict{"queued": false, "recovered": true, "recovery": "already_connected"}, nil
}
