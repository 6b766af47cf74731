package tunnel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTenThousandRequestsOverFiftyCuts sends 10,000 requests with order keys
// over one tunnel that bulk streams saturate and that is cut 50 times. Every
// request is answered, or fails with a typed error; those of one key start in
// order; none starts twice.
func TestTenThousandRequestsOverFiftyCuts(t *testing.T) {
	const total, keys, cuts = 10_000, 40, 50
	s := newTestServer(t, &Server{Log: orDiscard(nil)})
	p := newProxy(t, s.URL)
	var mu sync.Mutex
	starts := map[string][]int{} // by key and generation
	seen := map[int]int{}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bulk" {
			w.Header().Set("Content-Type", "text/plain")
			chunk := bytes.Repeat([]byte("x"), chunkBytes)
			for {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}
		var n int
		_, err := fmt.Sscanf(r.URL.Path, "/n/%d", &n)
		mu.Lock()
		line := fmt.Sprintf("%s@%d", keyHeader(r), Generation(r.Context()))
		starts[line] = append(starts[line], n)
		seen[n]++
		mu.Unlock()
		if n%3 == 0 {
			Admitted(r.Context())
		}
		w.Header().Set("Content-Type", "text/plain")
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, r.URL.Path)
	})
	startClient(t, &Client{URL: p.url(), Handler: h, OrderKey: keyHeader, Log: orDiscard(nil)})
	s.waitRunner(t, "r1", 0)

	// Bulk goes on beside them, opened again after each cut.
	ctx, cancel := context.WithCancel(t.Context())
	var bulk sync.WaitGroup
	var bulkBytes atomic.Int64
	for range 2 {
		bulk.Go(func() {
			for ctx.Err() == nil {
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://runner/bulk", nil)
				resp, err := s.Transport("r1").RoundTrip(req)
				if err != nil {
					s.waitRunner(t, "r1", 0)
					continue
				}
				n, _ := io.Copy(io.Discard, resp.Body)
				bulkBytes.Add(n)
				_ = resp.Body.Close()
			}
		})
	}

	var answered, failed atomic.Int64
	var running sync.WaitGroup
	slots := make(chan struct{}, 60)
	settle := func(counter *atomic.Int64) {
		n := counter.Add(1)
		if counter == &answered && n%100 == 0 && n <= 100*cuts {
			p.cut()
		}
		<-slots
	}
	fail := func(n int, err error) {
		var lost *LostError
		var offline *OfflineError
		if !errors.As(err, &lost) && !errors.As(err, &offline) {
			t.Errorf("request %d: %v", n, err)
		}
		settle(&failed)
	}
	for n := range total {
		slots <- struct{}{}
		key := fmt.Sprint(n % keys)
		e, err := s.end(ctx, "r1")
		if err != nil {
			fail(n, err)
			s.waitRunner(t, "r1", 0)
			continue
		}
		x, err := e.open()
		if err == nil {
			err = e.send(ctx, x, Request{ID: x.id, Method: "GET", Path: fmt.Sprintf("/n/%d", n), Headers: []Header{{"key", key}}})
		}
		if err != nil {
			fail(n, err)
			s.waitRunner(t, "r1", e.info.Generation)
			continue
		}
		running.Go(func() {
			resp, err := x.answer(ctx)
			if err != nil {
				fail(n, err)
				return
			}
			body := &exchangeBody{x: x, stop: func() bool { return true }}
			got, err := io.ReadAll(body)
			_ = body.Close()
			if err != nil {
				fail(n, err)
				return
			}
			if want := fmt.Sprintf("/n/%d", n); string(got) != want || resp.StatusCode != http.StatusOK {
				t.Errorf("request %d was answered %d %q", n, resp.StatusCode, got)
			}
			settle(&answered)
		})
	}
	running.Wait()
	cancel()
	bulk.Wait()

	require.EqualValues(t, total, answered.Load()+failed.Load())
	require.GreaterOrEqual(t, p.cuts, cuts)
	require.Greater(t, answered.Load(), int64(total/2), "cuts cost a part, not all")
	require.Positive(t, bulkBytes.Load())
	mu.Lock()
	defer mu.Unlock()
	for n, times := range seen {
		require.Equal(t, 1, times, "request %d started twice", n)
	}
	for line, ns := range starts {
		require.IsIncreasing(t, append([]int{-1}, ns...), line)
	}
	t.Logf("answered %d, failed %d, cuts %d, bulk %d MiB", answered.Load(), failed.Load(), p.cuts, bulkBytes.Load()>>20)
}
