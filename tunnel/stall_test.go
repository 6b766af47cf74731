package tunnel

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// flood is a handler that writes numbered bytes until it fails.
func flood(chunks int, wrote *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/small" {
			_, _ = io.WriteString(w, "small")
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		line := strings.Repeat("0123456789abcdef", chunkBytes/16)
		for i := 0; i != chunks; i++ {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
			wrote.Add(int64(len(line)))
		}
	}
}

// TestPeerThatStopsReading is 80 s of stall in 1.6 s; realtime_test.go has the
// 80 s.
func TestPeerThatStopsReading(t *testing.T) {
	timing := fast()
	timing.Silence = 1800 * time.Millisecond
	stall(t, timing, 1600*time.Millisecond)
}

// stall runs a client against a peer that keeps sending (its pings, its
// messages) and reads nothing for a while. Nothing may be lost by it.
func stall(t *testing.T, timing Timing, span time.Duration) {
	const streams, chunks = 4, 128 // 4 MiB each
	var wrote atomic.Int64
	c := &Client{Handler: flood(chunks, &wrote), Timing: timing}
	scripted(t, c, func(r *raw) {
		r.send(`{"kind":"ping","ts":7}`)
		r.expect(`{"kind":"pong","ts":7}`) // reading so far has answered the first ping
		for i := range streams {
			r.send(request(string(rune('a'+i)), "/", ""))
		}
		stalled := time.NewTimer(span)
		tick := time.NewTicker(span / 80)
		defer tick.Stop()
		ts := 0
		for stall := true; stall; {
			select {
			case <-tick.C:
				ts++
				r.send(`{"kind":"ping","ts":1}`)
				// What waits is bounded, whatever the handlers would like.
				q := c.Status().Queue
				require.LessOrEqual(t, q.HighWater, streams*(256<<10+40<<10))
				require.LessOrEqual(t, q.InFlight, q.Window+40<<10)
			case <-stalled.C:
				stall = false
			}
		}
		require.Greater(t, ts, 10)
		require.Less(t, wrote.Load(), int64(streams*chunks*chunkBytes/2), "the handlers were held back")

		var ends, pongs int
		sizes := map[string]int{}
		for ends < streams {
			switch f := r.next().(type) {
			case ResponseBody:
				sizes[f.ID] += len(f.Body)
			case ResponseEnd:
				require.Nil(t, f.Error)
				ends++
			case Pong:
				pongs++
			}
		}
		for _, n := range sizes {
			require.Equal(t, chunks*chunkBytes, n)
		}
		require.Positive(t, pongs)
		require.LessOrEqual(t, pongs, ts)
		require.EqualValues(t, 1, c.Status().Generation, "no tunnel was lost")
	})
}

// TestUrgentFramesPassBulk stalls the peer behind bulk, asks for something
// small, and counts the bulk that comes before it.
func TestUrgentFramesPassBulk(t *testing.T) {
	const window = 256 << 10
	var wrote atomic.Int64
	c := &Client{Handler: flood(-1, &wrote), Timing: fast()}
	scripted(t, c, func(r *raw) {
		for i := range 4 {
			r.send(request(string(rune('a'+i)), "/", ""))
		}
		require.Eventually(t, func() bool { return c.Status().Queue.InFlight >= window }, 5*time.Second, time.Millisecond)
		r.send(request("small", "/small", ""))
		r.send(`{"kind":"ping","ts":7}`)
		before, urgent := 0, 0
		for urgent < 4 {
			switch f := r.next().(type) {
			case ResponseBody:
				if f.ID == "small" {
					urgent++
				} else if urgent < 4 {
					before += len(f.Body)
				}
			case ResponseHead:
				if f.ID == "small" {
					urgent++
				}
			case ResponseEnd, Pong:
				urgent++
			}
		}
		// The first burst of each stream was interactive: it was small so far.
		require.LessOrEqual(t, before, window+4*(burstBytes+2*chunkBytes)+batchBytes)
		for i := range 4 {
			r.send(`{"kind":"request.cancel","id":"` + string(rune('a'+i)) + `"}`)
		}
	})
}

