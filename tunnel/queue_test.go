package tunnel

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// drainOne lets the writer take what it would write next.
func drainOne(w *writer) []item {
	batch, _ := w.gather(nil)
	return batch
}

func body(n int) Frame { return ResponseBody{ID: "x", Body: strings.Repeat("x", n)} }

// pushed pushes in a goroutine and returns the channel of its result.
func pushed(ctx context.Context, w *writer, st *outStream, f Frame) chan error {
	done := make(chan error, 1)
	go func() { done <- w.push(ctx, st, f) }()
	return done
}

// blocked waits until the stream has a producer that waits.
func blocked(t *testing.T, w *writer, st *outStream) {
	t.Helper()
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return st.room != nil
	}, 5*time.Second, time.Millisecond)
}

func TestPushBlocksAtTheStreamsBound(t *testing.T) {
	w := newWriter(Limits{StreamQueue: 1000}.withDefaults(), true)
	var st, other outStream
	require.NoError(t, w.push(t.Context(), &st, body(2000)), "one frame may go over")
	done := pushed(t.Context(), w, &st, body(10))
	blocked(t, w, &st)
	require.NoError(t, w.push(t.Context(), &other, body(10)), "a neighbour does not notice")
	require.Len(t, drainOne(w), 2)
	require.NoError(t, <-done)
	require.Len(t, drainOne(w), 1)
}

func TestPushBlocksAtTheTotal(t *testing.T) {
	w := newWriter(Limits{SendTotal: 1000}.withDefaults(), true)
	var a, b outStream
	require.NoError(t, w.push(t.Context(), &a, body(1500)))
	done := pushed(t.Context(), w, &b, body(10))
	blocked(t, w, &b)
	require.Len(t, drainOne(w), 1)
	require.NoError(t, <-done)
	require.Len(t, drainOne(w), 1)
	require.Greater(t, w.status().HighWater, 1500)
	require.Zero(t, w.status().Bytes)
}

func TestPushEndsWithItsContextItsStreamAndItsLink(t *testing.T) {
	gone := errors.New("gone")
	start := func() (*writer, *outStream, context.CancelCauseFunc, chan error) {
		w := newWriter(Limits{StreamQueue: 10}.withDefaults(), true)
		st := &outStream{}
		require.NoError(t, w.push(t.Context(), st, body(20)))
		ctx, cancel := context.WithCancelCause(t.Context())
		done := pushed(ctx, w, st, body(20))
		blocked(t, w, st)
		return w, st, cancel, done
	}
	_, _, cancel, done := start()
	cancel(gone)
	require.ErrorIs(t, <-done, gone)

	w, st, cancel, done := start()
	w.abort(st)
	require.ErrorIs(t, <-done, errAborted)
	require.Empty(t, drainOne(w), "what the stream had queued is dropped")
	w.put(st, body(1))
	w.putMark(st, func() { t.Error("a mark of an aborted stream was reached") })
	require.True(t, w.s.idle())
	cancel(nil)

	w, st, cancel, done = start()
	w.kill()
	require.ErrorIs(t, <-done, errDead)
	require.ErrorIs(t, w.push(t.Context(), st, body(1)), errDead)
	cancel(nil)
}

func TestBatchOrderAndSize(t *testing.T) {
	w := newWriter(Limits{Window: 1 << 20}.withDefaults(), false)
	var quick, slow outStream
	for range 8 {
		w.put(&slow, body(32<<10))
	}
	w.put(&quick, body(10))
	w.pingApp()
	w.owePong(IntOf(1))
	w.owePong(IntOf(2))
	require.True(t, w.refuse(refusal{id: "no", status: 503, code: "overloaded"}))
	w.control(RequestCancel{ID: "c"})
	var kinds []Kind
	size := 0
	for _, it := range drainOne(w) {
		f, err := Decode(it.msg)
		require.NoError(t, err)
		kinds = append(kinds, f.Kind())
		size += len(it.msg)
	}
	require.Equal(t, []Kind{
		KindPong, KindPing, KindRequestCancel, // one pong, for the newest
		KindResponseBody,                                    // the quick one
		KindResponseHead, KindResponseBody, KindResponseEnd, // the refusal
		KindResponseBody, KindResponseBody, // bulk, up to the batch's size
	}, kinds)
	require.Less(t, size, batchBytes+40<<10)
}

