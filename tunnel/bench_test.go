package tunnel

import (
	"io"
	"net/http"
	"testing"
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
