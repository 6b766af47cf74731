package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRequestTime is how long a request may take to leave at the measured rate.
// smallRequest is the size up to which nobody asks.
const (
	maxRequestTime = 20 * time.Second
	smallRequest   = 256 << 10
)

type pinKey struct{}

// PinGeneration makes requests and channels with this context use the runner's
// connection of that generation only; if it is not the present one they fail
// with a *LostError before anything is sent.
func PinGeneration(ctx context.Context, gen uint64) context.Context {
	return context.WithValue(ctx, pinKey{}, gen)
}

// end returns the connection to use.
func (s *Server) end(ctx context.Context, runnerID string) (*serverEnd, error) {
	e := s.registry.get(runnerID)
	pin, pinned := ctx.Value(pinKey{}).(uint64)
	switch {
	case pinned && (e == nil || e.info.Generation != pin):
		return nil, &LostError{RunnerID: runnerID, Reason: Reason{Cause: CauseReplaced, Text: "the pinned tunnel is gone"}, Unsent: true}
	case e == nil:
		return nil, &OfflineError{RunnerID: runnerID}
	}
	return e, nil
}

// Transport returns a RoundTripper to the runner's handler, through whatever
// connection the runner has at each call. The request's host and scheme do not
// matter. Its errors are *OfflineError, *LostError, *StreamError, *RefusedError
// and the cause of the request's context; the body's Read has the last four
// too. When the context ends or the body is closed early, the runner is told.
func (s *Server) Transport(runnerID string) http.RoundTripper {
	return transport{server: s, runnerID: runnerID}
}

type transport struct {
	server   *Server
	runnerID string
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	e, err := t.server.end(ctx, t.runnerID)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as a RoundTripper must
		}
		return nil, err
	}
	body, err := readBody(req, e.limits.RequestBody)
	if err != nil {
		return nil, err
	}
	x, err := e.open()
	if err != nil {
		return nil, err
	}
	if err := e.send(ctx, x, requestFrame(x.id, req, body)); err != nil {
		return nil, err
	}
	resp, err := x.answer(ctx)
	if err != nil {
		return nil, err
	}
	resp.Request = req
	resp.Body = &exchangeBody{x: x, stop: context.AfterFunc(ctx, func() {
		x.giveUp(context.Cause(ctx))
	})}
	return resp, nil
}

// send queues the request frame, or ends the exchange.
func (e *serverEnd) send(ctx context.Context, x *exchange, f Request) error {
	msg := e.link.out.encode(f)
	if need := e.link.out.needs(len(msg)); len(msg) > smallRequest && need > maxRequestTime {
		err := &RefusedError{Status: http.StatusRequestEntityTooLarge, Reason: fmt.Sprintf(
			"the request of %d bytes would take %s at the tunnel's present rate", len(msg), need.Round(time.Second))}
		x.finish(err)
		return err
	}
	err := e.link.out.pushItems(ctx, &e.requests, []item{{msg: msg, ticket: &x.ticket}})
	if errors.Is(err, errDead) {
		err = e.link.lost(true)
	}
	if err != nil {
		x.finish(err)
	}
	return err
}

// readBody reads the whole body, since a request is one frame.
func readBody(req *http.Request, limit int) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, int64(limit)+1))
	closeErr := req.Body.Close()
	if err = errors.Join(err, closeErr); err != nil {
		return nil, fmt.Errorf("reading the request's body: %w", err)
	}
	if len(body) > limit {
		return nil, &RefusedError{Status: http.StatusRequestEntityTooLarge, Reason: fmt.Sprintf(
			"the request's body is over the limit of %d bytes", limit)}
	}
	return body, nil
}

// requestFrame is the request as upstream's server sends one (tunnel.md 6).
func requestFrame(id string, req *http.Request, body []byte) Request {
	f := Request{
		ID: id, Method: req.Method, Path: req.URL.Path, QueryString: req.URL.RawQuery,
		Headers: requestHeaders(req, len(body)), Encoding: EncodingUTF8, Stream: true,
	}
	if f.Method == "" {
		f.Method = http.MethodGet
	}
	if f.Path == "" {
		f.Path = "/"
	}
	if len(body) > 0 {
		text, encoding := EncodeBody(body, TextContent(req.Header.Get("Content-Type"), false))
		f.Body, f.Encoding = &text, encoding
	}
	return f
}

// requestHeaders merges duplicates and adds what a handler expects to see.
func requestHeaders(req *http.Request, size int) []Header {
	merged := make(http.Header, len(req.Header)+2)
	for name, values := range req.Header {
		merged.Set(name, strings.Join(values, ", "))
	}
	merged.Set("Host", "runner")
	if req.Host != "" {
		merged.Set("Host", req.Host)
	}
	merged.Del("Content-Length")
	if size > 0 {
		merged.Set("Content-Length", strconv.Itoa(size))
	}
	return wireHeaders(merged)
}
