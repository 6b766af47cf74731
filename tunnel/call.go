package tunnel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
)

// errShutdown is the cause of handlers' contexts when this end stops.
var errShutdown = errors.New("the runner is shutting down")

type contextKey int

const (
	admissionKey contextKey = iota
	generationKey
)

// admission is how a handler reaches its place in the dispatcher.
type admission struct {
	d    *dispatcher
	call *call
}

// Admitted is called by a handler to say that the next request of the same
// order key may start. Writing the head and returning say it too. Before it, a
// handler must not wait for anything that arrives by the tunnel. Outside a
// tunnel's handler it does nothing.
func Admitted(ctx context.Context) {
	if a, ok := ctx.Value(admissionKey).(admission); ok {
		a.d.admit(a.call)
	}
}

// Generation returns the number of the tunnel connection on which the request
// of ctx came, counted from 1; 0 outside a tunnel's handler.
func Generation(ctx context.Context) uint64 {
	gen, _ := ctx.Value(generationKey).(uint64)
	return gen
}

// newCall prepares a request as the handler will see it, but for its body.
func newCall(ctx context.Context, d *dispatcher, f Request) *call {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{id: f.ID, frame: f, cancel: cancel}
	ctx = context.WithValue(ctx, admissionKey, admission{d, c})
	c.req = httpRequest(ctx, f)
	return c
}

// httpRequest builds the request of a frame. The path is decoded text already
// and is set as it stands; parsing it would decode it twice (tunnel.md 17, 6).
func httpRequest(ctx context.Context, f Request) *http.Request {
	r := &http.Request{
		Method: f.Method, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		URL:        &url.URL{Path: f.Path, RawQuery: f.QueryString},
		Header:     httpHeader(f.Headers),
		Body:       http.NoBody,
		RemoteAddr: "tunnel:0",
	}
	r.Host = r.Header.Get("Host")
	r.Header.Del("Host")
	r.RequestURI = r.URL.RequestURI()
	return r.WithContext(ctx)
}

// run serves one request with the handler, from start to end.
func (c *call) run(h http.Handler, l *link, d *dispatcher) {
	defer c.cancel(nil)
	defer d.finished(c)
	if c.req.Context().Err() != nil {
		return // it ended before it began: then it never begins
	}
	if c.frame.Body != nil {
		body, err := DecodeBody(*c.frame.Body, c.frame.Encoding)
		if err != nil {
			l.log.Warn("request body cannot be decoded", "request", c.id, "err", err)
			l.out.put(&c.out, errorAnswer(c.id, http.StatusBadRequest, "bad_request_body")...)
			return
		}
		c.frame.Body = nil // not needed twice
		c.req.Body, c.req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	w := newResponse(l, d, c)
	defer func() {
		v := recover()
		if err, ok := v.(error); v != nil && !(ok && errors.Is(err, http.ErrAbortHandler)) {
			l.log.Error("handler panicked", "request", c.id, "method", c.req.Method, "path", c.req.URL.Path,
				"panic", v, "stack", strings.TrimSpace(string(debug.Stack())))
		}
		w.finish(v != nil)
	}()
	h.ServeHTTP(w, c.req)
}
