package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
	"github.com/outrunner/outrunner/tunnel"
)

// question is what one small request carries, answered as it is.
const question = 64

// tunneled is a server and a runner in this process, joined over loopback.
func tunneled(b *testing.B, h http.Handler) http.RoundTripper {
	b.Helper()
	server := &tunnel.Server{}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/runners/{runner_id}/tunnel", server)
	site := httptest.NewServer(mux)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	client := &tunnel.Client{URL: site.URL, RunnerID: "r1", Handler: h}
	go func() { done <- client.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		require.NoError(b, <-done)
		closing, stop := context.WithTimeout(context.Background(), testkit.Patience)
		defer stop()
		require.NoError(b, server.Close(closing, int(websocket.StatusServiceRestart)))
		site.Close()
	})
	testkit.Until(b, testkit.Patience, func() bool { _, ok := server.Lookup("r1"); return ok }, testkit.Is("the runner does not come"))
	return server.Transport("r1")
}

func parrot(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

// ask does one request by HTTP.
func ask(rt http.RoundTripper, url string) func() error {
	return func() error {
		res, err := rt.RoundTrip(must(http.NewRequest(http.MethodPost, url, io.LimitReader(zeros{}, question))))
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if err == nil && (res.StatusCode != http.StatusOK || n != question) {
			return fmt.Errorf("the answer is %d with %d bytes", res.StatusCode, n)
		}
		return err
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// zeros reads as zero bytes without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// plainTCP sends a question and reads it back over one TCP connection.
func plainTCP(b *testing.B) func() error {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := l.Accept(); err == nil {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close(); _ = l.Close(); <-done })
	buf, back := make([]byte, question), bufio.NewReader(c)
	return func() error {
		if _, err := c.Write(buf); err != nil {
			return err
		}
		_, err := io.ReadFull(back, buf)
		return err
	}
}

// plainHTTP is the same handler behind Go's own server and client.
func plainHTTP(b *testing.B, h http.Handler) func() error {
	b.Helper()
	s := httptest.NewServer(h)
	b.Cleanup(s.Close)
	return ask(s.Client().Transport, s.URL)
}

// plainWebSocket sends a question and reads it back over one WebSocket.
func plainWebSocket(b *testing.B) func() error {
	b.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.CloseNow() }()
		for {
			kind, p, err := ws.Read(context.Background())
			if err != nil || ws.Write(context.Background(), kind, p) != nil {
				return
			}
		}
	}))
	ws, _, err := websocket.Dial(b.Context(), s.URL, nil)
	require.NoError(b, err)
	b.Cleanup(func() { _ = ws.CloseNow(); s.Close() })
	buf := make([]byte, question)
	return func() error {
		if err := ws.Write(context.Background(), websocket.MessageText, buf); err != nil {
			return err
		}
		_, _, err := ws.Read(context.Background())
		return err
	}
}

// BenchmarkRequest is one small request after the other: to the runner through
// the tunnel, to the same handler by HTTP, and the same bytes with nothing on
// top of TCP or of a WebSocket.
func BenchmarkRequest(b *testing.B) {
	h := http.HandlerFunc(parrot)
	compare(b, contestant{name: "tcp", once: plainTCP(b)}, contestant{name: "ws", once: plainWebSocket(b)},
		contestant{name: "http", once: plainHTTP(b, h)}, contestant{name: "tunnel", once: ask(tunneled(b, h), "http://runner/")})
}

// BenchmarkRequestBeside is one small request after the other through a tunnel
// that does nothing else, through one that an answer without end saturates, and
// through one in which nobody reads such an answer.
func BenchmarkRequestBeside(b *testing.B) {
	h := http.NewServeMux()
	h.HandleFunc("/", parrot)
	h.HandleFunc("/bulk", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, zeros{}) })
	const url = "http://runner/"
	alone, busy, stuck := tunneled(b, h), tunneled(b, h), tunneled(b, h)
	for _, rt := range []http.RoundTripper{busy, stuck} {
		res, err := rt.RoundTrip(must(http.NewRequest(http.MethodGet, url+"bulk", nil)))
		require.NoError(b, err)
		done := make(chan int64, 1)
		b.Cleanup(func() { _ = res.Body.Close() })
		if rt == stuck {
			continue
		}
		begin := time.Now()
		go func() {
			n, _ := io.Copy(io.Discard, res.Body)
			done <- n
		}()
		b.Cleanup(func() {
			took := time.Since(begin)
			_ = res.Body.Close()
			b.ReportMetric(float64(<-done)/took.Seconds()/1e6, "bulk-MB/s")
		})
	}
	compare(b, contestant{name: "alone", once: ask(alone, url)}, contestant{name: "bulk", once: ask(busy, url)}, contestant{name: "stall", once: ask(stuck, url)})
}
