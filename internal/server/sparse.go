package server

import "net/http"

// sparseRoutes answer for the parts of the API that this server does not have,
// as a server does that has nothing in them (server.md 9): clients that look
// there go on. What is not named here is a 404.
func (s *Server) sparseRoutes() map[string]handler {
	const one = "/v1/sessions/{session_id}"
	emptyList := dict{"object": "list", "data": []any{}}
	return map[string]handler{
		"GET /v1/hosts":             s.always(dict{"hosts": []any{}}),
		"GET /v1/harnesses":         s.always(dict{"data": []any{}}),
		"GET /v1/extensions":        s.always(emptyList),
		"GET /v1/policies":          s.always(emptyList),
		"GET /v1/policy-registry":   s.always(emptyList),
		"GET /v1/projects":          s.always(emptyList),
		"GET /v1/projects/order":    s.always(dict{"sort_mode": "alphabetical", "ordered_project_ids": nil}),
		"GET /v1/sessions/projects": s.always([]any{}),
		"GET /v1/scheduled-tasks":   s.always(dict{"scheduled_tasks": []any{}}),
		"GET /v1/sharing": s.always(dict{"object": "sharing", "sharing_mode": "off", "editable": false, "options": []string{"off"},
			"public_sharing_enabled": false, "public_sharing_editable": false, "public_sharing_max_level": "read",
			"public_sharing_max_level_editable": false, "public_sharing_max_level_options": []string{"read"},
			"default_public_sessions": "off", "default_public_sessions_editable": false, "default_public_sessions_options": []string{"off"}}),
		"GET /v1/usage": s.always(dict{"object": "usage_report", "cost_today": 0, "cost_last_7d": 0, "cost_last_30d": 0,
			"total_cost_usd": 0, "daily_costs": []any{}, "sessions": []any{}}),
		"GET /v1/skills": s.skills,

		"GET " + one + "/owner": s.ofSession(func(r *http.Request, _ string) (any, error) {
			return dict{"owner": principal(r).Owner}, nil
		}),
		"GET " + one + "/permissions": s.ofSession(func(r *http.Request, id string) (any, error) {
			row := dict{"user_id": principal(r).Owner, "conversation_id": id, "level": 4}
			return dict{"permissions": []any{row}, "next_cursor": nil}, nil
		}),
		"GET " + one + "/policies": s.ofSession(constantly(emptyList)),
		"GET " + one + "/comments": s.ofSession(constantly([]any{})),
		"GET " + one + "/resources/{rest...}": s.ofSession(func(*http.Request, string) (any, error) {
			return nil, refuse(http.StatusNotFound, "not_found", "Resource not found")
		}),
		"GET " + one + "/codex_goal": s.ofSession(func(*http.Request, string) (any, error) {
			return nil, badInput("codex_goal is only supported for codex-native sessions")
		}),
		"POST " + one + "/switch-agent": s.ofSession(func(*http.Request, string) (any, error) {
			return nil, detail(http.StatusGone, "A session keeps its agent: fork it into another one instead.")
		}),
	}
}

// always is a handler with one answer.
func (s *Server) always(body any) handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		answer(w, s.log, http.StatusOK, body)
		return nil
	}
}

// ofSession is a handler of a session that is there.
func (s *Server) ofSession(what func(r *http.Request, id string) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := s.sessionID(r)
		if err != nil {
			return err
		}
		if _, err := s.db.Read().Session(r.Context(), id); err != nil {
			return err
		}
		body, err := what(r, id)
		if err != nil {
			return err
		}
		answer(w, s.log, http.StatusOK, body)
		return nil
	}
}

func constantly(body any) func(*http.Request, string) (any, error) {
	return func(*http.Request, string) (any, error) { return body, nil }
}

// skills are those of a host, and this server has no hosts.
func (s *Server) skills(_ http.ResponseWriter, r *http.Request) error {
	if r.URL.Query().Get("session_id") == "" && r.URL.Query().Get("host_id") == "" {
		return detail(http.StatusUnprocessableEntity, "Name a session_id, or a host_id with harness and path.")
	}
	return detail(http.StatusConflict, "session host is not ready")
}

// runnerToken is POST /v1/runners/{id}/token: without accounts there are no
// tokens to have.
func (s *Server) runnerToken(_ http.ResponseWriter, r *http.Request) error {
	if p := principal(r); p.Runner == "" || p.Runner != r.PathValue("runner_id") {
		return refuse(http.StatusUnauthorized, "unauthorized", "unauthenticated")
	}
	return badInput("this server has no accounts: a runner needs no token beyond its own")
}

// wellKnown tells desktop programs what kind of server this is.
func (s *Server) wellKnown(w http.ResponseWriter, _ *http.Request) error {
	answer(w, s.log, http.StatusOK, dict{"manifest_version": 1, "server_version": s.cfg.Version, "min_desktop_version": nil,
		"ui": dict{"server_picker": "sidebar"}, "auth": dict{"mode": "header", "session_cookie": nil, "native_redirect_uris": nil},
		"server_name": nil})
	return nil
}
