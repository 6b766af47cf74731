package tunnel

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Server is the other end: it takes the tunnels of many runners, and sends
// requests and channels through them. The zero value takes every runner. The
// fields must not change once a request came.
type Server struct {
	// Authorize decides who may be that runner, and whose it is. Its error is
	// a *Refusal, or anything else for a failure of its own (500). Nil admits
	// everyone with owner "".
	Authorize func(r *http.Request, runnerID string) (owner string, err error)
	// OnConnect is called in a goroutine of its own for each registered
	// connection. ctx ends with it.
	OnConnect func(ctx context.Context, info RunnerInfo)
	// OnDisconnect is called once for each registered connection, when it is
	// over. By then a newer one may be registered.
	OnDisconnect func(info RunnerInfo, reason Reason)
	// Capabilities lists additions of ours that this server honours; runners
	// of others never look.
	Capabilities []string
	// Log gets what an operator must know. Nil discards it.
	Log    *slog.Logger
	Limits Limits
	Timing Timing

	clock    clock // nil is the machine's
	registry registry
	running  sync.WaitGroup // connections, from their upgrade on
}

// RunnerInfo describes a runner's registered connection.
type RunnerInfo struct {
	ID          string
	Owner       string
	Generation  uint64 // unique in this process
	Hello       Hello
	RemoteAddr  string
	ConnectedAt time.Time
}

// ServeHTTP is the tunnel endpoint (tunnel.md 1 and 3). The runner's id is the
// path value runner_id. It returns when the connection is over.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("runner_id")
	if id == "" {
		http.Error(w, "no runner id in the path", http.StatusBadRequest)
		return
	}
	owner, err := s.authorize(r, id)
	if err != nil && answerRefusal(w, err) {
		return
	}
	timing, limits := s.Timing.withDefaults(), s.Limits.withDefaults()
	l := newLink(id, limits, timing, false, orDiscard(s.Log).With("runner", id))
	if failed := accept(w, r, l, s.Capabilities); failed != nil {
		l.log.Warn("tunnel refused", "err", failed)
		return
	}
	var refusal *Refusal
	switch {
	case !s.registry.enter(l, &s.running):
		l.close(Reason{Cause: CauseShutdown, Code: closeRestart}, closeRestart, "")
	case errors.As(err, &refusal):
		l.close(Reason{Cause: CauseForbidden, Code: refusal.Code, Text: refusal.Reason}, refusal.Code, refusal.Reason)
	}
	e := newServerEnd(s, l, limits, RunnerInfo{ID: id, Owner: owner, RemoteAddr: r.RemoteAddr})
	e.run(context.WithoutCancel(r.Context()))
	s.registry.leave(l, &s.running)
}

func (s *Server) authorize(r *http.Request, id string) (string, error) {
	if s.Authorize == nil {
		return "", nil
	}
	return s.Authorize(r, id)
}

// Runners lists the registered connections, in no order.
func (s *Server) Runners() []RunnerInfo { return s.registry.list() }

// Lookup returns a runner's registered connection.
func (s *Server) Lookup(runnerID string) (RunnerInfo, bool) {
	e := s.registry.get(runnerID)
	if e == nil {
		return RunnerInfo{}, false
	}
	return e.info, true
}

// Close closes all tunnels with the close code, 1012 for a restart, takes no
// new ones, and waits until all is over or ctx ends. Then it drops what is
// left and returns the context's error.
func (s *Server) Close(ctx context.Context, code int) error {
	links := s.registry.shut()
	for _, l := range links {
		l.close(Reason{Cause: CauseShutdown, Code: code}, code, "")
	}
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, l := range links {
		l.pipe.abort()
	}
	<-done
	return ctx.Err()
}