func TestSilentServerIsLeftAndDialedAgain(t *testing.T) {
	timing := fast()
	timing.Silence = 90 * time.Millisecond
	release := make(chan struct{})
	url := rawServer(t, func(*raw, *http.Request) { <-release }) // says nothing, not even a pong
	downs := make(chan Reason, 100)
	stop := startClient(t, &Client{URL: url, Timing: timing, OnDown: func(_ uint64, r Reason) { downs <- r }})
	for range 3 {
		r := <-downs
		require.Equal(t, CauseSilent, r.Cause)
		require.Zero(t, r.Code)
	}
	require.NoError(t, stop())
	close(release)
}

func TestBytesAreLifeNotMessages(t *testing.T) {
	timing := fast()
	timing.Silence = 360 * time.Millisecond
	c := &Client{Timing: timing}
	scripted(t, c, func(r *raw) {
		w, err := r.ws.Writer(context.Background(), websocket.MessageText)
		require.NoError(t, err)
		// One message that takes three times the silence to arrive.
		tick := time.NewTicker(40 * time.Millisecond)
		defer tick.Stop()
		_, err = io.WriteString(w, `{"kind":"ping","ts":7,"x":"`)
		require.NoError(t, err)
		for range 27 {
			<-tick.C
			_, err := io.WriteString(w, strings.Repeat("x", 8<<10)) // more than the library buffers
			require.NoError(t, err)
		}
		_, err = io.WriteString(w, `"}`)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		r.expect(`{"kind":"pong","ts":7}`)
		require.EqualValues(t, 1, c.Status().Generation)
	})
}

func TestSilentRunnerIsClosed(t *testing.T) {
	timing := fast()
	timing.Silence, timing.Ping = 90*time.Millisecond, 20*time.Millisecond
	disconnected := make(chan Reason, 1)
	s := newTestServer(t, &Server{Timing: timing, OnDisconnect: func(_ RunnerInfo, r Reason) { disconnected <- r }})
	r := rawRunner(t, s, "r1") // does not read, so does not answer
	require.Equal(t, CauseSilent, (<-disconnected).Cause)
	require.Equal(t, KindPing, mustDecode(t, r.read()).Kind(), "it was asked before")
	code, reason := r.closed()
	require.Equal(t, 4003, code)
	require.Equal(t, "ping timeout", reason)
}

func mustDecode(t *testing.T, text string) Frame {
	f, err := Decode([]byte(text))
	require.NoError(t, err)
	return f
}

func TestServerPingsAheadOfBulk(t *testing.T) {
	timing := fast()
	timing.Silence, timing.Ping = 900*time.Millisecond, 100*time.Millisecond
	s := newTestServer(t, &Server{Timing: timing})
	r := rawRunner(t, s, "r1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() { // more requests than the sockets take
		defer close(done)
		e, err := s.end(ctx, "r1")
		require.NoError(t, err)
		body := strings.Repeat("x", 1<<20)
		for ctx.Err() == nil {
			x, err := e.open()
			if err != nil {
				return
			}
			if e.send(ctx, x, Request{ID: x.id, Method: "POST", Path: "/", Body: &body}) != nil {
				return
			}
		}
	}()
	e, err := s.end(ctx, "r1")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return e.link.out.status().Bytes > 256<<10 }, 5*time.Second, time.Millisecond)
	start := time.Now()
	var pings int
	for pings < 3 { // reading all the while
		if mustDecode(t, r.read()).Kind() == KindPing {
			pings++
		}
	}
	require.Less(t, time.Since(start), 5*time.Second)
	cancel()
	<-done
}

// TestBothEndsSaturated sends large bodies both ways at once: the readers never
// wait for their writers, so neither end can stop the other.
func TestBothEndsSaturated(t *testing.T) {
	s := newTestServer(t, &Server{})
	startClient(t, &Client{URL: s.URL, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.Copy(w, r.Body)
	})})
	s.waitRunner(t, "r1", 0)
	sent := strings.Repeat("0123456789abcde\n", 1<<20/16)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://runner/", strings.NewReader(sent))
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := s.Transport("r1").RoundTrip(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != sent {
				t.Errorf("%d of %d bytes came back: %v", len(got), len(sent), err)
			}
		})
	}
	all.Wait()
}
