package fakeserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
	"github.com/outrunner/outrunner/tunnel"
)

// Dict is a JSON object.
type Dict = map[string]any

// Server is the fake. Make it with New.
type Server struct {
	URL string

	t       testing.TB
	ctx     context.Context //nolint:containedctx // it is the life of the server
	running sync.WaitGroup

	mu       sync.Mutex
	line     *tunnel.Server  // takes the tunnels until the next Drop
	runner   string          // the id of the runner that is connected, "" for none
	conn     context.Context //nolint:containedctx // it is the life of the connection
	ups      int             // connections so far
	agents   map[string]*agent
	sessions map[string]*Session
	created  []string // sessions, in their order
	ids      int
	calls    []Call
	faults   []*fault
	verdicts []Dict // of the next policy questions; then everything is allowed
}

// Call is one request of the runner.
type Call struct {
	Method string
	Path   string
	Query  string
	Body   string
	Status int // 0 when there was no answer
	Rows   int // of a listing
}

// String is the call in one line.
func (c Call) String() string { return fmt.Sprintf("%s %s -> %d", c.Method, c.Path, c.Status) }

// New starts a server. It ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{t: t, ctx: ctx, agents: map[string]*agent{}, sessions: map[string]*Session{}}
	s.line = s.newLine()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/runners/{runner_id}/tunnel", s.tunnel)
	mux.Handle("/v1/", s.recorded(s.routes()))
	server := httptest.NewServer(mux)
	s.URL = server.URL
	t.Cleanup(func() {
		cancel()
		s.mu.Lock()
		line := s.line
		s.mu.Unlock()
		closeLine(t, line)
		server.Close()
		s.running.Wait()
	})
	return s
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/sessions", s.create)
	mux.HandleFunc("GET /v1/sessions/{id}", s.session((*Server).snapshot))
	mux.HandleFunc("PATCH /v1/sessions/{id}", s.session((*Server).patch))
	mux.HandleFunc("DELETE /v1/sessions/{id}", s.session((*Server).remove))
	mux.HandleFunc("GET /v1/sessions/{id}/items", s.session((*Server).items))
	mux.HandleFunc("GET /v1/sessions/{id}/child_sessions", s.session((*Server).children))
	mux.HandleFunc("GET /v1/sessions/{id}/agent/contents", s.session((*Server).contents))
	mux.HandleFunc("POST /v1/sessions/{id}/events", s.session((*Server).event))
	mux.HandleFunc("POST /v1/sessions/{id}/policies/evaluate", s.session((*Server).evaluate))
	mux.HandleFunc("POST /v1/sessions/{id}/mcp", s.session((*Server).tool))
	return mux
}

// session finds the session that a path names.
func (s *Server) session(serve func(*Server, http.ResponseWriter, *http.Request, *Session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		ses := s.sessions[r.PathValue("id")]
		s.mu.Unlock()
		if ses == nil {
			refuse(w, http.StatusNotFound, "not_found", "there is no such session")
			return
		}
		serve(s, w, r, ses)
	}
}

// recorded keeps what was asked, and breaks what a fault matches.
func (s *Server) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the runner has gone in the middle of its call
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.mu.Lock()
		n := len(s.calls)
		s.calls = append(s.calls, Call{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Body: string(body)})
		broken := s.match(r.Method, r.URL.Path)
		s.mu.Unlock()
		answered := &status{ResponseWriter: w, code: http.StatusOK}
		// Also when the answer is cut, which is a panic.
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.calls[n].Status, s.calls[n].Rows = answered.code, answered.rows
		}()
		if broken != nil {
			broken.how(answered, r)
			if !broken.then {
				return
			}
		}
		next.ServeHTTP(answered, r)
	})
}

// status remembers what was answered.
type status struct {
	http.ResponseWriter
	code int
	rows int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Calls are the runner's calls so far, in the order in which they came.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Until waits until ok says true. It holds no lock while it asks.
func (s *Server) Until(ok func() bool, what string) {
	s.t.Helper()
	testkit.Until(s.t, testkit.Patience, ok, testkit.Is(what))
}

func (s *Server) newID() string {
	s.ids++
	return fmt.Sprintf("%032x", 0x1d0000+s.ids)
}

func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		refuse(w, http.StatusUnprocessableEntity, "invalid_input", err.Error())
		return false
	}
	return true
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the runner may have gone
}

// list answers with a page.
func list(w http.ResponseWriter, page Dict, rows int) {
	if answered, ok := w.(*status); ok {
		answered.rows = rows
	}
	answer(w, http.StatusOK, page)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, Dict{"error": Dict{"code": code, "message": message}})
}

// must is for what cannot fail but by a mistake of the test's.
func (s *Server) must(err error) {
	s.t.Helper()
	require.NoError(s.t, err)
}
