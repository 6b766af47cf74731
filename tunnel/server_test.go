package tunnel

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

func TestServerJudgesTheFirstMessage(t *testing.T) {
	s := newTestServer(t, &Server{})
	for _, c := range []struct {
		name, first, reason string
		code                int
	}{
		{"not json", `nope`, "expected hello frame", 4001},
		{"another kind", `{"kind":"pong","ts":1}`, "expected hello frame", 4001},
		{"capabilities null", `{"kind":"hello","runner_version":"1","frame_protocol_version":1,"capabilities":null}`, "expected hello frame", 4001},
		{"version 2", `{"kind":"hello","runner_version":"1","frame_protocol_version":2}`, "frame_protocol_version mismatch: server supports 1, runner sent 2", 4002},
		{"huge version", `{"kind":"hello","runner_version":"1","frame_protocol_version":` + strings.Repeat("1", 200) + `}`,
			("frame_protocol_version mismatch: server supports 1, runner sent " + strings.Repeat("1", 200))[:123], 4002},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := dialRaw(t, s.URL, "bad")
			r.send(c.first)
			code, reason := r.closed()
			require.Equal(t, c.code, code)
			require.Equal(t, c.reason, reason)
			_, ok := s.Lookup("bad")
			require.False(t, ok)
		})
	}
	t.Run("binary", func(t *testing.T) {
		r := dialRaw(t, s.URL, "bad")
		require.NoError(t, r.ws.Write(t.Context(), websocket.MessageBinary, []byte(plainHello)))
		code, _ := r.closed()
		require.Equal(t, 4001, code)
	})
}

func TestServerHelloTimeout(t *testing.T) {
	timing := fast()
	timing.Hello = 20 * time.Millisecond
	s := newTestServer(t, &Server{Timing: timing})
	code, reason := dialRaw(t, s.URL, "mute").closed()
	require.Equal(t, 1013, code)
	require.Equal(t, "hello timeout", reason)
}

func TestServerAuthorize(t *testing.T) {
	s := newTestServer(t, &Server{Authorize: func(r *http.Request, id string) (string, error) {
		switch id {
		case "before":
			return "", &Refusal{HTTPStatus: http.StatusForbidden, Reason: "go away"}
		case "after":
			return "", &Refusal{Code: 4004, Reason: "runner_id does not match tunnel token"}
		case "broken":
			return "", errors.New("disk on fire")
		}
		return r.Header.Get("X-Owner"), nil
	}})
	dial := func(id string, h http.Header) (*websocket.Conn, *http.Response, error) {
		return websocket.Dial(t.Context(), strings.Replace(s.URL, "http", "ws", 1)+"/v1/runners/"+id+"/tunnel", &websocket.DialOptions{HTTPHeader: h})
	}
	_, resp, err := dial("before", nil)
	require.Error(t, err)
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	_, resp, err = dial("broken", nil)
	require.Error(t, err)
	require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
	_, resp, err = dial("ok", http.Header{"Origin": {"https://evil.example"}})
	require.Error(t, err)
	require.Equal(t, http.StatusForbidden, resp.StatusCode, "a page of another site")
	code, reason := dialRaw(t, s.URL, "after").closed()
	require.Equal(t, 4004, code)
	require.Equal(t, "runner_id does not match tunnel token", reason)

	// A connection of another owner does not take the place of the first.
	first, _, err := dial("mine", http.Header{"X-Owner": {"ann"}})
	require.NoError(t, err)
	a := newRaw(t, first)
	a.send(plainHello)
	info := s.waitRunner(t, "mine", 0)
	second, _, err := dial("mine", http.Header{"X-Owner": {"bob"}})
	require.NoError(t, err)
	b := newRaw(t, second)
	b.send(plainHello)
	code, _ = b.closed()
	require.Equal(t, 4004, code)
	now, ok := s.Lookup("mine")
	require.True(t, ok)
	require.Equal(t, info, now)
}

