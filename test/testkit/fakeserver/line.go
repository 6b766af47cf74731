package fakeserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/config"
	"github.com/outrunner/outrunner/test/testkit"
	"github.com/outrunner/outrunner/tunnel"
)

// restarting is the close code of a server that stops and comes back.
const restarting = 1012

// closeWithin bounds the closing of a tunnel.
const closeWithin = 10 * time.Second

var errAway = errors.New("no runner is connected")

func (s *Server) newLine() *tunnel.Server {
	return &tunnel.Server{
		Authorize: func(r *http.Request, id string) (string, error) {
			if own, err := config.RunnerID(r.Header.Get("X-Omnigent-Runner-Tunnel-Token")); err != nil || own != id {
				return "", &tunnel.Refusal{Code: 4004, Reason: "runner_id does not match tunnel token"}
			}
			return "", nil
		},
		OnConnect: s.connected,
	}
}

func (s *Server) tunnel(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	line := s.line
	s.mu.Unlock()
	line.ServeHTTP(w, r)
}

// connected opens the streams that are watched, and notes when it is over.
func (s *Server) connected(ctx context.Context, info tunnel.RunnerInfo) {
	s.mu.Lock()
	s.runner, s.conn = info.ID, ctx
	s.ups++
	for _, ses := range s.sessions {
		if ses.watched {
			s.relay(ctx, ses)
		}
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == ctx {
		s.runner, s.conn = "", nil
	}
}

// Connected waits for the n-th connection, and until it is up. n counts from 1.
func (s *Server) Connected(n int) {
	s.t.Helper()
	s.Until(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.ups >= n && s.runner != ""
	}, "no runner is connected")
}

// Ups is how many connections there were.
func (s *Server) Ups() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ups
}

// Runner is the id of the runner that is connected.
func (s *Server) Runner() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runner
}

// Drop ends the connection as a server does that restarts.
func (s *Server) Drop() {
	s.t.Helper()
	s.mu.Lock()
	old := s.line
	s.line = s.newLine()
	s.mu.Unlock()
	closeLine(s.t, old)
}

func closeLine(t testing.TB, line *tunnel.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := line.Close(ctx, restarting); err != nil {
		t.Errorf("closing the tunnel: %v", err)
	}
}

// do sends a request through the tunnel and reads the whole answer.
func (s *Server) do(method, path string, body any) (int, string, error) {
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, "", err
		}
		payload = strings.NewReader(string(text))
	}
	ctx, cancel := context.WithTimeout(s.ctx, testkit.Patience)
	defer cancel()
	res, err := s.open(ctx, method, path, payload)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }() // read to its end, or failed already
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

func (s *Server) open(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://runner"+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	s.mu.Lock()
	line, runner := s.line, s.runner
	s.mu.Unlock()
	if runner == "" {
		return nil, errAway
	}
	return line.Transport(runner).RoundTrip(req)
}

// Do sends a request through the tunnel, and fails the test unless there is an
// answer.
func (s *Server) Do(method, path string, body any) (int, string) {
	s.t.Helper()
	code, text, err := s.do(method, path, body)
	require.NoError(s.t, err, "%s %s", method, path)
	return code, text
}

// Try is Do, but for an answer that may not come: the runner may die of it.
func (s *Server) Try(method, path string, body any) (int, string, error) {
	return s.do(method, path, body)
}

// forward is the body with which a message goes to the runner (sessions.md 2).
func (s *Server) forward(session, item string) Dict {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.sessions[session]
	body := Dict{"type": "message", "role": "user", "agent_id": orNull(ses.AgentID), "has_mcp_servers": false,
		"browser_renderer_available": false, "persisted_item_id": item}
	if a := s.agents[ses.AgentID]; a != nil {
		body["model"], body["agent_revision"] = a.name, a.revision
	}
	if ses.Override != "" {
		body["harness_override"] = ses.Override
	}
	for _, it := range ses.Items {
		if it["id"] == item {
			body["content"] = it["content"]
		}
	}
	return body
}

// Message is a user's message: an item, and the body of its forward.
func (s *Server) Message(session, text string) (item string, body Dict) {
	item = s.Say(session, text)
	return item, s.forward(session, item)
}

// Send is a user's message that is forwarded to the runner, which takes it.
func (s *Server) Send(session, text string) (item string) {
	s.t.Helper()
	item, body := s.Message(session, text)
	code, answer := s.Do(http.MethodPost, "/v1/sessions/"+session+"/events", body)
	require.Equal(s.t, http.StatusAccepted, code, answer)
	return item
}

// Tool runs a tool of the runner's for a session, and returns its output.
func (s *Server) Tool(session, name, op, args string) string {
	s.t.Helper()
	code, text := s.Do(http.MethodPost, "/v1/sessions/"+session+"/mcp/execute", toolCall(name, op, args))
	require.Equal(s.t, http.StatusOK, code, text)
	var ran struct {
		Result *struct{ Output string } `json:"result"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(text), &ran))
	require.NotNil(s.t, ran.Result, text)
	return ran.Result.Output
}

// TryTool is Tool, but for an answer that may not come.
func (s *Server) TryTool(session, name, op, args string) error {
	_, _, err := s.do(http.MethodPost, "/v1/sessions/"+session+"/mcp/execute", toolCall(name, op, args))
	return err
}
