package tunnel

import (
	"io"
	"net/http"
	"slices"
	"testing"
	"time"
)

// BenchmarkBulkUp measures one answer's bytes from runner to server.
func BenchmarkBulkUp(b *testing.B) {
	s := newTestServer(b, &Server{Timing: Timing{}})
	chunk := make([]byte, chunkBytes)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	startClient(b, &Client{URL: s.URL, Handler: h})
	s.waitRunner(b, "r1", 0)
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://runner/", nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := s.Transport("r1").RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(chunkBytes)
	buf := make([]byte, chunkBytes)
	for b.Loop() {
		if _, err := io.ReadFull(resp.Body, buf); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	_ = resp.Body.Close()
}

// BenchmarkRoundTrip measures one small request and answer after the other.
func BenchmarkRoundTrip(b *testing.B) {
	s := newTestServer(b, &Server{Timing: Timing{}})
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	startClient(b, &Client{URL: s.URL, Handler: h})
	s.waitRunner(b, "r1", 0)
	rt := s.Transport("r1")
	for b.Loop() {
		get(b, rt, "/")
	}
}

// BenchmarkRoundTripBesideBulk is BenchmarkRoundTrip while one answer saturates
// the tunnel. It reports the median and the 99th percentile in microseconds.
func BenchmarkRoundTripBesideBulk(b *testing.B) {
	s := newTestServer(b, &Server{Timing: Timing{}})
	chunk := make([]byte, chunkBytes)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/small" {
			_, _ = io.WriteString(w, "ok")
			return
		}
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	startClient(b, &Client{URL: s.URL, Handler: h})
	s.waitRunner(b, "r1", 0)
	rt := s.Transport("r1")
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://runner/bulk", nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, resp.Body)
		done <- n
	}()
	start := time.Now()
	var took []time.Duration
	for b.Loop() {
		at := time.Now()
		get(b, rt, "/small")
		took = append(took, time.Since(at))
	}
	elapsed := time.Since(start)
	_ = resp.Body.Close()
	n := <-done
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
	b.ReportMetric(float64(n)/elapsed.Seconds()/1e6, "bulk-MB/s")
}
