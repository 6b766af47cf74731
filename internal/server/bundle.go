package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/outrunner/outrunner/internal/agentspec"
	"github.com/outrunner/outrunner/runner/wire"
)

// createFromBundle takes the parts metadata (JSON) and bundle (a gzip tar of an
// agent and its sub-agents). Equal files give the same agent.
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
	a, err := s.upload(r.Context(), got["bundle"])
	if err != nil {
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

// upload makes an agent of a bundle. Its sender is not trusted: it is unpacked
// under the rules of package agentspec, into a folder that goes away again, and
// the bytes are stored as they came.
func (s *Server) upload(ctx context.Context, bundle []byte) (a *agent, err error) {
	parent, err := os.MkdirTemp("", "outrunner-upload-*")
	if err != nil {
		return nil, fmt.Errorf("unpacking an upload: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(parent)) }()
	dir := filepath.Join(parent, "agent")
	_, err = agentspec.Extract(bytes.NewReader(bundle), dir)
	if err == nil {
		a, err = loadUpload(dir, bundle)
	}
	if errors.Is(err, wire.ErrRejected) {
		return nil, badInput("the bundle can not be used: %v", err)
	}
	if err != nil {
		return nil, err
	}
	return a, s.version(ctx, a)
}

// loadUpload reads an unpacked bundle; the agent's id follows from its files.
func loadUpload(dir string, bundle []byte) (*agent, error) {
	spec, err := agentspec.Load(dir)
	if err != nil {
		return nil, err
	}
	digest, err := contentDigest(bundle)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", wire.ErrRejected, err)
	}
	return newAgent(spec, digest, sourceUpload, func() ([]byte, error) { return bundle, nil }), nil
}
