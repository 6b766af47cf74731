package tunnel

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// chunkBytes is the most payload of one response.body frame.
const chunkBytes = 32 << 10

// errFinished is the answer to a write after the handler returned.
var errFinished = errors.New("the handler has returned")

// response is the http.ResponseWriter of one request. Like net/http's it
// gathers what is written until a chunk is full, Flush is called, or the
// handler returns. Unlike it, its methods may be called by several goroutines.
type response struct {
	link *link
	d    *dispatcher
	call *call
	head http.Header

	mu       sync.Mutex
	status   int // 0 until WriteHeader
	wire     []Header
	headSent bool
	text     bool
	cut      textCutter
	buf      []byte
	finished bool
}

func newResponse(l *link, d *dispatcher, c *call) *response {
	return &response{link: l, d: d, call: c, head: http.Header{}, cut: textCutter{max: chunkBytes}}
}

// Header implements http.ResponseWriter.
func (r *response) Header() http.Header { return r.head }

// WriteHeader implements http.ResponseWriter. It admits the request.
func (r *response) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeHeader(status)
}

func (r *response) writeHeader(status int) {
	if r.status != 0 || status < 200 { // informational answers have no frame
		return
	}
	r.status = status
	r.wire = wireHeaders(r.head)
	r.text = TextContent(r.head.Get("Content-Type"), true)
	r.d.admit(r.call)
}

// Write implements http.ResponseWriter. It blocks while the stream is over its
// bound. It fails with a *CanceledError after a request.cancel, with a
// *LostError once the tunnel is gone.
func (r *response) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return 0, errFinished
	}
	r.writeHeader(http.StatusOK)
	if !r.hasBody() {
		if r.call.req.Method == http.MethodHead {
			return len(p), nil
		}
		return 0, http.ErrBodyNotAllowed
	}
	n := 0
	for n < len(p) {
		m := min(len(p)-n, chunkBytes-len(r.buf))
		r.buf = append(r.buf, p[n:n+m]...)
		n += m
		if len(r.buf) == chunkBytes {
			if err := r.send(r.bodyFrames()); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// Flush implements http.Flusher.
func (r *response) Flush() { _ = r.FlushError() } // the next Write has the error again

// FlushError sends what was written so far; http.ResponseController finds it.
func (r *response) FlushError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return errFinished
	}
	r.writeHeader(http.StatusOK)
	return r.send(r.bodyFrames())
}

func (r *response) hasBody() bool {
	return r.call.req.Method != http.MethodHead &&
		r.status != http.StatusNoContent && r.status != http.StatusNotModified
}

// bodyFrames empties the buffer into frames; what the cutter holds back stays.
func (r *response) bodyFrames() []Frame {
	var frames []Frame
	rest := r.buf
	for len(rest) > 0 {
		chunk := rest
		if r.text {
			chunk, rest = r.cut.next(rest)
		} else {
			rest = nil
		}
		frames = r.appendBody(frames, chunk)
	}
	r.buf = r.buf[:0]
	return frames
}

func (r *response) appendBody(frames []Frame, chunk []byte) []Frame {
	if len(chunk) == 0 {
		return frames
	}
	body, encoding := EncodeBody(chunk, r.text)
	return append(frames, ResponseBody{ID: r.call.id, Body: body, Encoding: encoding})
}

// headFrames is the head, the first time.
func (r *response) headFrames() []Frame {
	if r.headSent {
		return nil
	}
	r.headSent = true
	return []Frame{ResponseHead{ID: r.call.id, Status: IntOf(int64(r.status)), Headers: r.wire}}
}

// send queues frames behind the head.
func (r *response) send(body []Frame) error {
	frames := append(r.headFrames(), body...)
	if len(frames) == 0 {
		return r.lost()
	}
	return r.explain(r.link.out.push(r.call.req.Context(), &r.call.out, frames...))
}

// lost is the error of a stream that takes nothing any more.
func (r *response) lost() error {
	select {
	case <-r.link.done:
		return r.link.lost(false)
	default:
		return nil
	}
}

// explain gives the package's own errors their public form.
func (r *response) explain(err error) error {
	switch {
	case errors.Is(err, errDead):
		return r.link.lost(false)
	case errors.Is(err, errAborted):
		return context.Cause(r.call.req.Context())
	}
	return err
}

// finish ends the answer of a handler that returned. panicked tells that it
// did not mean to.
func (r *response) finish(panicked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = true
	out := r.link.out
	if panicked && !r.headSent {
		out.put(&r.call.out, errorAnswer(r.call.id, http.StatusInternalServerError, "runner_dispatch_failed")...)
		return
	}
	r.writeHeader(http.StatusOK)
	// An answer of which nothing had left yet is whole, even if the tunnel is
	// draining; one that was being streamed was cut.
	cause := context.Cause(r.call.req.Context())
	cut := panicked || r.headSent && cause != nil
	frames := append(r.headFrames(), r.bodyFrames()...)
	frames = r.appendBody(frames, r.cut.finish())
	if !cut {
		out.put(&r.call.out, append(frames, ResponseEnd{ID: r.call.id})...)
		return
	}
	word := "runner_stream_error"
	if errors.Is(cause, errShutdown) {
		word = "runner_shutdown"
	}
	out.put(&r.call.out, append(frames, ResponseEnd{ID: r.call.id, Error: &word})...)
}

// cover sends what was written so far and has fn called once a pong covers it.
func (r *response) cover(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return
	}
	r.writeHeader(http.StatusOK)
	frames := r.appendBody(r.bodyFrames(), r.cut.finish())
	if r.send(frames) == nil {
		r.link.out.putMark(&r.call.out, fn)
	}
}

// OnCovered has fn called, once and quickly, when the peer has provably read
// everything written to w so far; a ping for the proof goes out behind those
// bytes. fn runs on the reader's goroutine and must not wait. It never runs if
// the tunnel or the request ends first, or the handler has returned. OnCovered
// reports false when w, or what it wraps, is not a tunnel's.
func OnCovered(w http.ResponseWriter, fn func()) bool {
	for {
		switch t := w.(type) {
		case *response:
			t.cover(fn)
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
}
