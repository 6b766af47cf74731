package fakeserver

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// maxEvent bounds a line of a stream, in bytes.
const maxEvent = 16 << 20

// Watch keeps the session's stream open, on this connection and every later
// one, as a real server does for every session that is bound to the runner.
func (s *Server) Watch(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.sessions[session]
	if ses.watched {
		return
	}
	ses.watched = true
	if s.conn != nil {
		s.relay(s.conn, ses)
	}
}

// relay reads a session's stream for as long as the connection lives, and then
// what is left of it: what has come by the tunnel has come. The relay of an older
// connection ends first, so that the events stay in order.
func (s *Server) relay(conn context.Context, ses *Session) {
	before, done := ses.relayed, make(chan struct{})
	ses.relayed = done
	s.running.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		for conn.Err() == nil && s.read(ses) {
		}
	})
}

// Stream opens a session's stream for this connection alone, and returns the
// head of the answer.
func (s *Server) Stream(session string) (status int, kind string) {
	s.t.Helper()
	s.mu.Lock()
	ses := s.sessions[session]
	s.mu.Unlock()
	res, err := s.open(s.ctx, http.MethodGet, "/v1/sessions/"+session+"/stream", nil)
	require.NoError(s.t, err)
	s.running.Go(func() { s.drain(res, ses) })
	return res.StatusCode, res.Header.Get("Content-Type")
}

// read reads a stream to its end. It returns false when no other is wanted.
func (s *Server) read(ses *Session) (again bool) {
	res, err := s.open(s.ctx, http.MethodGet, "/v1/sessions/"+ses.ID+"/stream", nil) //nolint:bodyclose // drain closes it
	return err == nil && s.drain(res, ses)                                           // an error means that the connection is over
}

// drain takes the events of a stream. It returns false after the last of all.
func (s *Server) drain(res *http.Response, ses *Session) (again bool) {
	defer func() { _ = res.Body.Close() }() // left in the middle, or at its end
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return false
		}
		var ev Dict
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			s.t.Errorf("the stream of %s has what is no event: %s", ses.ID, data)
			return false
		}
		s.take(ses, ev)
	}
	return true
}

// take records an event, and lets it change the session's status.
func (s *Server) take(ses *Session, ev Dict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ev["type"] == "session.heartbeat" {
		return
	}
	ses.events = append(ses.events, ev)
	if ev["type"] == "session.status" {
		ses.Status, _ = ev["status"].(string)
		ses.Error, _ = ev["error"].(Dict)
	}
}

// Events are the events of the session's stream so far.
func (s *Server) Events(session string) []Dict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sessions[session].events)
}

// Ends are the terminal responses that name the item, by status, each response
// once: one is right.
func (s *Server) Ends(session, item string) []string {
	seen := map[any]bool{}
	var ends []string
	for _, ev := range s.Events(session) {
		status, _ := strings.CutPrefix(ev["type"].(string), "response.")
		inputs, _ := ev["input_item_ids"].([]any)
		if !slices.Contains([]string{"completed", "failed", "cancelled", "incomplete"}, status) || !slices.Contains(inputs, any(item)) {
			continue
		}
		response, _ := ev["response"].(Dict)
		if id := response["id"]; !seen[id] {
			seen[id] = true
			if e, ok := response["error"].(Dict); ok {
				status += ":" + e["code"].(string)
			}
			ends = append(ends, status)
		}
	}
	return ends
}

// Ended waits until the message has an outcome, and returns it.
func (s *Server) Ended(session, item string) string {
	s.t.Helper()
	s.Until(func() bool { return len(s.Ends(session, item)) > 0 }, "the message has no outcome")
	ends := s.Ends(session, item)
	if len(ends) != 1 {
		s.t.Fatalf("outcomes of one message: %v", ends)
	}
	return ends[0]
}
