//go:build interop

package peer

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

const (
	claim = "X-Omnigent-Runner-Tunnel-Token"
	// maxMessage bounds a message of the tunnel, in bytes.
	maxMessage = 100 << 20
	// tapDial bounds the way from the tap to the server.
	tapDial = 10 * time.Second
	// repeated begins the ids of requests that the tap sends again.
	repeated = "tap-"
)

// Tap is a line to a server that reads the tunnel that goes through it. It ends
// with the test.
type Tap struct {
	URL string

	t      testing.TB
	target *url.URL

	mu       sync.Mutex
	claim    string // instead of the runner's own; "" = that
	requests []Request
	hellos   []time.Time
	pings    []time.Time
	again    func(Request) bool
	answers  map[string]float64 // status by the id of a repeated request
	cuts     []context.CancelFunc
}

// Request is a request of the server's to the runner.
type Request struct {
	Method, Path string
	Body         Dict // nil when there is none
	At           time.Time
}

// NewTap starts a line to the server.
func (s *Server) NewTap() *Tap {
	s.t.Helper()
	target, err := url.Parse(s.URL)
	require.NoError(s.t, err)
	tap := &Tap{t: s.t, target: target, answers: map[string]float64{}}
	ctx, cancel := context.WithCancel(context.Background())
	// SetURL alone: a server trusts only what no proxy has forwarded.
	calls := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{DisableKeepAlives: true}}
	var open sync.WaitGroup
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/tunnel") {
			calls.ServeHTTP(w, r)
			return
		}
		open.Add(1)
		defer open.Done()
		tap.tunnel(ctx, w, r)
	}))
	tap.URL = front.URL
	s.t.Cleanup(func() {
		cancel()
		front.Close()
		open.Wait()
	})
	return tap
}

// Claim makes the tap claim another secret than the runner's.
func (p *Tap) Claim(secret string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claim = secret
}

// Repeat makes the tap send each request for which again holds a second time,
// right after the first. The server never learns of the answer.
func (p *Tap) Repeat(again func(Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.again = again
}

// Cut drops every connection. New ones are taken.
func (p *Tap) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cut := range p.cuts {
		cut()
	}
	p.cuts = nil
}

// Requests are the server's requests so far, without the repeated ones.
func (p *Tap) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Hellos are the moments at which a runner's hello passed.
func (p *Tap) Hellos() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.hellos)
}

// Pings are the moments at which a ping of the server's passed.
func (p *Tap) Pings() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.pings)
}

// Answers are the statuses of the requests that were sent again.
func (p *Tap) Answers() []float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []float64
	for _, status := range p.answers {
		out = append(out, status)
	}
	return out
}

// tunnel carries one connection to its end, and each end's close to the other.
func (p *Tap) tunnel(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	header := http.Header{"Origin": r.Header["Origin"], claim: r.Header[claim]}
	p.mu.Lock()
	if p.claim != "" {
		header[claim] = []string{p.claim}
	}
	p.mu.Unlock()
	dial, cancel := context.WithTimeout(ctx, tapDial)
	options := &websocket.DialOptions{HTTPHeader: header, HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	far, res, err := websocket.Dial(dial, p.target.String()+r.URL.Path, options) //nolint:bodyclose // the library has closed it
	cancel()
	if err != nil {
		status := http.StatusBadGateway
		if res != nil {
			status = res.StatusCode
		}
		w.WriteHeader(status)
		return
	}
	defer func() { _ = far.CloseNow() }() // closed already, or lost
	near, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // the runner has gone
	}
	defer func() { _ = near.CloseNow() }() // closed already, or lost
	far.SetReadLimit(maxMessage)
	near.SetReadLimit(maxMessage)
	both, stop := context.WithCancel(ctx)
	defer stop()
	p.mu.Lock()
	p.cuts = append(p.cuts, stop)
	p.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() {
		defer stop()
		carry(both, far, near, func(text []byte) [][]byte { return p.upward(text) })
	})
	carry(both, near, far, func(text []byte) [][]byte { return p.downward(text) })
	stop()
	back.Wait()
}

// carry passes messages on, and at the end how it ended.
func carry(ctx context.Context, to, from *websocket.Conn, pass func([]byte) [][]byte) {
	for {
		kind, text, err := from.Read(ctx)
		if err != nil {
			var end websocket.CloseError
			if errors.As(err, &end) {
				_ = to.Close(end.Code, end.Reason) // the other end may be gone too
			} else {
				_ = to.CloseNow()
			}
			return
		}
		for _, message := range pass(text) {
			if err := to.Write(ctx, kind, message); err != nil {
				_ = from.CloseNow() // as the other end was lost
				return
			}
		}
	}
}

// upward is what goes on of a runner's message.
func (p *Tap) upward(text []byte) [][]byte {
	var frame Dict
	if json.Unmarshal(text, &frame) != nil {
		return [][]byte{text}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if frame["kind"] == "hello" {
		p.hellos = append(p.hellos, time.Now())
	}
	id, _ := frame["id"].(string)
	if !strings.HasPrefix(id, repeated) {
		return [][]byte{text}
	}
	if status, ok := frame["status"].(float64); ok {
		p.answers[id] = status
	}
	return nil
}

// downward is what goes on of a server's message.
func (p *Tap) downward(text []byte) [][]byte {
	var frame Dict
	if json.Unmarshal(text, &frame) != nil {
		return [][]byte{text}
	}
	if frame["kind"] == "ping" {
		p.mu.Lock()
		p.pings = append(p.pings, time.Now())
		p.mu.Unlock()
	}
	if frame["kind"] != "request" {
		return [][]byte{text}
	}
	q := Request{At: time.Now()}
	q.Method, _ = frame["method"].(string)
	q.Path, _ = frame["path"].(string)
	if body, ok := frame["body"].(string); ok {
		_ = json.Unmarshal([]byte(body), &q.Body) // nil when it is no object
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, q)
	if p.again == nil || !p.again(q) {
		return [][]byte{text}
	}
	frame["id"] = repeated + frame["id"].(string)
	twice, err := json.Marshal(frame)
	if err != nil {
		return [][]byte{text}
	}
	return [][]byte{text, twice}
}