func TestRefusalListIsBounded(t *testing.T) {
	w := newWriter(Limits{Refusals: 2}.withDefaults(), true)
	require.True(t, w.refuse(refusal{id: "1", channel: true, code: "overloaded"}))
	require.True(t, w.refuse(refusal{id: "2", status: 400, code: `a "quoted" word`}))
	require.False(t, w.refuse(refusal{id: "3"}))
	var texts []string
	for _, it := range drainOne(w) {
		texts = append(texts, string(it.msg))
	}
	require.JSONEq(t, `{"kind":"ws.close","ch_id":"1","code":1013,"reason":"overloaded"}`, texts[0])
	require.JSONEq(t, `{"kind":"response.body","id":"2","body":"{\"error\": \"a \\\"quoted\\\" word\"}","encoding":"utf-8"}`, texts[2])
}

func TestLinkRate(t *testing.T) {
	var r linkRate
	require.Zero(t, r.need(1000), "nothing is known")
	r.add(500, 2*time.Second)
	require.Zero(t, r.need(1000), "held up for a moment")
	r.add(1<<20, time.Millisecond)
	r.add(1000, 2*time.Second)
	require.Zero(t, r.need(1000), "what was before the free write does not count")
	r.add(3000, 2*time.Second)
	require.Equal(t, 10*time.Second, r.need(10_000))
	r.add(100, time.Millisecond)
	require.Equal(t, 10*time.Second, r.need(10_000), "a few bytes always find room")
	for range 20 {
		r.add(20_000, 2*time.Second)
	}
	require.InDelta(t, time.Second, r.need(10_000), float64(100*ms), "old evidence fades")
	r.add(freeFlush, time.Millisecond)
	require.Zero(t, r.need(1<<30))
}

func TestRequestThatWouldTakeTooLongIsRefused(t *testing.T) {
	s := newTestServer(t, &Server{})
	rawRunner(t, s, "r1")
	e, err := s.end(t.Context(), "r1")
	require.NoError(t, err)
	out := e.link.out
	out.mu.Lock()
	out.rate = linkRate{bytes: 100_000, blocked: 10 * time.Second}
	out.mu.Unlock()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://runner/", strings.NewReader(strings.Repeat("x", 300_000)))
	require.NoError(t, err)
	_, err = s.Transport("r1").RoundTrip(req)
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusRequestEntityTooLarge, refused.Status)
	require.Contains(t, refused.Reason, "would take 3")
	e.mu.Lock()
	defer e.mu.Unlock()
	require.Empty(t, e.exchanges)
}

func TestQueuedRequestIsRecalled(t *testing.T) {
	s := newTestServer(t, &Server{})
	r := rawRunner(t, s, "r1") // reads nothing for now
	e, err := s.end(t.Context(), "r1")
	require.NoError(t, err)
	// Requests until the window is shut: what comes now stays in the queue.
	big := strings.Repeat("x", 70<<10)
	var sent []*exchange
	send := func(ctx context.Context, path string) *exchange {
		x, err := e.open()
		require.NoError(t, err)
		require.NoError(t, e.send(ctx, x, Request{ID: x.id, Method: "POST", Path: path, Body: &big}))
		return x
	}
	for shut := false; !shut; {
		sent = append(sent, send(t.Context(), "/sent"))
		require.Eventually(t, func() bool {
			q := e.link.out.status()
			shut = q.InFlight >= q.Window
			return shut || q.Bytes == 0
		}, 5*time.Second, time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	x := send(ctx, "/recalled")
	cancel()
	_, err = x.answer(ctx)
	require.ErrorIs(t, err, context.Canceled)
	last := send(t.Context(), "/last")
	for { // the runner reads on
		f, ok := r.next().(Request)
		require.True(t, ok, "no cancel for what was never sent")
		require.NotEqual(t, "/recalled", f.Path)
		if f.ID == last.id {
			break
		}
	}
	require.NotEmpty(t, sent)

	// What still waits when the tunnel is lost is known to be unsent.
	e.link.out.mu.Lock()
	e.link.out.win.size = 0
	e.link.out.mu.Unlock()
	waiting := send(t.Context(), "/waiting")
	e.link.abort(Reason{Cause: CauseLost})
	_, err = waiting.answer(t.Context())
	var lost *LostError
	require.ErrorAs(t, err, &lost)
	require.True(t, lost.Unsent)
	_, err = last.answer(t.Context())
	require.ErrorAs(t, err, &lost)
	require.False(t, lost.Unsent)
}
