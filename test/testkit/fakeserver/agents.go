package fakeserver

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"slices"
)

// agent is a bundle.
type agent struct {
	name     string
	bundle   []byte
	revision string
}

// AddAgent adds an agent, or replaces it: its name, and the files of its bundle
// by their paths ("config.yaml", "agents/worker/config.yaml").
func (s *Server) AddAgent(id, name string, files map[string]string) {
	s.t.Helper()
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	archive := tar.NewWriter(zip)
	for _, p := range slices.Sorted(maps.Keys(files)) {
		err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: p, Size: int64(len(files[p])), Mode: 0o644})
		s.must(err)
		_, err = archive.Write([]byte(files[p]))
		s.must(err)
	}
	s.must(errors.Join(archive.Close(), zip.Close()))
	sum := sha256.Sum256(buf.Bytes())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents[id] = &agent{name: name, bundle: buf.Bytes(), revision: id + "/" + hex.EncodeToString(sum[:])}
}

// contents is GET /v1/sessions/{id}/agent/contents.
func (s *Server) contents(w http.ResponseWriter, _ *http.Request, ses *Session) {
	s.mu.Lock()
	a := s.agents[ses.AgentID]
	s.mu.Unlock()
	if a == nil {
		refuse(w, http.StatusNotFound, "not_found", "the session has no agent")
		return
	}
	w.Header().Set("Content-Type", "application/gzip")
	_, _ = w.Write(a.bundle) // the runner may have gone
}