func TestServerNewestWins(t *testing.T) {
	type event struct {
		what string
		gen  uint64
	}
	events := make(chan event, 10)
	s := newTestServer(t, &Server{
		OnConnect: func(ctx context.Context, info RunnerInfo) {
			events <- event{"connect", info.Generation}
			<-ctx.Done()
			var lost *LostError
			if errors.As(context.Cause(ctx), &lost) {
				events <- event{"hook ended: " + string(lost.Reason.Cause), info.Generation}
			}
		},
		OnDisconnect: func(info RunnerInfo, reason Reason) {
			events <- event{"disconnect: " + string(reason.Cause), info.Generation}
		},
	})
	old := rawRunner(t, s, "r1")
	first, _ := s.Lookup("r1")
	require.Equal(t, event{"connect", first.Generation}, <-events)
	ch, err := s.OpenChannel(t.Context(), "r1", "/p", "")
	require.NoError(t, err)
	answered := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner/", nil)
		_, err := s.Transport("r1").RoundTrip(req)
		answered <- err
	}()
	require.Equal(t, KindWSOpen, old.next().Kind())
	pending, ok := old.next().(Request)
	require.True(t, ok)

	r := dialRaw(t, s.URL, "r1")
	r.send(plainHello)
	second := s.waitRunner(t, "r1", first.Generation)
	code, reason := old.closed()
	require.Equal(t, 4000, code)
	require.Equal(t, "tunnel replaced", reason)
	var lost *LostError
	require.ErrorAs(t, <-answered, &lost)
	require.Equal(t, CauseReplaced, lost.Reason.Cause)
	require.False(t, lost.Unsent)
	_, err = ch.Read(t.Context())
	var closed *ChannelError
	require.ErrorAs(t, err, &closed)
	require.Equal(t, 1006, closed.Code)
	require.ElementsMatch(t, []event{
		{"disconnect: replaced", first.Generation}, {"hook ended: replaced", first.Generation}, {"connect", second.Generation},
	}, []event{<-events, <-events, <-events})

	// The old one's goodbye did not take the new one away, and its late frames
	// mean nothing.
	now, ok := s.Lookup("r1")
	require.True(t, ok)
	require.Equal(t, second, now)
	r.send(`{"kind":"response.head","id":"` + pending.ID + `","status":200}`)

	// A pinned generation is not sent to its successor.
	req, err := http.NewRequestWithContext(PinGeneration(t.Context(), first.Generation), http.MethodGet, "http://runner/", nil)
	require.NoError(t, err)
	_, err = s.Transport("r1").RoundTrip(req)
	require.ErrorAs(t, err, &lost)
	require.True(t, lost.Unsent)

	require.NoError(t, r.ws.Close(websocket.StatusNormalClosure, "runner idle shutdown"))
	require.ElementsMatch(t, []event{{"disconnect: peer_closed", second.Generation}, {"hook ended: peer_closed", second.Generation}},
		[]event{<-events, <-events})
	_, ok = s.Lookup("r1")
	require.False(t, ok)
	_, err = s.Transport("r1").RoundTrip(req.WithContext(t.Context()))
	var offline *OfflineError
	require.ErrorAs(t, err, &offline)
	require.Empty(t, s.Runners())
}

func TestServerCloseTellsAllRunners(t *testing.T) {
	s := newTestServer(t, &Server{})
	var all sync.WaitGroup
	for _, id := range []string{"a", "b", "c"} {
		r := rawRunner(t, s, id)
		all.Go(func() {
			code, reason := r.closed()
			require.Equal(t, 1012, code)
			require.Empty(t, reason)
		})
	}
	require.Len(t, s.Runners(), 3)
	require.NoError(t, s.Close(t.Context(), 1012))
	all.Wait()
	code, _ := dialRaw(t, s.URL, "late").closed()
	require.Equal(t, 1012, code)
}

func TestServerCloseDoesNotWaitForADeadPeer(t *testing.T) {
	s := newTestServer(t, &Server{})
	rawRunner(t, s, "r1") // never reads, so never answers the close frame
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Close(ctx, 1012), context.DeadlineExceeded)
}

