package tunnel

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

func TestTunnelURL(t *testing.T) {
	for _, c := range []struct{ base, id, want string }{
		{"http://h:1/", "r/1 x", "ws://h:1/v1/runners/r%2F1%20x/tunnel"},
		{"https://u:p@h/api/2.0/x//?q=1#f", "runner_token_0", "wss://u:p@h/api/2.0/x/v1/runners/runner_token_0/tunnel"},
		{"http://h/a%2Fb", "ü~", "ws://h/a%2Fb/v1/runners/%C3%BC~/tunnel"},
	} {
		got, err := tunnelURL(c.base, c.id)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for _, bad := range []string{"ftp://h", "h:80", "", "http://", "ws://h", "http://%zz"} {
		_, err := tunnelURL(bad, "r")
		require.Error(t, err, bad)
	}
	_, err := tunnelURL("http://h", "")
	require.Error(t, err)
}

func TestClientGivesUpOnFatalCloseCodes(t *testing.T) {
	for _, code := range []int{4001, 4002, 4004, 4500} {
		url := rawServer(t, func(r *raw, _ *http.Request) {
			_ = r.ws.Close(websocket.StatusCode(code), "because")
		})
		c := &Client{URL: url, RunnerID: "r", Timing: fast()}
		var fatal *FatalError
		require.ErrorAs(t, c.Run(t.Context()), &fatal)
		require.Equal(t, code, fatal.CloseCode)
		require.False(t, fatal.Credential)
		require.Contains(t, fatal.Error(), ": because")
	}
}

func TestClientUpgradeRefused(t *testing.T) {
	login := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed, with %v", r.Header)
	}))
	t.Cleanup(login.Close)
	for _, c := range []struct {
		name       string
		status     int
		header     http.Header
		credential bool
		text       string
	}{
		{"401", 401, nil, true, "HTTP 401 persisted across 3 attempts"},
		{"403", 403, nil, true, "HTTP 403 persisted across 3 attempts"},
		{"login page", 302, http.Header{"Location": {login.URL + "/login"}}, true, "redirect to non-WebSocket URL " + login.URL + "/login persisted"},
		{"website", 200, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, false, "there is no server that takes runners"},
		{"website without that page", 404, http.Header{"Content-Type": {"text/html"}}, false, "there is no server that takes runners"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked, upgrades atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				for name, v := range c.header {
					w.Header()[name] = v
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, "<html>")
			}))
			t.Cleanup(srv.Close)
			client := &Client{URL: srv.URL, RunnerID: "r", Timing: fast(), OnUpgrade: func() { upgrades.Add(1) }}
			var fatal *FatalError
			require.ErrorAs(t, client.Run(t.Context()), &fatal)
			require.Contains(t, fatal.Error(), c.text)
			require.Equal(t, c.credential, fatal.Credential)
			require.Equal(t, c.status, fatal.HTTPStatus)
			require.EqualValues(t, 3, asked.Load())
			require.Zero(t, upgrades.Load())
		})
	}
}

func TestClientThatWasConnectedOutlivesRefusals(t *testing.T) {
	var n atomic.Int32
	inner := rawServer(t, func(r *raw, _ *http.Request) {
		r.next()
		_ = r.ws.Close(1012, "")
	})
	target, err := url.Parse(inner)
	require.NoError(t, err)
	forward := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if i := n.Add(1); i > 1 && i < 10 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxyTo(target).ServeHTTP(w, req)
	}))
	t.Cleanup(forward.Close)
	upgrades := make(chan struct{}, 100)
	stop := startClient(t, &Client{URL: forward.URL, OnUpgrade: func() { upgrades <- struct{}{} }})
	<-upgrades
	<-upgrades
	require.NoError(t, stop())
}

