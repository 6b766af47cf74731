package server

import (
	"context"
	"net/http"

	"github.com/outrunner/outrunner/tunnel"
)

const (
	// closeRestart tells runners that the server stops and comes back.
	closeRestart = 1012
	// closeNotAdmitted refuses a claim (server.md 4).
	closeNotAdmitted = 4004
)

// newTunnels makes the endpoint to which runners dial.
func (s *Server) newTunnels() *tunnel.Server {
	return &tunnel.Server{
		Authorize: authorizeRunner,
		OnConnect: func(ctx context.Context, info tunnel.RunnerInfo) {
			s.serveRunner(ctx, info.ID, info.Hello.Harnesses, pinned{s.tunnels.Transport(info.ID), info.Generation})
		},
		OnDisconnect: func(info tunnel.RunnerInfo, why tunnel.Reason) {
			if why.Cause == tunnel.CauseClosed && why.Text == closeIdle {
				s.leftIdle(info.ID)
			}
		},
		Log: s.log,
	}
}

// authorizeRunner admits a runner whose secret proves its id, and nobody else:
// also on loopback, where other programs live too.
func authorizeRunner(r *http.Request, id string) (owner string, err error) {
	if p := principal(r); p.Runner != "" && p.Runner == id {
		return p.Owner, nil
	}
	return "", &tunnel.Refusal{Code: closeNotAdmitted, Reason: "runner_id does not match tunnel token"}
}

// pinned sends requests through one connection of a runner, never through a
// newer one: what the server knows of a connection stays true.
type pinned struct {
	through    http.RoundTripper
	generation uint64
}

// RoundTrip implements http.RoundTripper.
func (p pinned) RoundTrip(r *http.Request) (*http.Response, error) {
	return p.through.RoundTrip(r.WithContext(tunnel.PinGeneration(r.Context(), p.generation)))
}
