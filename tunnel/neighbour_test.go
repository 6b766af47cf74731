package tunnel

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSlowReaderPaysForTheTotal lets two answers fill the tunnel's budget: the
// one that holds most is given up, its quick neighbour goes on.
func TestSlowReaderPaysForTheTotal(t *testing.T) {
	s := newTestServer(t, &Server{Limits: Limits{ReceiveStream: 90 << 10, ReceiveTotal: 100 << 10}})
	r := rawRunner(t, s, "r1")
	start := func() (string, *http.Response) {
		got := make(chan *http.Response, 1)
		go func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner/", nil)
			resp, err := s.Transport("r1").RoundTrip(req)
			if err == nil {
				got <- resp
			}
		}()
		f, ok := r.next().(Request)
		require.True(t, ok)
		r.send(`{"kind":"response.head","id":"` + f.ID + `","status":200}`)
		return f.ID, <-got
	}
	piece := func(id string, n int) {
		r.send(`{"kind":"response.body","id":"` + id + `","body":"` + strings.Repeat("x", n) + `"}`)
	}
	slowID, slow := start()
	quickID, quick := start()
	ch, err := s.OpenChannel(t.Context(), "r1", "/p", "")
	require.NoError(t, err)
	require.Equal(t, KindWSOpen, r.next().Kind())
	piece(slowID, 40<<10)
	piece(slowID, 30<<10)
	r.send(`{"kind":"ws.frame","ch_id":"` + ch.id + `","data":"hi"}`)
	piece(quickID, 40<<10)
	require.Equal(t, RequestCancel{ID: slowID, Reason: "slow_consumer"}, r.next())
	r.send(`{"kind":"response.end","id":"` + quickID + `"}`)
	body, err := io.ReadAll(quick.Body)
	require.NoError(t, err)
	require.Len(t, body, 40<<10)
	body, err = io.ReadAll(slow.Body)
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Empty(t, body, "what it held is free again")
	m, err := ch.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, "hi", string(m.Data))
	require.NoError(t, slow.Body.Close())
	require.NoError(t, quick.Body.Close())
}

func TestHeadersKeepTheirBytes(t *testing.T) {
	s := newTestServer(t, &Server{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Back", r.Header.Get("X-There"))
		w.Header().Set("Content-Length", "2")
		_, _ = io.WriteString(w, "ok")
	})
	startClient(t, &Client{URL: s.URL, Handler: h})
	s.waitRunner(t, "r1", 0)
	for _, v := range []string{"plain", "caf\xe9", "café", "\x80\xff"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner/", nil)
		require.NoError(t, err)
		req.Header.Set("X-There", v)
		resp, err := s.Transport("r1").RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, v, resp.Header.Get("X-Back"))
		require.EqualValues(t, 2, resp.ContentLength)
		require.NoError(t, resp.Body.Close())
	}
	require.Equal(t, "€", fromLatin1("€"), "no header can have been that")
}

func TestErrorsSayWhatHappened(t *testing.T) {
	for want, err := range map[string]error{
		`runner "r" is offline`:                             &OfflineError{RunnerID: "r"},
		`tunnel of runner "r" ended: peer_closed 1012: bye`: &LostError{RunnerID: "r", Reason: Reason{Cause: CauseClosed, Code: 1012, Text: "bye"}},
		`runner stream error: boom`:                         &StreamError{Text: "boom"},
		`refused: too much`:                                 &RefusedError{Status: 413, Reason: "too much"},
		`request canceled: gone`:                            &CanceledError{Reason: "gone"},
		`channel closed (code 4404) not there`:              &ChannelError{Code: 4404, Reason: "not there"},
		`no`:                                                &Refusal{Code: 4004, Reason: "no"},
		`runner tunnel rejected by server (close code 4004); check frame protocol compatibility`: fatalError(Reason{Cause: CauseClosed, Code: 4004}),
	} {
		require.EqualError(t, err, want)
	}
}

func TestClientLeavesAHandlerThatNeverReturns(t *testing.T) {
	s := newTestServer(t, &Server{})
	timing := fast()
	timing.HandlerExit, timing.Drain = 20*time.Millisecond, 10*time.Millisecond
	release, entered := make(chan struct{}), make(chan struct{})
	c := &Client{URL: s.URL, Timing: timing, Log: orDiscard(nil), Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(entered)
		<-release
	})}
	stop := startClient(t, c)
	s.waitRunner(t, "r1", 0)
	failed := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner/", nil)
		_, err := s.Transport("r1").RoundTrip(req)
		failed <- err
	}()
	<-entered
	require.NoError(t, stop())
	var lost *LostError
	require.True(t, errors.As(<-failed, &lost))
	require.Equal(t, closeNormal, lost.Reason.Code)
	close(release)
	c.handlers.Wait()
}

func TestFlushTellsThatTheTunnelIsLost(t *testing.T) {
	s := newTestServer(t, &Server{})
	p := newProxy(t, s.URL)
	flushed := make(chan error, 1)
	startClient(t, &Client{URL: p.url(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if http.NewResponseController(w).Flush() == nil {
			p.cut()
			<-r.Context().Done()
			flushed <- http.NewResponseController(w).Flush() // with nothing to send
		}
	})})
	s.waitRunner(t, "r1", 0)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner/", nil)
	require.NoError(t, err)
	resp, err := s.Transport("r1").RoundTrip(req)
	var lost *LostError
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, resp.Body.Close())
	}
	require.ErrorAs(t, err, &lost)
	require.ErrorAs(t, <-flushed, &lost)
}