func TestClientStopsWithinItsTime(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	for _, c := range []struct {
		name string
		url  string
		head func(context.Context) (http.Header, error)
	}{
		{"in the upgrade", "http://" + ln.Addr().String(), nil},
		{"in TLS", "https://" + ln.Addr().String(), nil},
		{"asking for credentials", "http://127.0.0.1:1", func(ctx context.Context) (http.Header, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dialing := make(chan struct{}, 100)
			stop := startClient(t, &Client{URL: c.url, Header: c.head, OnState: func(s State) {
				if s == Dialing {
					dialing <- struct{}{}
				}
			}})
			<-dialing
			start := time.Now()
			require.NoError(t, stop())
			require.Less(t, time.Since(start), 2*time.Second)
		})
	}
	t.Run("while it backs off", func(t *testing.T) {
		waiting := make(chan struct{}, 100)
		timing := fast()
		timing.RetryBase, timing.RetryCap = time.Hour, time.Hour
		stop := startClient(t, &Client{URL: "http://127.0.0.1:1", Timing: timing, OnState: func(s State) {
			if s == BackingOff {
				waiting <- struct{}{}
			}
		}})
		<-waiting
		start := time.Now()
		require.NoError(t, stop())
		require.Less(t, time.Since(start), 2*time.Second)
	})
}

func TestClientCallbacks(t *testing.T) {
	s := newTestServer(t, &Server{})
	var mu sync.Mutex
	var seen []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, what)
	}
	up := make(chan struct{})
	c := &Client{
		URL: s.URL, RunnerID: "r1",
		OnState:   func(s State) { note(s.String()) },
		OnUpgrade: func() { note("upgrade") },
		OnUp: func(ctx context.Context, gen uint64) {
			close(up)
			<-ctx.Done()
			note("up ended")
		},
		OnDown: func(gen uint64, r Reason) { note("down " + string(r.Cause)) },
	}
	stop := startClient(t, c)
	<-up
	require.Equal(t, Serving, c.Status().State)
	require.EqualValues(t, 1, c.Status().Generation)
	require.NoError(t, stop())
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"dialing", "upgrade", "greeting", "serving", "draining"}, seen[:5])
	require.ElementsMatch(t, []string{"up ended", "down shutdown"}, seen[5:7])
	require.Equal(t, []string{"stopped"}, seen[7:])
}

func TestClientDrains(t *testing.T) {
	entered := make(chan struct{}, 2)
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/work", func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		entered <- struct{}{}
		<-r.Context().Done()
		require.ErrorIs(t, context.Cause(r.Context()), errShutdown)
		_, err := io.WriteString(w, "last words")
		require.NoError(t, err)
	})
	over := make(chan struct{})
	url := rawServer(t, func(r *raw, _ *http.Request) {
		defer close(over)
		require.Equal(t, KindHello, r.next().Kind())
		r.send(`{"kind":"request","id":"w","method":"GET","path":"/work"}`)
		r.send(`{"kind":"request","id":"s","method":"GET","path":"/stream"}`)
		r.send(`{"kind":"request","id":"q","method":"GET","path":"/work","headers":[["key","1"]]}`)
		var got []Frame
		for range 8 {
			f := r.next()
			got = append(got, f)
			if end, ok := f.(ResponseEnd); ok && end.ID == "q" { // what waited was refused; what runs may finish
				close(release)
			}
		}
		word := "runner_shutdown"
		require.Equal(t, ResponseHead{ID: "s", Status: IntOf(200), Headers: []Header{}}, got[0])
		require.ElementsMatch(t, []Frame{
			ResponseHead{ID: "w", Status: IntOf(202), Headers: []Header{}}, ResponseEnd{ID: "w"},
			ResponseHead{ID: "q", Status: IntOf(503), Headers: []Header{{"content-type", "application/json"}}},
			ResponseBody{ID: "q", Body: `{"error": "runner_shutdown"}`, Encoding: "utf-8"}, ResponseEnd{ID: "q"},
			ResponseBody{ID: "s", Body: "bGFzdCB3b3Jkcw==", Encoding: "base64"}, ResponseEnd{ID: "s", Error: &word},
		}, got[1:])
		code, reason := r.closed()
		require.Equal(t, 1000, code)
		require.Empty(t, reason)
	})
	stop := startClient(t, &Client{URL: url, Handler: mux, OrderKey: func(r *http.Request) string {
		if r.URL.Path == "/work" {
			return "k"
		}
		return ""
	}})
	<-entered
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	require.NoError(t, <-stopped)
	<-over
}

