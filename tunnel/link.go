package tunnel

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// link is one tunnel connection, the part that both ends share: the WebSocket,
// the pipe below it, the writer, the reader and the watch over its life. It
// ends once, for one Reason, whoever notices first.
type link struct {
	runner string
	log    *slog.Logger
	timing Timing
	out    *writer

	ws   *websocket.Conn
	pipe *pipe

	done     chan struct{} // closed when the link is over; late frames mean nothing then
	mu       sync.Mutex
	reason   Reason // valid once done is closed
	over     bool
	finished bool           // no new helpers
	helpers  sync.WaitGroup // close handshakes
	lastByte lastByte
}

func newLink(runner string, l Limits, t Timing, masked bool, log *slog.Logger) *link {
	return &link{runner: runner, log: log, timing: t, out: newWriter(l, masked), done: make(chan struct{})}
}

// onPing is the library's callback. It must answer false: the library would
// answer in the reader, which may not wait for a slow peer.
func (l *link) onPing(_ context.Context, payload []byte) bool {
	select {
	case <-l.done: // what came before it may not have been taken, so it must not be confirmed
	default:
		l.out.pongs.owe(payload)
	}
	l.out.wakeUp()
	return false
}

// onPong is the library's callback.
func (l *link) onPong(_ context.Context, payload []byte) { l.out.ponged(payload) }

// serve runs the link until it ends and says why. handle gets every message,
// from one goroutine; it must not wait and not keep the bytes. What serve
// started is gone when it returns, but for the close handshake of wait.
func (l *link) serve(clock clock, handle func(data []byte, text bool)) Reason {
	var running sync.WaitGroup
	running.Go(func() { l.out.run(l.ws, l.pipe) })
	running.Go(func() { l.watch(clock) })
	err := l.read(handle)
	l.end(readReason(err))
	// Lets a last close frame out and frees the library's buffers; it does not
	// wait, because the pipe does not. Its error is the end we know of.
	_ = l.ws.CloseNow()
	running.Wait()
	return l.why()
}

// wait returns when the close handshakes are over too, and allows no more.
func (l *link) wait() {
	l.mu.Lock()
	l.finished = true
	l.mu.Unlock()
	l.helpers.Wait()
}

// end marks the link as over. Only the first reason counts.
func (l *link) end(r Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over, l.reason = true, r
		close(l.done)
	}
}

// why returns the reason of a link that is over.
func (l *link) why() Reason {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reason
}

// lost is the error of what the end of the link cut.
func (l *link) lost(unsent bool) *LostError {
	<-l.done // whoever asks may have noticed first, by the writer's end
	return &LostError{RunnerID: l.runner, Reason: l.why(), Unsent: unsent}
}

// close ends the link with a close frame. The handshake takes up to 5 s in a
// goroutine of its own, since the caller may be the reader.
func (l *link) close(r Reason, code int, text string) {
	l.end(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished {
		return
	}
	l.helpers.Go(func() {
		_ = l.ws.Close(websocket.StatusCode(code), closeText(text)) // over either way
		l.pipe.abort()
	})
}

// abort ends the link without a farewell.
func (l *link) abort(r Reason) {
	l.end(r)
	l.pipe.abort()
}

// readReason classifies the reader's last error.
func readReason(err error) Reason {
	var ce websocket.CloseError
	switch {
	case errors.As(err, &ce):
		return Reason{Cause: CauseClosed, Code: int(ce.Code), Text: ce.Reason}
	case errors.Is(err, websocket.ErrMessageTooBig):
		return Reason{Cause: CauseProtocol, Code: int(websocket.StatusMessageTooBig), Text: err.Error()}
	}
	return Reason{Cause: CauseLost, Text: err.Error()}
}

// clock gives the wall clock's and the monotonic clock's reading; tests give
// their own.
type clock func() (wall, mono time.Duration)

// machineClock reads the machine's. The monotonic one stops while the machine
// sleeps, the other does not.
func machineClock() clock {
	start := time.Now()
	return func() (wall, mono time.Duration) {
		now := time.Now()
		return time.Duration(now.Round(0).UnixNano()), now.Sub(start)
	}
}
