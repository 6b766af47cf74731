package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// streamSilence is how long a stream may be quiet before it counts as lost;
// the server says something every 15 s.
const streamSilence = 45 * time.Second

var errSilent = errors.New("the stream went silent")

// Stream is a session's open event stream.
type Stream struct {
	// Resync says that the server does not have everything since the event
	// that was named: what was missed must be read from the items.
	Resync bool
	// At is the id of the newest event when the stream was opened, "" when the
	// server does not say: where to go on if it breaks before the first id.
	At string

	ctx     context.Context //nolint:containedctx // it is the life of the response body
	body    io.ReadCloser
	events  *reader
	silence *time.Timer
	limit   time.Duration
	cancel  context.CancelCauseFunc
}

// Open opens a session's stream. It starts after the event last; "0" is before
// the first, "" is now.
func (c *Client) Open(ctx context.Context, session, last string) (*Stream, error) {
	return c.open(ctx, session, last, streamSilence)
}

func (c *Client) open(ctx context.Context, session, last string, limit time.Duration) (*Stream, error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	if last != "" {
		header.Set("Last-Event-ID", last)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	silence := time.AfterFunc(limit, func() { cancel(errSilent) })
	response, err := c.do(ctx, http.MethodGet, sessionPath(session, "/stream"), header, nil) //nolint:bodyclose // Close does
	if err != nil {
		silence.Stop()
		cancel(nil)
		return nil, fmt.Errorf("opening the stream of session %s: %w", session, err)
	}
	return &Stream{
		Resync: response.Header.Get("X-Outrunner-Resync") != "",
		At:     response.Header.Get("X-Outrunner-Event-Id"),
		ctx:    ctx, body: response.Body, events: newReader(response.Body),
		silence: silence, limit: limit, cancel: cancel,
	}, nil
}

// Next returns the next event. Every error ends the stream; all but the
// context's wrap ErrUnreachable: the stream can be opened again.
func (s *Stream) Next() (Event, error) {
	ev, err := s.events.next()
	if err != nil {
		cause := context.Cause(s.ctx)
		switch {
		case errors.Is(cause, errSilent):
			err = errSilent
		case cause != nil:
			return Event{}, cause
		}
		return Event{}, fmt.Errorf("%w: the stream broke off: %w", ErrUnreachable, err)
	}
	s.silence.Reset(s.limit)
	return ev, nil
}

// Close ends the stream.
func (s *Stream) Close() {
	s.silence.Stop()
	s.cancel(nil)
	_ = s.body.Close() // the connection is given up
}
