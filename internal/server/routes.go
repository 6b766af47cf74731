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
	for _, table := range []map[string]handler{s.serverRoutes(), s.sessionRoutes(), s.resourceRoutes(), s.terminalRoutes(), s.sparseRoutes()} {
		for pattern, h := range table {
			mux.Handle(pattern, s.serve(h))
		}
	}
	mux.Handle("GET /v1/runners/{runner_id}/tunnel", s.tunnels)
	return s.guardPanics(s.safety(s.signIn(s.authenticated(s.environments(mux)))))
}

// serverRoutes are those that are about no session.
func (s *Server) serverRoutes() map[string]handler {
	return map[string]handler{
		"GET /health":                        s.health,
		"GET /.well-known/omnigent.json":     s.wellKnown,
		"GET /api/version":                   s.apiVersion,
		"GET /v1/info":                       s.info,
		"GET /v1/me":                         s.me,
		"GET /v1/agents":                     s.listAgents,
		"GET /v1/agents/{agent_id}":          s.getOfferedAgent,
		"GET /v1/runners":                    s.listRunners,
		"GET /v1/runners/{runner_id}/status": s.runnerStatus,
		"POST /v1/runners/{runner_id}/token": s.runnerToken,
		"/":                                  s.page,
	}
}

// sessionRoutes are those of a session's life.
func (s *Server) sessionRoutes() map[string]handler {
	const one = "/v1/sessions/{session_id}"
	return map[string]handler{
		"POST /v1/sessions":                                      s.createSession,
		"GET /v1/sessions":                                       s.listSessions,
		"GET /v1/sessions/updates":                               s.getUpdates,
		"GET " + one:                                             s.getSession,
		"PATCH " + one:                                           s.patchSession,
		"DELETE " + one:                                          s.deleteSession,
		"POST " + one + "/fork":                                  s.forkSession,
		"GET " + one + "/items":                                  s.listItems,
		"GET " + one + "/labels":                                 s.getLabels,
		"GET " + one + "/child_sessions":                         s.listChildren,
		"GET " + one + "/agent":                                  s.getAgent,
		"GET " + one + "/agent/contents":                         s.getContents,
		"GET " + one + "/stream":                                 s.getStream,
		"POST " + one + "/events":                                s.postEvents,
		"POST " + one + "/mcp":                                   s.mcp,
		"POST " + one + "/policies/evaluate":                     s.evaluatePolicies,
		"GET " + one + "/elicitations/{elicitation_id}":          s.getElicitation,
		"POST " + one + "/elicitations/{elicitation_id}/resolve": s.resolveElicitation,
		"PUT " + one + "/read-state":                             s.putReadState,
		"POST " + one + "/auto-title":                            s.setTitle,
		"POST " + one + "/agent-title":                           s.setTitle,
		"POST " + one + "/model-override/reset":                  s.resetModel,
	}
}

// resourceRoutes are those of what belongs to a session.
func (s *Server) resourceRoutes() map[string]handler {
	const all = "/v1/sessions/{session_id}/resources"
	return map[string]handler{
		"POST " + all + "/files":                  s.uploadFile,
		"POST " + all + "/files:copy":             s.copyFiles,
		"GET " + all + "/files":                   s.listFiles,
		"GET " + all + "/files/{file_id}":         s.getFile,
		"GET " + all + "/files/{file_id}/content": s.getFileContent,
		"DELETE " + all + "/files/{file_id}":      s.deleteFile,
	}
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
