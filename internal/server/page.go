package server

import (
	"net/http"
	"strings"
)

// apiPrefixes begin the paths that are no pages (server.md 9).
var apiPrefixes = []string{"/v1", "/api", "/auth", "/oauth", "/health", "/.well-known"}

// isPage says whether a request is for something that a person looks at: the
// pages' own routes are theirs, so every path that is not the API's is one.
func isPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for _, p := range apiPrefixes {
		if r.URL.Path == p || strings.HasPrefix(r.URL.Path, p+"/") {
			return false
		}
	}
	return true
}

// page answers what no other route does: the pages, or a 404 of the API.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	if !isPage(r) {
		return s.notFound(w, r)
	}
	s.pages.ServeHTTP(w, r)
	return nil
}
