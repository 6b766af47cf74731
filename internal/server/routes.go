package server

import (
	"errors"
	"net/http"
	"runtime/debug"

	"github.com/outrunner/outrunner/internal/server/store"
)

// handler is a handler that returns its refusal.
type handler func(http.ResponseWriter, *http.Request) error

// routes is the whole API.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"GET /{$}":         s.root,
		"GET /health":      s.health,
		"GET /api/version": s.apiVersion,
		"GET /v1/info":     s.info,
		"GET /v1/me":       s.me,

		"GET /v1/agents":                                   s.listAgents,
		"GET /v1/runners":                                  s.listRunners,
		"GET /v1/runners/{runner_id}/status":               s.runnerStatus,
		"POST /v1/sessions":                                s.createSession,
		"GET /v1/sessions":                                 s.listSessions,
		"GET /v1/sessions/{session_id}":                    s.getSession,
		"PATCH /v1/sessions/{session_id}":                  s.patchSession,
		"DELETE /v1/sessions/{session_id}":                 s.deleteSession,
		"GET /v1/sessions/{session_id}/items":              s.listItems,
		"GET /v1/sessions/{session_id}/labels":             s.getLabels,
		"GET /v1/sessions/{session_id}/child_sessions":     s.listChildren,
		"GET /v1/sessions/{session_id}/agent":              s.getAgent,
		"GET /v1/sessions/{session_id}/agent/contents":     s.getContents,
		"GET /v1/sessions/{session_id}/stream":             s.getStream,
		"POST /v1/sessions/{session_id}/events":            s.postEvents,
		"POST /v1/sessions/{session_id}/mcp":               s.mcp,
		"POST /v1/sessions/{session_id}/policies/evaluate": s.evaluatePolicies,
		"/": s.notFound,
	} {
		mux.Handle(pattern, s.serve(h))
	}
	mux.Handle("GET /v1/runners/{runner_id}/tunnel", s.tunnels)
	return s.guardPanics(s.safety(s.authenticated(mux)))
}

func (s *Server) serve(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			fail(w, s.log, err)
		}
	})
}

// authenticated lets a request in only with a principal.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := s.authn(r)
		if err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, s.log, err)
			return
		}
		next.ServeHTTP(w, withPrincipal(r, p))
	})
}

// guardPanics turns a panic into a 500, and gives each request an id.
func (s *Server) guardPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := store.NewID()
		w.Header().Set("X-Request-Id", id)
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v) // net/http's own way to drop a connection
			}
			s.log.Error("panic in a handler", "request", id, "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
			fail(w, s.log, refuse(http.StatusInternalServerError, "internal_error", "Internal error; the server's log has the reason under %s.", id))
		}()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) notFound(http.ResponseWriter, *http.Request) error {
	return refuse(http.StatusNotFound, "not_found", "Not found")
}
