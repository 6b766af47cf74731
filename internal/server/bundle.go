package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/outrunner/outrunner/internal/agentspec"
)

// createFromBundle takes the parts metadata (JSON) and bundle (a gzip tar of
// one YAML file). Equal files give the same agent.
func (s *Server) createFromBundle(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxBundle)
	parts, err := r.MultipartReader()
	if err != nil {
		return badInput("the multipart body can not be read: %v", err)
	}
	got := make(map[string][]byte)
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return detail(http.StatusRequestEntityTooLarge, "The body is larger than %d bytes.", maxBundle)
		}
		if err != nil {
			return badInput("the multipart body can not be read: %v", err)
		}
		b, err := io.ReadAll(part)
		if errors.As(err, &big) {
			return detail(http.StatusRequestEntityTooLarge, "The body is larger than %d bytes.", maxBundle)
		}
		if err != nil {
			return badInput("the multipart body can not be read: %v", err)
		}
		got[part.FormName()] = b
	}
	for _, name := range []string{"metadata", "bundle"} {
		if _, ok := got[name]; !ok {
			return invalid(name, "missing", "Field required")
		}
	}
	var in newSession
	settings, err := readCreate(got["metadata"], &in)
	if err != nil {
		return err
	}
	yaml, err := agentspec.Open(bytes.NewReader(got["bundle"]))
	if err != nil {
		return badInput("the bundle can not be used: %v", err)
	}
	a, err := parseAgent(yaml, sourceUpload)
	if err != nil {
		return badInput("the bundle can not be used: %v", err)
	}
	if err := s.version(r.Context(), a); err != nil {
		return err
	}
	in.AgentID = a.ID
	ses, err := s.create(r.Context(), principal(r), in, settings)
	if err != nil {
		return err
	}
	answer(w, s.log, http.StatusCreated, dict{"session_id": ses.ID, "agent_id": a.ID, "agent_name": a.Name})
	return nil
}
