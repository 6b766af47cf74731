package fakeserver

import (
	"maps"
	"net/http"
	"strings"
)

// Session is what the server holds of one. A test sets it with AddSession, and
// changes it with Change.
type Session struct {
	ID       string
	AgentID  string // "" is null, as for every other text
	Name     string // of the sub-agent
	Parent   string
	Title    string
	Runner   string
	Status   string // default idle; the session's stream changes it
	Override string // of the harness
	Archived bool
	Labels   map[string]string
	Error    Dict // last_task_error
	Items    []Dict

	watched bool
	relayed chan struct{} // closed when its newest relay has ended
	events  []Dict        // of its stream
}

// AddSession adds a session, or replaces it.
func (s *Server) AddSession(ses Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses.Status == "" {
		ses.Status = "idle"
	}
	labels := map[string]string{}
	maps.Copy(labels, ses.Labels)
	ses.Labels = labels
	if s.sessions[ses.ID] == nil {
		s.created = append(s.created, ses.ID)
	}
	s.sessions[ses.ID] = &ses
}

// Change lets fn change a session.
func (s *Server) Change(id string, fn func(*Session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s.sessions[id])
}

// Labels are a session's labels.
func (s *Server) Labels(id string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.sessions[id].Labels)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// snapshot is GET /v1/sessions/{id} (server.md 2.2).
func (s *Server) snapshot(w http.ResponseWriter, _ *http.Request, ses *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, http.StatusOK, s.describe(ses))
}

func (s *Server) describe(ses *Session) Dict {
	name := ""
	if a := s.agents[ses.AgentID]; a != nil {
		name = a.name
	}
	return Dict{
		"id": ses.ID, "agent_id": orNull(ses.AgentID), "agent_name": orNull(name), "sub_agent_name": orNull(ses.Name),
		"parent_session_id": orNull(ses.Parent), "title": orNull(ses.Title), "runner_id": orNull(ses.Runner), "status": ses.Status,
		"created_at": 1750000000, "labels": ses.Labels, "archived": ses.Archived, "workspace": nil, "model_override": nil,
		"harness_override": orNull(ses.Override), "reasoning_effort": nil, "last_task_error": ses.Error, "items": []Dict{},
	}
}

// patch is PATCH /v1/sessions/{id}, for labels.
func (s *Server) patch(w http.ResponseWriter, r *http.Request, ses *Session) {
	var body struct {
		Labels map[string]string `json:"labels"`
	}
	if !decode(w, r, &body) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(ses.Labels, body.Labels)
	answer(w, http.StatusOK, s.describe(ses))
}

// remove is DELETE /v1/sessions/{id}.
func (s *Server) remove(w http.ResponseWriter, _ *http.Request, ses *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, ses.ID)
	answer(w, http.StatusOK, Dict{"id": ses.ID, "deleted": true})
}

// create is POST /v1/sessions for a child (sessions.md 12.1). The new session
// is watched from then on, as a real server does before it forwards anything.
func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		AgentID  string            `json:"agent_id"`
		Parent   string            `json:"parent_session_id"`
		Title    string            `json:"title"`
		Name     string            `json:"sub_agent_name"`
		Labels   map[string]string `json:"labels"`
		Override string            `json:"harness_override"`
	}
	if !decode(w, r, &body) {
		return
	}
	s.mu.Lock()
	for _, other := range s.sessions {
		if other.Parent == body.Parent && other.Title == body.Title {
			s.mu.Unlock()
			refuse(w, http.StatusConflict, "already_exists", "the parent has a child of that title")
			return
		}
	}
	id := s.newID()
	runner := s.runner
	s.mu.Unlock()
	s.AddSession(Session{ID: id, AgentID: body.AgentID, Parent: body.Parent, Title: body.Title, Name: body.Name,
		Labels: body.Labels, Override: body.Override, Runner: runner})
	s.Watch(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, http.StatusCreated, s.describe(s.sessions[id]))
}

// Children are the ids of a session's children, oldest first.
func (s *Server) Children(parent string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, id := range s.created {
		if ses := s.sessions[id]; ses != nil && ses.Parent == parent {
			ids = append(ids, id)
		}
	}
	return ids
}

// children is GET /v1/sessions/{id}/child_sessions, newest first (server.md 2.5).
func (s *Server) children(w http.ResponseWriter, r *http.Request, ses *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := []Dict{}
	for n := len(s.created) - 1; n >= 0; n-- {
		kid := s.sessions[s.created[n]]
		if kid == nil || kid.Parent != ses.ID {
			continue
		}
		tool, name, _ := strings.Cut(kid.Title, ":")
		q := r.URL.Query()
		if q.Has("tool") && q.Get("tool") != tool || q.Has("session_name") && q.Get("session_name") != name {
			continue
		}
		rows = append(rows, kid.summary(tool, name))
	}
	list(w, wholePage(rows), len(rows))
}

func wholePage(rows []Dict) Dict {
	return Dict{"object": "list", "data": rows, "first_id": nil, "last_id": nil, "has_more": false}
}

func (ses *Session) summary(tool, name string) Dict {
	busy := ses.Status == "running" || ses.Status == "waiting"
	var state any
	switch {
	case busy:
		state = "in_progress"
	case ses.Status == "failed":
		state = "failed"
	case ses.spoke():
		state = "completed"
	}
	return Dict{
		"id": ses.ID, "object": "child_session", "parent_session_id": ses.Parent, "title": orNull(ses.Title), "tool": orNull(tool),
		"session_name": orNull(name), "agent_id": ses.AgentID, "agent_name": nil, "current_task_status": state, "busy": busy,
		"labels": ses.Labels, "last_task_error": ses.Error,
	}
}

func (ses *Session) spoke() bool {
	for _, it := range ses.Items {
		if it["role"] == "assistant" {
			return true
		}
	}
	return false
}
