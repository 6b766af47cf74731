package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/coder/websocket"

	"github.com/outrunner/outrunner/internal/server/store"
	"github.com/outrunner/outrunner/tunnel"
)

// Close codes that a browser shows and does not come back after.
const (
	closeNoTerminal = websocket.StatusCode(4404)
	noTerminal      = "terminal resource not found or not running"
)

// ended is how a viewer's socket is closed.
type ended struct {
	code   websocket.StatusCode
	reason string // at most 123 bytes; people see it
}

// Error makes it the cause of a context's end.
func (e *ended) Error() string { return e.reason }

// attachTerminal is WS …/resources/terminals/{id}/attach (terminals.md 3): what
// a browser types goes to the session's runner through the tunnel, and what the
// terminal shows comes back. The server looks at neither.
func (s *Server) attachTerminal(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	if !isUpgrade(r) {
		w.Header().Set("Upgrade", "websocket")
		return refuse(http.StatusUpgradeRequired, "invalid_input", "A terminal is attached over a WebSocket.")
	}
	ctx, cancel, leave := s.tasks.join(context.WithoutCancel(r.Context()))
	if leave == nil {
		return refuse(http.StatusServiceUnavailable, "shutting_down", "The server is stopping; come back.")
	}
	defer leave()
	defer context.AfterFunc(r.Context(), cancel)()
	ch, why := s.openTerminal(ctx, id, r)
	if ctx.Err() != nil && !s.stopping() {
		return nil // the browser left meanwhile
	}
	k, err := s.accept(w, r, maxTyped)
	if err != nil {
		if ch != nil {
			ch.Close(int(closeNormal), "")
		}
		return nil //nolint:nilerr // the library has answered
	}
	if why != nil {
		k.end(why.code, why.reason)
		return nil
	}
	(&bridge{socket: k, channel: ch, readOnly: flag(r, "read_only", false), stopping: s.stopping}).run(ctx)
	return nil
}

// openTerminal opens the channel to the runner, or says how to close the
// browser's socket instead: a refusal before the upgrade would look to it like
// a cut.
func (s *Server) openTerminal(ctx context.Context, session string, r *http.Request) (*tunnel.Channel, *ended) {
	ses, err := s.db.Read().Session(ctx, session)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, &ended{closeNoTerminal, "the session does not exist"}
	case err != nil:
		s.log.Error("attaching a terminal", "session", session, "error", err)
		return nil, &ended{closeTryAgain, "the server's database cannot be read"}
	case ses.RunnerID == "":
		return nil, &ended{closeNoTerminal, noTerminal}
	}
	if s.presences.await(ctx, ses.RunnerID, s.cfg.Timing.AttachWait) == nil {
		return nil, s.away()
	}
	query := "read_only=false"
	if flag(r, "read_only", false) {
		query = "read_only=true"
	}
	ch, err := s.tunnels.OpenChannel(ctx, ses.RunnerID, "/v1/sessions/"+session+"/resources/terminals/"+r.PathValue("id")+"/attach", query)
	var full *tunnel.RefusedError
	switch {
	case errors.As(err, &full):
		return nil, &ended{closeTryAgain, full.Reason}
	case err != nil:
		return nil, s.away()
	}
	return ch, nil
}

// away is the end of a viewer whose runner is not there: it comes back.
func (s *Server) away() *ended {
	if s.stopping() {
		return &ended{closeStopping, "server restarts"}
	}
	return &ended{closeTryAgain, "the runner is not connected"}
}
