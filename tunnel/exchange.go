package tunnel

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// exchange is one request of the server and its answer. The reader feeds it
// and never waits; the caller of RoundTrip and of the body's Read consumes it.
type exchange struct {
	id     string
	end    *serverEnd
	ticket ticket // of the request frame
	in     *inbox[[]byte]

	mu   sync.Mutex
	head *http.Response
	err  error         // set when the answer is over; io.EOF for a clean end
	gate chan struct{} // closed once head or err is set
}

func newExchange(e *serverEnd, id string) *exchange {
	return &exchange{id: id, end: e, in: newInbox[[]byte](e.limits.ReceiveStream, e.received), gate: make(chan struct{})}
}

func (x *exchange) onHead(f ResponseHead) {
	if x == nil {
		return
	}
	status, ok := f.Status.Int64()
	if !ok || status < 200 || status > 999 {
		x.spoil("invalid status " + f.Status.String())
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.head != nil || x.err != nil { // a second head is ignored (tunnel.md 6)
		return
	}
	h := httpHeader(f.Headers)
	x.head = &http.Response{
		Status:     strconv.FormatInt(status, 10) + " " + http.StatusText(int(status)),
		StatusCode: int(status),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        h,
		ContentLength: contentLength(h),
	}
	close(x.gate)
}

// contentLength is what the answer declares, -1 if nothing sensible.
func contentLength(h http.Header) int64 {
	n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func (x *exchange) onBody(f ResponseBody) {
	if x == nil {
		return
	}
	b, err := DecodeBody(f.Body, f.Encoding)
	switch {
	case err != nil:
		x.spoil(err.Error())
	case !x.hasHead():
		x.spoil("runner sent response.body before response.head")
	case len(b) > 0:
		x.take(b)
	}
}

// take queues a piece of the body for the reader of the answer.
func (x *exchange) take(b []byte) {
	fit := x.in.put(b, len(b))
	if fit == overTotal {
		x.end.relieve()
		fit = x.in.put(b, len(b))
	}
	if fit != fits {
		x.tooSlow()
	}
}

// tooSlow gives up an answer whose reader does not keep up. What waits stays
// readable.
func (x *exchange) tooSlow() {
	x.end.link.log.Warn("answer given up: its reader is too slow", "request", x.id)
	x.cancel(errSlowReader(), "slow_consumer")
}

func errSlowReader() error {
	return &RefusedError{Status: http.StatusServiceUnavailable, Reason: "the answer's reader is too slow"}
}

// held and overflow make it a receiver.
func (x *exchange) held() int { return x.in.held() }
func (x *exchange) overflow() {
	x.tooSlow()
	x.in.drop(errSlowReader())
}

func (x *exchange) onEnd(f ResponseEnd) {
	switch {
	case x == nil:
	case f.Error != nil:
		x.finish(&StreamError{Text: *f.Error})
	case !x.hasHead():
		x.finish(&StreamError{Text: "runner sent response.end before response.head"})
	default:
		x.finish(io.EOF)
	}
}

func (x *exchange) hasHead() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.head != nil
}

// spoil ends an answer that makes no sense; the tunnel is well.
func (x *exchange) spoil(text string) {
	if x != nil {
		x.cancel(&StreamError{Text: text}, "protocol_error")
	}
}

// finish ends the answer; what came before is still readable. It reports false
// if the answer was over already. Only the first end counts.
func (x *exchange) finish(err error) bool {
	x.mu.Lock()
	first := x.err == nil
	if first {
		x.err = err
		if x.head == nil {
			close(x.gate)
		}
	}
	x.mu.Unlock()
	if first {
		x.end.remove(x)
		x.in.end(err)
	}
	return first
}

// cancel ends an answer that is not wanted any more: the request is recalled if
// it is still in the queue, else the runner is told.
func (x *exchange) cancel(err error, reason string) {
	if !x.finish(err) {
		return
	}
	if !x.end.link.out.recall(&x.end.requests, &x.ticket) {
		x.end.link.out.control(RequestCancel{ID: x.id, Reason: reason})
	}
}

// giveUp is cancel for a caller who is gone, and frees what still waits.
func (x *exchange) giveUp(err error) {
	x.cancel(err, "client_disconnected")
	x.in.drop(err)
}

// answer waits for the head.
func (x *exchange) answer(ctx context.Context) (*http.Response, error) {
	select {
	case <-x.gate:
	case <-ctx.Done():
		x.giveUp(context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.head == nil {
		return nil, x.err
	}
	return x.head, nil
}

// exchangeBody is the body of the answer as RoundTrip returns it.
type exchangeBody struct {
	x    *exchange
	rest []byte
	stop func() bool // the watch over the request's context
}

// Read implements io.Reader. After what came, it fails with a *StreamError, a
// *LostError, a *RefusedError, or the cause of the request's context.
func (b *exchangeBody) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		chunk, err := b.x.in.take(context.Background()) // end wakes it
		if err != nil {
			return 0, err
		}
		b.rest = chunk
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// errBodyClosed is the answer to a Read after Close.
var errBodyClosed = errors.New("tunnel: read on a closed response body")

// Close implements io.Closer. Closed before its end, it cancels the request.
func (b *exchangeBody) Close() error {
	b.stop()
	b.x.giveUp(errBodyClosed)
	return nil
}
