package modelmock

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Model is the only model.
const Model = "mock-model"

// Greeting is what it says when nothing else was asked for.
const Greeting = "Hello from the model."

// Server is the API of a model. Make it with New.
type Server struct {
	// URL is the base of the API, with its /v1.
	URL string

	mu    sync.Mutex
	asked []string // the last user message of each request with tools
	cuts  int      // answers that were not read to their end
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"` + Model + `","object":"model"}]}`))
	})
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	s.URL = h.URL + "/v1"
	return s
}

// Asked are the last messages of the user, one for each request with tools.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Cuts counts the answers that were cut before their end.
func (s *Server) Cuts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cuts
}

// request is what matters of one.
type request struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// text is a content, a string or a list of blocks.
func text(content json.RawMessage) string {
	var whole string
	if json.Unmarshal(content, &whole) == nil {
		return whole
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &blocks) // another form has no text
	var all []string
	for _, b := range blocks {
		all = append(all, b.Text)
	}
	return strings.Join(all, "\n")
}

// said are the texts of a role, in order.
func (r request) said(role string) (texts []string) {
	for _, m := range r.Messages {
		if m.Role == role {
			texts = append(texts, text(m.Content))
		}
	}
	return texts
}

// last is the last text of a role, "" when there is none.
func (r request) last(role string) string {
	if texts := r.said(role); len(texts) > 0 {
		return texts[len(texts)-1]
	}
	return ""
}
