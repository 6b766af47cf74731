package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/keep"
)

// maxRequests bounds what an agent asks at once.
const maxRequests = 64

// cancelRequest is the one notification that the library handles itself.
const cancelRequest = "$/cancel_request"

// peer is our end of the protocol with one process.
type peer struct {
	p     *keep.Process
	lines *io.PipeWriter // to conn
	conn  *acp.Connection

	mu       sync.Mutex
	run      *Run // that has the process; nil between turns
	call     *call
	requests int // of the agent that are not answered yet

	agent // what is known of the program and its session
}

func newPeer(p *keep.Process) *peer {
	s := &peer{p: p}
	in, lines := io.Pipe()
	s.lines = lines
	s.conn = acp.NewConnection(s.handle, writer{s}, in)
	s.conn.SetLogger(slog.New(slog.DiscardHandler)) // what is wrong with a line is said here
	return s
}

// take gives the process to a turn.
func (s *peer) take(r *Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = r
}

// release takes it away; what comes now belongs to nobody.
func (s *peer) release(r *Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r {
		s.run = nil
	}
}

// turn is the turn that has the process, or nil.
func (s *peer) turn() *Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// message is what all lines have in common.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// hasID tells a request or an answer from a notification.
func (m message) hasID() bool { return len(m.ID) > 0 && string(m.ID) != "null" }

var errNoMessage = errors.New("not a message of the protocol")

func parse(line []byte) (m message, err error) {
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' {
		return m, errNoMessage
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("%w: %w", errNoMessage, err)
	}
	if m.Method == "" && !m.hasID() {
		return m, errNoMessage
	}
	return m, nil
}

// Hear takes a line of the program. The goroutine that reads calls it.
func (s *peer) Hear(line []byte) {
	r := s.turn()
	if r != nil {
		if !r.Count(line) {
			return
		}
		r.Pulse.Pause()
		defer r.Pulse.Beat()
	}
	line = keep.Visible(line)
	m, err := parse(line)
	switch {
	case err != nil || len(line) > maxLine: // making bytes visible takes room
		if r != nil {
			r.skip(line, err)
		}
	case m.Method == "":
		s.answered(m.ID, line)
	case m.hasID():
		if s.admit() {
			s.forward(line)
		} else {
			s.tooMany(r)
		}
	case m.Method == cancelRequest:
		s.forward(line)
	case r == nil:
	case m.Method == acp.ClientMethodSessionUpdate:
		r.events++
		r.update(s, m.Params)
	default:
		r.events++ // of an extension, or newer than this
	}
}

// End comes after the last line.
func (s *peer) End() { _ = s.lines.Close() } // a pipe's writer closes without error

// forward hands a line to the connection. It fails when that has ended, and
// then nobody waits for anything.
func (s *peer) forward(line []byte) {
	_, _ = s.lines.Write(append(line[:len(line):len(line)], '\n'))
}

func (s *peer) admit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == maxRequests {
		return false
	}
	s.requests++
	return true
}

func (s *peer) tooMany(r *Run) {
	if r != nil {
		r.Break(fmt.Errorf("asked for more than %d things at once", maxRequests))
	} else {
		s.p.End(guard.Terminate)
	}
}

// handle answers a request of the agent.
func (s *peer) handle(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests--
	}()
	switch method {
	case acp.ClientMethodSessionRequestPermission:
		return s.permission(ctx, params)
	case acp.ClientMethodFsReadTextFile:
		return s.file(params, readFile)
	case acp.ClientMethodFsWriteTextFile:
		return s.file(params, writeFile)
	}
	return nil, acp.NewMethodNotFound(method)
}
