package server

import (
	"net/http"
	"strings"
)

// health says whether the server can work, and on request whether the runners
// of sessions are here.
func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	if err := s.db.Ping(r.Context()); err != nil {
		return err
	}
	out := dict{"status": "ok"}
	q := r.URL.Query()
	if id := q.Get("session_id"); id != "" {
		row, err := s.sessionHealth(r, id)
		if err != nil {
			return err
		}
		out["session"] = row
	}
	if ids := q.Get("session_ids"); ids != "" {
		rows := dict{}
		for _, id := range strings.Split(ids, ",") {
			row, err := s.sessionHealth(r, id)
			if err != nil {
				return err
			}
			if row != nil {
				rows[id] = row
			}
		}
		out["sessions"] = rows
	}
	answer(w, s.log, http.StatusOK, out)
	return nil
}

// sessionHealth is nil for a session that is not there.
func (s *Server) sessionHealth(r *http.Request, id string) (any, error) {
	ses, err := s.db.Read().Session(r.Context(), bareID(id))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	var online any
	if ses.RunnerID != "" {
		online = s.presences.get(ses.RunnerID) != nil
	}
	return dict{"id": ses.ID, "runner_online": online, "host_online": nil, "host_version": nil}, nil
}

func (s *Server) me(w http.ResponseWriter, r *http.Request) error {
	answer(w, s.log, http.StatusOK, dict{"user_id": principal(r).Owner, "is_admin": true})
	return nil
}

func (s *Server) apiVersion(w http.ResponseWriter, _ *http.Request) error {
	answer(w, s.log, http.StatusOK, dict{"version": s.cfg.Version})
	return nil
}

// info tells clients what this server can do (server.md 9): one user, no
// accounts, hosts or sandboxes.
func (s *Server) info(w http.ResponseWriter, _ *http.Request) error {
	answer(w, s.log, http.StatusOK, dict{
		"accounts_enabled": false, "single_user": true, "login_url": nil, "needs_setup": false, "databricks_features": false,
		"managed_sandboxes_enabled": false, "durable_initial_input": false, "sandbox_provider": nil, "sandbox_providers": []any{},
		"sandbox_provider_capabilities": dict{}, "enabled_connections": []any{}, "sharing_mode": "off", "public_sharing_enabled": false,
		"public_sharing_max_level": nil, "server_version": s.cfg.Version, "smart_routing_enabled": false,
		"smart_routing_sources": dict{"external": false, "oss": false},
		"features": dict{"usage_page": false, "harness_install": false, "canvas": false, "arca_shutdown_warnings": false,
			"import_review": false, "custom_agents_settings_ui": false, "sidebar_grouping_ui": false},
		"harness_install_enabled": false, "installable_harnesses": []any{}, "dictation_available": false, "archive_worktree_cleanup": false,
		"request_managed_sandbox_host_id": nil, "agent_install": false, "agent_detail": false, "agent_config_edit": false,
		"branding": dict{"app_name": "outrunner", "heading": nil, "logos": dict{"main": nil, "loading": nil, "favicon": nil}, "powered_by": nil},
	})
	return nil
}
