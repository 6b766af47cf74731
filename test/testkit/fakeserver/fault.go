package fakeserver

import (
	"net/http"
	"path"
	"strconv"
)

// Fault is a way to answer wrongly.
type Fault func(w http.ResponseWriter, r *http.Request)

// The faults that a network, a proxy or a broken server make.
var (
	Hang      Fault = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	HTML      Fault = page("text/html", "<!doctype html><title>Sign in</title>")
	Array     Fault = page("application/json", `[{"id":"x"}]`)
	Empty     Fault = page("application/json", `{}`)
	Truncated Fault = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "400")
		_, _ = w.Write([]byte(`{"id":"`)) // the runner may have gone
		panic(http.ErrAbortHandler)
	}
)

// Answer refuses with a status.
func Answer(code int) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, code, "fault_"+strconv.Itoa(code), "this call was to fail")
	}
}

// Body answers 200 with a JSON body.
func Body(text string) Fault { return page("application/json", text) }

func page(kind, text string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(text)) // the runner may have gone
	}
}

// fault is a Fault and what it breaks.
type fault struct {
	method, pattern string
	left            int // how often still; negative is for ever
	how             Fault
	then            bool // then it is answered well
}

// Break has the next calls of a method to the paths of a pattern (package path)
// answered by the fault, times times, or for ever when that is 0. mend ends it.
func (s *Server) Break(method, pattern string, times int, how Fault) (mend func()) {
	f := &fault{method: method, pattern: pattern, left: times, how: how}
	if times == 0 {
		f.left = -1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		f.left = 0
	}
}

// Hold has the calls of a method to the paths of a pattern wait for their
// answers until release.
func (s *Server) Hold(method, pattern string) (release func()) {
	held := make(chan struct{})
	f := &fault{method: method, pattern: pattern, left: -1, then: true, how: func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		f.left = 0
		close(held)
	}
}

// match takes one call off the first fault that matches it.
func (s *Server) match(method, p string) *fault {
	for _, f := range s.faults {
		if ok, err := path.Match(f.pattern, p); err == nil && ok && f.left != 0 && f.method == method {
			if f.left > 0 {
				f.left--
			}
			return f
		}
	}
	return nil
}
