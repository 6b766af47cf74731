package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// fake is a server with one session, s. Its stream works as ours does: rows are
// numbered and repeated, deltas are not.
type fake struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	rows    []string // rows[n] has the id n+1
	first   int      // rows before it are pruned
	streams map[chan string]struct{}
	opened  []string // Last-Event-ID of each stream
	posts   map[string]int
	items   []string
	session string
	down    bool // every call ends without an answer
	onPost  func(n int)
	joined  chan struct{} // one per stream
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t, streams: map[chan string]struct{}{}, posts: map[string]int{}, session: `{"id":"s","status":"running","runner_id":"r","runner_online":true}`,
		joined: make(chan struct{}, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/sessions/s/stream", f.stream)
	mux.HandleFunc("POST /v1/sessions/s/events", f.post)
	mux.HandleFunc("GET /v1/sessions/s", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, _ = fmt.Fprint(w, f.session)
	})
	mux.HandleFunc("GET /v1/sessions/s/items", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, _ = fmt.Fprintf(w, `{"data":[%s],"has_more":false}`, strings.Join(f.items, ","))
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		down := f.down
		f.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(w, r)
	}))
	f.url = server.URL
	t.Cleanup(server.Close)
	t.Cleanup(f.cut)
	return f
}

// follower is a quick one on the fake's session.
func (f *fake) follower(out *strings.Builder) *Follower {
	base, err := url.Parse(f.url)
	require.NoError(f.t, err)
	c := New(base, "")
	fl := &Follower{Client: c, Session: "s", Text: func(s string) { out.WriteString(s) }, Retry: 1}
	f.t.Cleanup(func() {
		fl.Close()
		c.Close()
	})
	return fl
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	lines := make(chan string, 1000)
	f.mu.Lock()
	last := r.Header.Get("Last-Event-ID")
	f.opened = append(f.opened, last)
	from := len(f.rows)
	if last != "" {
		n, err := strconv.Atoi(last)
		require.NoError(f.t, err)
		if n < f.first {
			w.Header().Set("X-Outrunner-Resync", "1")
		} else {
			from = n
		}
	}
	w.Header().Set("X-Outrunner-Event-Id", strconv.Itoa(len(f.rows)))
	lines <- "data: {\"type\":\"session.heartbeat\"}\n\n"
	for ; from < len(f.rows); from++ {
		lines <- fmt.Sprintf("id: %d\ndata: %s\n\n", from+1, f.rows[from])
	}
	f.streams[lines] = struct{}{}
	f.mu.Unlock()
	f.joined <- struct{}{}
	for line := range lines {
		_, _ = fmt.Fprint(w, line)
		w.(http.Flusher).Flush()
	}
	panic(http.ErrAbortHandler)
}

func (f *fake) post(w http.ResponseWriter, r *http.Request) {
	var ev struct {
		Type string
		Data struct {
			StableID string `json:"stable_id"`
			Content  []struct{ Text string }
		}
	}
	require.NoError(f.t, json.NewDecoder(r.Body).Decode(&ev))
	f.mu.Lock()
	f.posts[ev.Data.StableID]++
	n := f.posts[ev.Data.StableID]
	hook := f.onPost
	f.mu.Unlock()
	if hook != nil {
		hook(n)
	}
	_, _ = fmt.Fprint(w, `{"queued":true,"item_id":"i"}`)
}

// row publishes a stored event, delta a preview.
func (f *fake) row(data string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = append(f.rows, data)
	f.send(fmt.Sprintf("id: %d\ndata: %s\n\n", len(f.rows), data))
}

func (f *fake) delta(message string, index int, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.send(fmt.Sprintf("data: {\"type\":\"response.output_text.delta\",\"message_id\":%q,\"index\":%d,\"delta\":%q}\n\n", message, index, text))
}

func (f *fake) send(line string) {
	for s := range f.streams {
		s <- line
	}
}

// item stores a piece of the answer, and tells it if live.
func (f *fake) item(id, response, message, text string, live bool) {
	row := fmt.Sprintf(`{"id":%q,"type":"message","role":"assistant","response_id":%q,"stream_message_id":%q,"content":[{"type":"output_text","text":%q}]}`,
		id, response, message, text)
	f.mu.Lock()
	f.items = append(f.items, row)
	f.mu.Unlock()
	if live {
		f.row(`{"type":"response.output_item.done","item":` + row + `}`)
	}
}

// cut ends every open stream.
func (f *fake) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.streams {
		delete(f.streams, s)
		close(s)
	}
}

const (
	begin    = `{"type":"response.in_progress","response":{"id":"r"},"input_item_ids":["i"]}`
	complete = `{"type":"response.completed","response":{"id":"r"},"input_item_ids":["i"]}`
)
