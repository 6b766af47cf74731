package tunnel

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// raw is a scripted peer: a plain WebSocket that speaks frames by hand, as the
// Python server and runner do, with nothing of ours added.
type raw struct {
	t  testing.TB
	ws *websocket.Conn
}

func newRaw(t testing.TB, ws *websocket.Conn) *raw {
	ws.SetReadLimit(MaxMessage)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return &raw{t, ws}
}

// send sends one text message.
func (r *raw) send(text string) {
	r.t.Helper()
	require.NoError(r.t, r.ws.Write(context.Background(), websocket.MessageText, []byte(text)))
}

// read returns the next message as it came.
func (r *raw) read() string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	typ, data, err := r.ws.Read(ctx)
	require.NoError(r.t, err)
	require.Equal(r.t, websocket.MessageText, typ, "upstream's server drops binary messages")
	return string(data)
}

// next returns the next frame that is no keepalive ping.
func (r *raw) next() Frame {
	r.t.Helper()
	for {
		f, err := Decode([]byte(r.read()))
		require.NoError(r.t, err)
		if f.Kind() != KindPing {
			return f
		}
	}
}

// expect reads a message and compares it as JSON.
func (r *raw) expect(want string) {
	r.t.Helper()
	require.JSONEq(r.t, want, r.read())
}

// closed reads until the connection ends, and returns the close code and
// reason; -1 when there was no close frame.
func (r *raw) closed() (int, string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		_, _, err := r.ws.Read(ctx)
		if err == nil {
			continue
		}
		require.NoError(r.t, ctx.Err())
		reason := readReason(err)
		if reason.Cause != CauseClosed {
			return -1, reason.Text
		}
		return reason.Code, reason.Text
	}
}

// rawServer accepts runners; each connection's script runs to its end.
func rawServer(t testing.TB, script func(r *raw, req *http.Request)) string {
	var running sync.WaitGroup
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		running.Add(1)
		defer running.Done()
		ws, err := websocket.Accept(w, req, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer func() { _ = ws.CloseNow() }()
		ws.SetReadLimit(MaxMessage)
		script(&raw{t, ws}, req)
	}))
	t.Cleanup(func() {
		srv.Close()
		running.Wait()
	})
	return srv.URL
}

const plainHello = `{"kind": "hello", "runner_version": "0.19.1", "frame_protocol_version": 1, "harnesses": ["pi"], "envs": ["os_sandbox"], "telemetry_opt_out": true, "capabilities": ["filesystem_attachments"], "connection_id": "982da4eb067d416cbca3f1d5c4b35e95"}`

// dialRaw connects to a server as a runner, without a hello.
func dialRaw(t testing.TB, url, id string) *raw {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), strings.Replace(url, "http", "ws", 1)+"/v1/runners/"+id+"/tunnel",
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}, CompressionMode: websocket.CompressionContextTakeover})
	require.NoError(t, err)
	return newRaw(t, ws)
}

// rawRunner connects and says hello.
func rawRunner(t testing.TB, s *testServer, id string) *raw {
	t.Helper()
	gen := uint64(0)
	if info, ok := s.Lookup(id); ok {
		gen = info.Generation
	}
	r := dialRaw(t, s.URL, id)
	r.send(plainHello)
	s.waitRunner(t, id, gen)
	return r
}

// proxyTo forwards HTTP and upgrades.
func proxyTo(target *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorLog: log.New(io.Discard, "", 0),
	}
}
