package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scripted runs a client against a script of the server's side, and waits for
// the end of the script.
func scripted(t *testing.T, c *Client, script func(r *raw)) {
	t.Helper()
	over := make(chan struct{})
	var once sync.Once
	c.URL = rawServer(t, func(r *raw, _ *http.Request) {
		once.Do(func() {
			defer close(over)
			require.Equal(t, KindHello, r.next().Kind())
			script(r)
		})
	})
	stop := startClient(t, c)
	<-over
	require.NoError(t, stop())
}

// keyHeader is the order key of tests.
func keyHeader(r *http.Request) string { return r.Header.Get("Key") }

func request(id, path, key string) string {
	return fmt.Sprintf(`{"kind":"request","id":%q,"method":"GET","path":%q,"headers":[["key",%q]]}`, id, path, key)
}

func TestHandlerCanceledWhileItRuns(t *testing.T) {
	began := make(chan struct{})
	ended := make(chan error, 2)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "x")
		w.(http.Flusher).Flush()
		close(began)
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
		_, err := w.Write(make([]byte, chunkBytes))
		ended <- err
	})
	scripted(t, &Client{Handler: h}, func(r *raw) {
		r.send(request("a", "/", ""))
		require.Equal(t, KindResponseHead, r.next().Kind())
		require.Equal(t, KindResponseBody, r.next().Kind())
		<-began
		r.send(`{"kind":"request.cancel","id":"a","reason":"gone"}`)
		want := &CanceledError{Reason: "gone"}
		require.Equal(t, error(want), <-ended)
		require.Equal(t, error(want), <-ended)
		// No further frame for that id: the next frame is the pong.
		r.send(`{"kind":"ping","ts":7}`)
		r.expect(`{"kind":"pong","ts":7}`)
	})
}

func TestHandlerCanceledBeforeItsHead(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	})
	scripted(t, &Client{Handler: h}, func(r *raw) {
		r.send(request("a", "/", ""))
		<-began
		r.send(`{"kind":"request.cancel","id":"a"}`)
		<-ended
		r.send(`{"kind":"ping","ts":7}`)
		r.expect(`{"kind":"pong","ts":7}`)
	})
}

func TestHandlerCanceledInTheQueueNeverStarts(t *testing.T) {
	release := make(chan struct{})
	var mu sync.Mutex
	var started []string
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		started = append(started, r.URL.Path)
		mu.Unlock()
		if r.URL.Path == "/1" {
			<-release
		}
	})
	scripted(t, &Client{Handler: h, OrderKey: keyHeader}, func(r *raw) {
		for _, p := range []string{"1", "2", "3"} {
			r.send(request(p, "/"+p, "k"))
		}
		r.send(`{"kind":"request.cancel","id":"2"}`)
		r.send(`{"kind":"ping","ts":7}`)
		r.expect(`{"kind":"pong","ts":7}`)
		close(release)
		for _, id := range []string{"1", "1", "3", "3"} { // head and end of each
			switch f := r.next().(type) {
			case ResponseHead:
				require.Equal(t, id, f.ID)
			case ResponseEnd:
				require.Equal(t, id, f.ID)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, []string{"/1", "/3"}, started)
	})
}

func TestHandlerAdmission(t *testing.T) {
	for _, c := range []struct {
		name  string
		admit func(w http.ResponseWriter, r *http.Request)
	}{
		{"by saying so", func(_ http.ResponseWriter, r *http.Request) { Admitted(r.Context()) }},
		{"by its head", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }},
		{"by its body", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			second, admit := make(chan struct{}), make(chan struct{})
			var early atomic.Bool
			var admitted atomic.Bool
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/2" {
					early.Store(!admitted.Load())
					close(second)
					return
				}
				<-admit
				admitted.Store(true)
				c.admit(w, r)
				<-second // it goes on although the next of its key runs
			})
			scripted(t, &Client{Handler: h, OrderKey: keyHeader}, func(r *raw) {
				r.send(request("1", "/1", "k"))
				r.send(request("2", "/2", "k"))
				r.send(`{"kind":"ping","ts":7}`)
				r.expect(`{"kind":"pong","ts":7}`)
				close(admit)
				<-second
			})
			require.False(t, early.Load())
		})
	}
}

func TestHandlerSeesItsGeneration(t *testing.T) {
	gens := make(chan uint64, 1)
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { gens <- Generation(r.Context()) })
	scripted(t, &Client{Handler: h}, func(r *raw) {
		r.send(request("1", "/", ""))
		require.EqualValues(t, 1, <-gens)
	})
	require.Zero(t, Generation(t.Context()))
	Admitted(t.Context()) // outside a tunnel it does nothing
}

func TestRunnerRefusesWhatIsTooMuch(t *testing.T) {
	release := make(chan struct{})
	var served atomic.Int32
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release; served.Add(1) })
	scripted(t, &Client{Handler: h, OrderKey: keyHeader, Limits: Limits{QueuedPerKey: 3}}, func(r *raw) {
		for i := range 6 {
			r.send(request(fmt.Sprint(i), "/", "k"))
		}
		for _, id := range []string{"4", "5"} {
			r.expect(`{"kind":"response.head","id":"` + id + `","status":503,"headers":[["content-type","application/json"]]}`)
			r.expect(`{"kind":"response.body","id":"` + id + `","body":"{\"error\": \"overloaded\"}","encoding":"utf-8"}`)
			r.expect(`{"kind":"response.end","id":"` + id + `"}`)
		}
		r.send(request("0", "/", "k")) // an id in use: dropped
		r.send(`{"kind":"ping","ts":7}`)
		r.expect(`{"kind":"pong","ts":7}`)
		close(release)
		for range 8 {
			r.next()
		}
		require.EqualValues(t, 4, served.Load())
	})
}