func TestClientSaysThatItLeavesForWantOfWork(t *testing.T) {
	over := make(chan struct{})
	url := rawServer(t, func(r *raw, _ *http.Request) {
		defer close(over)
		require.Equal(t, KindHello, r.next().Kind())
		code, reason := r.closed()
		require.Equal(t, 1000, code)
		require.Equal(t, "runner idle shutdown", reason)
	})
	ctx, leave := context.WithCancelCause(t.Context())
	c := &Client{URL: url, RunnerID: "r1", Timing: fast(), OnUp: func(context.Context, uint64) { leave(ErrIdle) }}
	require.NoError(t, c.Run(ctx))
	<-over
}

func TestClientNoticesThatTheMachineSlept(t *testing.T) {
	s := newTestServer(t, &Server{})
	var slept atomic.Int64
	start := time.Now()
	timing := fast()
	timing.Silence = 180 * time.Millisecond // looks every 10 ms
	down := make(chan Reason, 10)
	c := &Client{
		URL: s.URL, Timing: timing, OnDown: func(_ uint64, r Reason) { down <- r },
		clock: func() (wall, mono time.Duration) {
			mono = time.Since(start)
			return mono + time.Duration(slept.Load()), mono
		},
	}
	c.Timing.Ping = 20 * time.Millisecond
	startClient(t, c)
	info := s.waitRunner(t, "r1", 0)
	// More than one sleep: the first may come before the client looks at its clocks.
	require.Eventually(t, func() bool {
		slept.Add(int64(time.Minute))
		return len(down) > 0
	}, 10*time.Second, 20*time.Millisecond)
	require.Equal(t, CauseResumed, (<-down).Cause)
	s.waitRunner(t, "r1", info.Generation)
}

func TestClientOverTLSAndThroughAProxy(t *testing.T) {
	srv := &Server{Timing: fast()}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/runners/{runner_id}/tunnel", srv)
	secure := httptest.NewTLSServer(mux)
	connects := make(chan string, 10)
	forward := httptest.NewServer(connectProxy(connects))
	t.Cleanup(func() {
		require.NoError(t, srv.Close(context.Background(), 1012))
		secure.Close()
		forward.Close()
	})
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	proxyURL, err := url.Parse(forward.URL)
	require.NoError(t, err)
	ts := &testServer{Server: srv}
	for _, through := range []bool{false, true} {
		c := &Client{
			URL: secure.URL, TLS: &tls.Config{RootCAs: roots},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hi") }),
			Proxy:   func(*http.Request) (*url.URL, error) { return nil, nil },
		}
		if through {
			c.Proxy = http.ProxyURL(proxyURL)
		}
		gen := uint64(0)
		for _, info := range srv.Runners() {
			gen = info.Generation
		}
		stop := startClient(t, c)
		ts.waitRunner(t, "r1", gen)
		_, body := get(t, srv.Transport("r1"), "/")
		require.Equal(t, "hi", body)
		require.NoError(t, stop())
	}
	require.Len(t, connects, 1)
}

// connectProxy is an HTTP proxy that knows CONNECT.
func connectProxy(connects chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out, err := net.Dial("tcp", r.Host)
		if err != nil || r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		connects <- r.Host
		in, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
		var both sync.WaitGroup
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			both.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = in.Close()
				_ = out.Close()
			})
		}
		both.Wait()
	}
}

func TestClientHeaderErrorIsARetry(t *testing.T) {
	s := newTestServer(t, &Server{})
	var n atomic.Int32
	startClient(t, &Client{URL: s.URL, Header: func(context.Context) (http.Header, error) {
		if n.Add(1) < 5 {
			return nil, errors.New("the keyring is locked")
		}
		return nil, nil
	}})
	s.waitRunner(t, "r1", 0)
	require.EqualValues(t, 5, n.Load())
}

func TestClientStopsInABrokenUpgrade(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		// A 101 answer to someone else's key, and then nothing.
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
	}))
	t.Cleanup(srv.Close)
	timing := fast()
	timing.Dial = 50 * time.Millisecond
	waiting := make(chan struct{}, 100)
	c := &Client{URL: srv.URL, Timing: timing, OnState: func(s State) {
		if s == BackingOff {
			waiting <- struct{}{}
		}
	}}
	start := time.Now()
	stop := startClient(t, c)
	<-waiting
	require.Less(t, time.Since(start), 2*time.Second)
	require.Equal(t, CauseDial, c.Status().LastReason.Cause)
	require.NoError(t, stop())
}
