package server

import (
	"net/http"
	"strconv"
)

// listAgents is GET /v1/agents: what the server offers, by name.
func (s *Server) listAgents(w http.ResponseWriter, r *http.Request) error {
	p, err := readPage(r, 20, false)
	if err != nil {
		return err
	}
	all, err := s.agents(r.Context())
	if err != nil {
		return err
	}
	rows, first, last, more := []any{}, "", "", false
	skip := p.after != ""
	for _, a := range all {
		if skip {
			skip = a.ID != p.after
			continue
		}
		if more = len(rows) == p.limit; more {
			break
		}
		rows = append(rows, agentObject(a))
		first, last = firstOf(first, a.ID), a.ID
	}
	if skip {
		return refuse(http.StatusBadRequest, "stale_cursor", "There is no agent with that id any more; start the listing again.")
	}
	answer(w, s.log, http.StatusOK, envelope(rows, first, last, more))
	return nil
}

// sessionAgent finds the agent of the session in the path.
func (s *Server) sessionAgent(r *http.Request) (*agent, error) {
	id, err := s.sessionID(r)
	if err != nil {
		return nil, err
	}
	ses, err := s.db.Read().Session(r.Context(), id)
	if err != nil {
		return nil, err
	}
	return s.agent(r.Context(), ses.AgentID)
}

// getOfferedAgent is GET /v1/agents/{id}.
func (s *Server) getOfferedAgent(w http.ResponseWriter, r *http.Request) error {
	id := bareID(r.PathValue("agent_id"))
	if !isID(id) {
		return sessionNotFound()
	}
	a, err := s.agent(r.Context(), id)
	if err != nil {
		return err
	}
	answer(w, s.log, http.StatusOK, agentObject(a))
	return nil
}

func (s *Server) getAgent(w http.ResponseWriter, r *http.Request) error {
	a, err := s.sessionAgent(r)
	if err != nil {
		return err
	}
	answer(w, s.log, http.StatusOK, agentObject(a))
	return nil
}

// getContents is the agent's bundle, for the session's runner.
func (s *Server) getContents(w http.ResponseWriter, r *http.Request) error {
	a, err := s.sessionAgent(r)
	if err != nil {
		return err
	}
	bundle, err := s.db.Read().AgentContent(r.Context(), a.ID)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/gzip")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Agent-Id", a.ID)
	h.Set("X-Agent-Version", strconv.FormatInt(a.Version, 10))
	h.Set("X-Agent-Name", a.Name)
	h.Set("X-Agent-Session-Scoped", "false")
	if _, err := w.Write(bundle); err != nil {
		s.log.Debug("writing a bundle", "error", err)
	}
	return nil
}