func TestRunnerClosesOnAFlood(t *testing.T) {
	release, down := make(chan struct{}), make(chan Reason, 1)
	c := &Client{
		Handler:  http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }),
		OrderKey: keyHeader, Limits: Limits{QueuedPerKey: 1, Refusals: 5}, Timing: fast(),
		OnDown: func(_ uint64, r Reason) { down <- r },
	}
	c.Timing.RetryBase, c.Timing.RetryCap = time.Hour, time.Hour
	scripted(t, c, func(r *raw) {
		// The peer reads nothing; some refusals fit into the sockets' buffers,
		// and then the list fills.
		long := strings.Repeat("i", 3000)
		for i := 0; len(down) == 0; i++ {
			r.send(request(long+fmt.Sprint(i), "/", "k"))
		}
		require.Equal(t, CauseFlood, (<-down).Cause)
		code, reason := r.closed()
		require.Equal(t, closeTryLater, code)
		require.Equal(t, "flooding", reason)
		close(release)
	})
}

func TestHandlerWritesFailWhenTheTunnelIsLost(t *testing.T) {
	s := newTestServer(t, &Server{})
	p := newProxy(t, s.URL)
	failed := make(chan error, 2)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := w.Write(make([]byte, chunkBytes)); err != nil {
				failed <- err
				<-r.Context().Done()
				failed <- context.Cause(r.Context())
				return
			}
		}
	})
	startClient(t, &Client{URL: p.url(), Handler: h})
	s.waitRunner(t, "r1", 0)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner/", nil)
	require.NoError(t, err)
	resp, err := s.Transport("r1").RoundTrip(req)
	require.NoError(t, err)
	_, err = io.ReadFull(resp.Body, make([]byte, 1<<20))
	require.NoError(t, err)
	p.cut()
	var lost *LostError
	require.ErrorAs(t, <-failed, &lost)
	require.ErrorAs(t, <-failed, &lost)
	_, err = io.Copy(io.Discard, resp.Body)
	require.ErrorAs(t, err, &lost)
	require.NoError(t, resp.Body.Close())
}

func TestOnCovered(t *testing.T) {
	covered, wrapped := make(chan struct{}), make(chan bool, 2)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "caf\xc3") // held back by the cutter, and sent now
		var count atomic.Int32
		wrapped <- OnCovered(wrapper{w}, func() {
			if count.Add(1) == 1 {
				close(covered)
			}
		})
		<-covered
		_, _ = io.WriteString(w, "\xa9")
	})
	scripted(t, &Client{Handler: h}, func(r *raw) {
		r.send(request("1", "/", ""))
		require.True(t, <-wrapped)
		select {
		case <-covered:
			require.Fail(t, "the peer has read nothing yet")
		default:
		}
		require.Equal(t, KindResponseHead, r.next().Kind())
		var body []byte
		for {
			f := r.next() // reading answers the ping
			if f.Kind() == KindResponseEnd {
				break
			}
			b, ok := f.(ResponseBody)
			require.True(t, ok)
			data, err := DecodeBody(b.Body, b.Encoding)
			require.NoError(t, err)
			body = append(body, data...)
		}
		require.Equal(t, "café", string(body))
	})
	require.False(t, OnCovered(nil, func() {}))
}

// wrapper is a ResponseWriter of someone's middleware.
type wrapper struct{ http.ResponseWriter }

func (w wrapper) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestResponseController(t *testing.T) {
	kept := make(chan http.ResponseWriter, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/empty":
		case "/304":
			w.WriteHeader(http.StatusNotModified)
			_, err := w.Write([]byte("x"))
			require.ErrorIs(t, err, http.ErrBodyNotAllowed)
		case "/twice":
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK)
			require.NoError(t, http.NewResponseController(wrapper{w}).Flush())
		case "/kept":
			kept <- w
		}
	})
	scripted(t, &Client{Handler: h}, func(r *raw) {
		for _, c := range []struct {
			path   string
			status int64
		}{{"/empty", 200}, {"/304", 304}, {"/twice", 418}, {"/kept", 200}} {
			r.send(request(c.path, c.path, ""))
			require.Equal(t, ResponseHead{ID: c.path, Status: IntOf(c.status), Headers: []Header{}}, r.next())
			require.Equal(t, ResponseEnd{ID: c.path}, r.next())
		}
		r.send(`{"kind":"request","id":"head","method":"HEAD","path":"/empty"}`)
		require.Equal(t, KindResponseHead, r.next().Kind())
		require.Equal(t, ResponseEnd{ID: "head"}, r.next())
	})
	w := <-kept
	_, err := w.Write([]byte("x"))
	require.ErrorIs(t, err, errFinished)
	require.True(t, errors.Is(http.NewResponseController(w).Flush(), errFinished))
}

func TestTextIsCutBetweenCharacters(t *testing.T) {
	text := strings.Repeat("a", chunkBytes-1) + "€" + strings.Repeat("é", chunkBytes)
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; i < len(text); i += 1000 {
			_, _ = io.WriteString(w, text[i:min(i+1000, len(text))])
			if i%5000 == 0 {
				w.(http.Flusher).Flush()
			}
		}
	})
	scripted(t, &Client{Handler: h}, func(r *raw) {
		r.send(request("1", "/", ""))
		require.Equal(t, KindResponseHead, r.next().Kind())
		var got strings.Builder
		for {
			b, ok := r.next().(ResponseBody)
			if !ok {
				break
			}
			require.Equal(t, EncodingUTF8, b.Encoding)
			require.LessOrEqual(t, len(b.Body), chunkBytes)
			got.WriteString(b.Body)
		}
		require.Equal(t, text, got.String())
	})
}
