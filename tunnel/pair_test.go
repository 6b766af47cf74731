package tunnel

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fast is a Timing for tests: everything that waits for a clock is short.
func fast() Timing {
	return Timing{
		Dial: 5 * time.Second, Hello: 5 * time.Second, Ping: 200 * time.Millisecond, Silence: 9 * time.Second,
		RetryBase: 5 * time.Millisecond, RetryCap: 20 * time.Millisecond, RetryFast: time.Minute, RetryCapLate: 50 * time.Millisecond,
		Healthy: 50 * time.Millisecond, Drain: 200 * time.Millisecond, Flush: 200 * time.Millisecond, HandlerExit: 5 * time.Second,
	}
}

// testLog writes to the test's output.
func testLog(t testing.TB, side string) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn})).With("side", side)
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// testServer is a Server on a loopback listener.
type testServer struct {
	*Server
	URL  string
	http *httptest.Server
}

func newTestServer(t testing.TB, s *Server) *testServer {
	if s.Log == nil {
		s.Log = testLog(t, "server")
	}
	if s.Timing == (Timing{}) {
		s.Timing = fast()
	}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/runners/{runner_id}/tunnel", s)
	ts := &testServer{Server: s, http: httptest.NewServer(mux)}
	ts.URL = ts.http.URL
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, s.Close(ctx, closeRestart))
		ts.http.Close()
	})
	return ts
}

// waitRunner returns once the runner is registered with a generation over gen.
func (s *testServer) waitRunner(t testing.TB, id string, gen uint64) RunnerInfo {
	t.Helper()
	var info RunnerInfo
	require.Eventually(t, func() bool {
		var ok bool
		info, ok = s.Lookup(id)
		return ok && info.Generation > gen
	}, 10*time.Second, time.Millisecond, "runner %s does not come", id)
	return info
}

// startClient runs a client until the test ends, or stop is called.
func startClient(t testing.TB, c *Client) (stop func() error) {
	t.Helper()
	if c.Log == nil {
		c.Log = testLog(t, "runner")
	}
	if c.Timing == (Timing{}) {
		c.Timing = fast()
	}
	if c.RunnerID == "" {
		c.RunnerID = "r1"
	}
	ctx, cancel := context.WithCancel(context.Background())
	var result error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result = c.Run(ctx)
	}()
	stop = func() error {
		cancel()
		<-done
		return result
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// proxy forwards TCP connections, and can cut them.
type proxy struct {
	target string
	ln     net.Listener
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	cuts  int
}

func newProxy(t testing.TB, target string) *proxy {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{target: strings.TrimPrefix(target, "http://"), ln: ln, conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) url() string { return "http://" + p.ln.Addr().String() }

func (p *proxy) accept() {
	for {
		in, err := p.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		p.conns[in], p.conns[out] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { p.copy(in, out) })
		p.wg.Go(func() { p.copy(out, in) })
	}
}

func (p *proxy) copy(dst, src net.Conn) {
	_, _ = io.Copy(dst, src)
	_ = dst.Close()
	_ = src.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, src)
}

// cut breaks every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts++
	for c := range p.conns {
		_ = c.Close()
	}
}

// get is a GET through the tunnel; it returns the body.
func get(t testing.TB, rt http.RoundTripper, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner"+path, nil)
	require.NoError(t, err)
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(body)
}

func TestEndToEnd(t *testing.T) {
	s := newTestServer(t, &Server{Capabilities: []string{"outrunner-a", "outrunner-b"}})
	p := newProxy(t, s.URL)
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.Copy(w, r.Body)
	})
	mux.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "data: one\n\n")
		w.(http.Flusher).Flush()
		<-release
		_, _ = fmt.Fprint(w, "data: two é\n\n")
	})
	c := &Client{URL: p.url(), Handler: mux, Hello: func() Hello { return Hello{RunnerVersion: "t", Harnesses: []string{"h"}} }}
	stop := startClient(t, c)
	info := s.waitRunner(t, "r1", 0)
	require.Equal(t, []string{"h"}, info.Hello.Harnesses)
	require.Len(t, info.Hello.ConnectionID, 32)

	rt := s.Transport("r1")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://runner/echo", strings.NewReader("hällo"))
	require.NoError(t, err)
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "hällo", string(body))
	require.Equal(t, "text/plain", resp.Header.Get("Content-Type"))

	req, err = http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner/stream", nil)
	require.NoError(t, err)
	resp, err = rt.RoundTrip(req)
	require.NoError(t, err)
	buf := make([]byte, 100)
	n, err := resp.Body.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "data: one\n\n", string(buf[:n]))
	close(release)
	rest, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "data: two é\n\n", string(rest))
	require.Equal(t, []string{"outrunner-a", "outrunner-b"}, c.Status().Capabilities)

	p.cut()
	info = s.waitRunner(t, "r1", info.Generation)
	status, _ := get(t, rt, "/nothing")
	require.Equal(t, http.StatusNotFound, status)
	require.NoError(t, stop())
	require.Equal(t, Stopped, c.Status().State)
}