func TestRequestIsCanceledAtTheRunner(t *testing.T) {
	s := newTestServer(t, &Server{})
	r := rawRunner(t, s, "r1")
	start := func(ctx context.Context) chan error {
		done := make(chan error, 1)
		go func() {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://runner/", nil)
			resp, err := s.Transport("r1").RoundTrip(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			done <- err
		}()
		return done
	}
	gone := errors.New("the browser left")

	ctx, cancel := context.WithCancelCause(t.Context())
	done := start(ctx)
	req, ok := r.next().(Request)
	require.True(t, ok)
	cancel(gone)
	require.ErrorIs(t, <-done, gone)
	require.Equal(t, RequestCancel{ID: req.ID, Reason: "client_disconnected"}, r.next(), "before the head")

	ctx, cancel = context.WithCancelCause(t.Context())
	done = start(ctx)
	req, ok = r.next().(Request)
	require.True(t, ok)
	r.send(`{"kind":"response.head","id":"` + req.ID + `","status":200}`)
	r.send(`{"kind":"response.body","id":"` + req.ID + `","body":"x"}`)
	cancel(gone)
	require.ErrorIs(t, <-done, gone)
	require.Equal(t, RequestCancel{ID: req.ID, Reason: "client_disconnected"}, r.next(), "after the head")

	out, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner/", nil)
	require.NoError(t, err)
	go func() {
		req, ok := r.next().(Request)
		if ok {
			r.send(`{"kind":"response.head","id":"` + req.ID + `","status":200}`)
		}
	}()
	resp, err := s.Transport("r1").RoundTrip(out)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	f, ok := r.next().(RequestCancel)
	require.True(t, ok, "when the body is closed early")
	require.Equal(t, "client_disconnected", f.Reason)
	_, err = resp.Body.Read(make([]byte, 1))
	require.ErrorIs(t, err, errBodyClosed)
}

func TestAnswerThatNobodyReadsIsGivenUpAlone(t *testing.T) {
	s := newTestServer(t, &Server{Limits: Limits{ReceiveStream: 100 << 10}})
	r := rawRunner(t, s, "r1")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner/", nil)
	require.NoError(t, err)
	got := make(chan *http.Response, 1)
	go func() {
		resp, err := s.Transport("r1").RoundTrip(req)
		if err == nil {
			got <- resp
		}
	}()
	f, ok := r.next().(Request)
	require.True(t, ok)
	r.send(`{"kind":"response.head","id":"` + f.ID + `","status":200}`)
	resp := <-got
	piece := `{"kind":"response.body","id":"` + f.ID + `","body":"` + strings.Repeat("x", 30<<10) + `"}`
	for range 4 {
		r.send(piece)
	}
	require.Equal(t, RequestCancel{ID: f.ID, Reason: "slow_consumer"}, r.next())
	body, err := io.ReadAll(resp.Body)
	require.Len(t, body, 90<<10, "what fitted is there")
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.NoError(t, resp.Body.Close())
	_, ok = s.Lookup("r1")
	require.True(t, ok)
}

func TestRequestTooLargeIsRefusedHere(t *testing.T) {
	s := newTestServer(t, &Server{Limits: Limits{RequestBody: 1000}})
	rawRunner(t, s, "r1")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://runner/", strings.NewReader(strings.Repeat("x", 1001)))
	require.NoError(t, err)
	_, err = s.Transport("r1").RoundTrip(req)
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusRequestEntityTooLarge, refused.Status)
}

func TestTooManyOpenRequestsAreRefusedHere(t *testing.T) {
	s := newTestServer(t, &Server{Limits: Limits{Open: 1}})
	r := rawRunner(t, s, "r1")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner/", nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.Transport("r1").RoundTrip(req.WithContext(ctx))
	}()
	r.next()
	_, err = s.Transport("r1").RoundTrip(req)
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusServiceUnavailable, refused.Status)
	cancel()
	<-done
}
