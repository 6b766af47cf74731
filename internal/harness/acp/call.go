package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/outrunner/outrunner/internal/harness/keep"
)

var (
	// errGone: the program has ended, or is about to; how the turn ended is not
	// for its conversation to say.
	errGone = errors.New("the program is gone")
	// errLate: an answer did not come in time.
	errLate = errors.New("did not answer")
)

// call is a request of ours. There is one at a time.
type call struct {
	id   []byte        // known once it is on its way
	sent func()        // called when it goes out, before anything can answer it
	done chan struct{} // closed when its answer was taken
}

// request sends a request and waits for the answer, for as long as told; 0 is for
// ever. sent and taken may be nil; taken is called when the answer has been
// taken and before the next line is.
func request(ctx context.Context, s *peer, limit time.Duration, method string, params any, sent, taken func()) (json.RawMessage, error) {
	if limit > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	c := &call{sent: sent, done: make(chan struct{})}
	s.mu.Lock()
	s.call = c
	s.mu.Unlock()
	defer close(c.done)
	result, err := acp.SendRequest[json.RawMessage](s.conn, ctx, method, params)
	if taken != nil {
		taken()
	}
	switch {
	case err == nil:
		return result, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%w %s for %v", errLate, method, limit)
	case ctx.Err() != nil || s.over():
		return nil, errGone
	}
	return nil, err
}

// over tells whether the program has written its last line.
func (s *peer) over() bool {
	select {
	case <-s.conn.Done():
		return true
	default:
		return false
	}
}

// answered hands an answer to the connection and waits until it is taken, so
// that the line after it finds the turn where it belongs.
func (s *peer) answered(id json.RawMessage, line []byte) {
	s.mu.Lock()
	c := s.call
	ours := c != nil && bytes.Equal(bytes.TrimSpace(id), c.id)
	s.mu.Unlock()
	s.forward(line)
	if ours {
		<-c.done
	}
}

// writer is where the connection writes, whole lines.
type writer struct{ s *peer }

// Write has the program read a line. A program that does not read breaks the
// turn.
func (w writer) Write(line []byte) (int, error) {
	w.s.going(line)
	n, err := w.s.p.Write(line)
	if errors.Is(err, keep.ErrNotReading) {
		if r := w.s.turn(); r != nil {
			r.Break(err)
		}
	}
	return n, err
}

// going notes the id of a request that goes out.
func (s *peer) going(line []byte) {
	s.mu.Lock()
	c := s.call
	s.mu.Unlock()
	if c == nil {
		return
	}
	select {
	case <-c.done:
		return
	default:
	}
	m, err := parse(line)
	if err != nil || m.Method == "" || !m.hasID() {
		return // an answer, or a notification
	}
	s.mu.Lock()
	c.id = bytes.Clone(m.ID)
	s.mu.Unlock()
	if c.sent != nil {
		c.sent()
	}
}
