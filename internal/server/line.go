package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/outrunner/outrunner/internal/server/store"
)

// line is a session's traffic with its runner over one connection: one
// goroutine reads the session's stream (this file), one forwards its messages
// (forward.go). It ends with the connection.
type line struct {
	s        *Server
	presence *presence
	session  string
	before   *line // over an older connection; it ends before this one begins
	cancel   context.CancelFunc
	done     chan struct{}

	wakeRelay, wakeForward chan struct{}

	mu   sync.Mutex
	open chan struct{} // closed while the runner's stream is open
}

func newLine(s *Server, pr *presence, session string, before *line) *line {
	return &line{s: s, presence: pr, session: session, before: before, done: make(chan struct{}), open: make(chan struct{}),
		wakeRelay: make(chan struct{}, 1), wakeForward: make(chan struct{}, 1)}
}

func (l *line) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// wake says that there may be a message to forward.
func (l *line) wake() {
	for _, c := range []chan struct{}{l.wakeRelay, l.wakeForward} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (l *line) run(ctx context.Context) {
	if l.before != nil {
		<-l.before.done // soon: its connection is lost, or it was cancelled
		l.before = nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { l.forward(ctx) })
	l.relay(ctx)
	wg.Wait()
}

// errStreamOver says that the runner ended the stream with [DONE]: it stays
// closed until there is a message.
var errStreamOver = errors.New("the runner ended the stream")

// relay keeps the session's stream open as long as the connection lives.
func (l *line) relay(ctx context.Context) {
	timing := l.s.cfg.Timing
	wait := timing.RelayRetry
	for {
		heard, err := l.readStream(ctx)
		l.setOpen(false)
		if heard {
			wait = timing.RelayRetry
		}
		switch {
		case ctx.Err() != nil || errors.Is(err, store.ErrNotFound):
			return
		case errors.Is(err, errStreamOver):
			if !l.sleep(ctx, l.wakeRelay, nil) {
				return
			}
		default:
			if !l.lostNow() {
				l.s.log.Warn("a session's stream broke", "session", l.session, "runner", l.presence.runner, "retry_in", wait, "error", err)
			}
			retry := time.NewTimer(wait)
			wait = min(2*wait, timing.ForwardRetryMax)
			ok := l.sleep(ctx, nil, retry.C)
			retry.Stop()
			if !ok {
				return
			}
		}
	}
}

// sleep waits for a wake or a timer, and says whether the line goes on.
func (l *line) sleep(ctx context.Context, wake <-chan struct{}, timer <-chan time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-l.presence.lost:
		return false
	case <-wake:
	case <-timer:
	}
	return !l.lostNow()
}

func (l *line) lostNow() bool {
	select {
	case <-l.presence.lost:
		return true
	default:
		return false
	}
}

// readStream opens the stream once and relays what comes, until it ends; heard
// says that something came. It is not cut when the connection is lost: what was
// received is read to its end.
func (l *line) readStream(ctx context.Context) (heard bool, err error) {
	streaming, cut := context.WithCancel(ctx)
	defer cut()
	silence := time.AfterFunc(l.s.cfg.Timing.RelayFirst, cut)
	defer silence.Stop()
	req, err := http.NewRequestWithContext(streaming, http.MethodGet, runnerURL(l.session, "/stream"), nil)
	if err != nil {
		return heard, fmt.Errorf("opening the stream: %w", err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := l.presence.client.Do(req)
	if err != nil {
		return heard, fmt.Errorf("opening the stream: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return heard, fmt.Errorf("opening the stream: the runner answered %s", res.Status)
	}
	events := newEventReader(res.Body)
	for {
		data, err := events.next()
		if errors.Is(err, io.EOF) {
			return heard, errors.New("the stream ended without [DONE]")
		}
		if err != nil {
			return heard, fmt.Errorf("reading the stream: %w", err)
		}
		silence.Stop() // storing may take its time
		heard = true
		l.setOpen(true)
		if string(data) == "[DONE]" {
			return heard, errStreamOver
		}
		if err := l.take(ctx, data); err != nil {
			return heard, err
		}
		silence.Reset(l.s.cfg.Timing.RelaySilence)
	}
}

// take relays one event. While the database fails it is tried again: the
// runner may never tell it a second time.
func (l *line) take(ctx context.Context, data []byte) error {
	for {
		err := l.s.relayEvent(context.WithoutCancel(ctx), l.session, data)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrNotFound):
			return err
		case !errors.Is(err, store.ErrUnavailable):
			l.s.log.Warn("event of a runner is of no use", "session", l.session, "runner", l.presence.runner, "error", err)
			return nil
		}
		l.s.log.Error("storing an event of a runner", "session", l.session, "error", err)
		retry := time.NewTimer(l.s.cfg.Timing.StorageRetry)
		select {
		case <-ctx.Done():
			retry.Stop()
			return ctx.Err()
		case <-retry.C:
		}
	}
}

func (l *line) setOpen(open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
		if !open {
			l.open = make(chan struct{})
		}
	default:
		if open {
			close(l.open)
		}
	}
}

func (l *line) opened() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// runnerURL is a session's path at its runner; the host is of no meaning.
func runnerURL(session, rest string) string { return "http://runner/v1/sessions/" + session + rest }
