package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/tunnel"
)

// fakeRunner is a runner that does only what the test says, over a real tunnel.
type fakeRunner struct {
	t      *testing.T
	secret string
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	got     []request
	streams map[string]*feed
	answer  func(request) (int, string) // nil: 202
	special http.HandlerFunc            // answers instead, if set
	attach  func(context.Context, *tunnel.Channel)
	ups     int
	flying  int // requests that are not answered yet
}

// request is what came through the tunnel.
type request struct {
	method, path, query string
	body                map[string]any
}

// feed is a session's stream: what the test says goes to the newest reader.
type feed struct {
	mu     sync.Mutex
	lines  []string
	wake   chan struct{}
	opened int
	end    bool // the reader ends, without [DONE]
}

func (s *site) runner(secret string) *fakeRunner {
	s.t.Helper()
	r := &fakeRunner{t: s.t, secret: secret, streams: map[string]*feed{}}
	r.connect(s)
	s.t.Cleanup(r.disconnect)
	return r
}

func (r *fakeRunner) id() string { return runnerID(r.secret) }

// connect dials and waits until the server knows the runner.
func (r *fakeRunner) connect(s *site) {
	r.t.Helper()
	r.dial(s)
	s.eventually("runner online", func() bool {
		return s.ok(200, "GET", "/v1/runners/"+r.id()+"/status", nil)["online"] == true
	})
}

func (r *fakeRunner) dial(s *site) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.done = cancel, make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/sessions/{id}/stream", r.stream)
	mux.HandleFunc("/", r.serve)
	client := &tunnel.Client{URL: s.url, RunnerID: r.id(), Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/resources/") { // a mux would clean the path
			r.serve(w, req)
			return
		}
		mux.ServeHTTP(w, req)
	}), Channels: r,
		Header: func(context.Context) (http.Header, error) {
			return http.Header{headerClaim: {r.secret}, "Origin": {originInternal}}, nil
		},
		Hello:  func() tunnel.Hello { return tunnel.Hello{RunnerVersion: "test", Harnesses: []string{"acp:shell"}} },
		Timing: tunnel.Timing{RetryBase: 20 * time.Millisecond, RetryCap: 50 * time.Millisecond, Drain: time.Millisecond},
		OnUp: func(context.Context, uint64) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ups++
		},
	}
	go func() {
		defer close(r.done)
		if err := client.Run(ctx); err != nil {
			r.t.Logf("runner ended: %v", err)
		}
	}()
}

func (r *fakeRunner) disconnect() { r.cancel(); <-r.done }

func (r *fakeRunner) feed(session string) *feed {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.streams[session]
	if f == nil {
		f = &feed{wake: make(chan struct{}, 1)}
		r.streams[session] = f
	}
	return f
}

func (r *fakeRunner) stream(w http.ResponseWriter, req *http.Request) {
	f := r.feed(req.PathValue("id"))
	f.mu.Lock()
	f.opened++
	mine := f.opened
	f.mu.Unlock()
	rc := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	if _, err := io.WriteString(w, "data: {\"type\": \"session.heartbeat\"}\n\n"); err != nil || rc.Flush() != nil {
		return
	}
	for {
		f.mu.Lock()
		lines, end, newest := f.lines, f.end, f.opened == mine
		if newest {
			f.lines, f.end = nil, false
		}
		f.mu.Unlock()
		if !newest {
			return
		}
		for n, line := range lines {
			_, err := io.WriteString(w, "data: "+line+"\n\n")
			if err != nil || rc.Flush() != nil {
				f.mu.Lock()
				f.lines = append(lines[n:], f.lines...)
				f.mu.Unlock()
				return
			}
		}
		if end {
			return
		}
		select {
		case <-f.wake:
		case <-req.Context().Done():
			return
		}
	}
}

// say puts events on a session's stream.
func (r *fakeRunner) say(session string, events ...map[string]any) {
	r.t.Helper()
	var lines []string
	for _, e := range events {
		b, err := json.Marshal(e)
		require.NoError(r.t, err)
		lines = append(lines, string(b))
	}
	r.sayRaw(session, lines...)
}

func (r *fakeRunner) sayRaw(session string, lines ...string) {
	f := r.feed(session)
	f.mu.Lock()
	f.lines = append(f.lines, lines...)
	f.mu.Unlock()
	f.signal()
}

func (f *feed) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// cut ends the open stream without [DONE].
func (r *fakeRunner) cut(session string) {
	f := r.feed(session)
	f.mu.Lock()
	f.end = true
	f.mu.Unlock()
	f.signal()
}

// opened is how often the server has opened the session's stream.
func (r *fakeRunner) opened(session string) int {
	f := r.feed(session)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened
}

// ServeChannel implements tunnel.ChannelHandler.
func (r *fakeRunner) ServeChannel(ctx context.Context, ch *tunnel.Channel) {
	r.mu.Lock()
	attach := r.attach
	r.mu.Unlock()
	if attach == nil {
		ch.Close(4404, "terminal resource not found or not running")
		return
	}
	attach(ctx, ch)
}

// attaches sets what an attached terminal does from now on.
func (r *fakeRunner) attaches(fn func(context.Context, *tunnel.Channel)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attach = fn
}

// specially answers every request from now on.
func (r *fakeRunner) specially(fn http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.special = fn
}

func (r *fakeRunner) serve(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	special := r.special
	r.mu.Unlock()
	if special != nil {
		special(w, req)
		return
	}
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	in := request{method: req.Method, path: req.URL.Path, query: req.URL.RawQuery}
	if len(raw) > 0 && json.Unmarshal(raw, &in.body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	answer := r.answer
	if answer == nil {
		r.got = append(r.got, in)
	}
	r.mu.Unlock()
	status, body := http.StatusAccepted, `{"queued":true}`
	if answer != nil {
		r.mu.Lock()
		r.flying++
		r.mu.Unlock()
		status, body = answer(in)
		r.mu.Lock()
		r.flying--
		r.got = append(r.got, in)
		r.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// answers sets how the runner answers from now on.
func (r *fakeRunner) answers(fn func(request) (int, string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = fn
}

// inFlight is how many requests wait for the test's answer.
func (r *fakeRunner) inFlight() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.flying
}

// requests are what came so far, those of one session and event type.
func (r *fakeRunner) requests(session, typ string) []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []request
	for _, q := range r.got {
		if strings.Contains(q.path, session) && (typ == "" || q.body["type"] == typ) {
			out = append(out, q)
		}
	}
	return out
}

// await waits until n requests of that type came.
func (r *fakeRunner) await(s *site, session, typ string, n int) []request {
	r.t.Helper()
	s.eventually("requests of type "+typ, func() bool { return len(r.requests(session, typ)) >= n })
	return r.requests(session, typ)
}

// texts are the texts of the messages that came for a session.
func (r *fakeRunner) texts(session string) []string {
	var out []string
	for _, q := range r.requests(session, "message") {
		out = append(out, q.body["content"].([]any)[0].(map[string]any)["text"].(string))
	}
	return out
}

// The events of one turn, as our runner tells them.

func status(session, s string, extra ...map[string]any) map[string]any {
	e := map[string]any{"type": "session.status", "conversation_id": session, "status": s}
	for _, m := range extra {
		for k, v := range m {
			e[k] = v
		}
	}
	return e
}

func response(kind, id string, inputs []string, extra ...map[string]any) map[string]any {
	body := map[string]any{"id": id, "object": "response", "status": kind, "model": "shell", "created_at": 1, "output": []any{}}
	for _, m := range extra {
		for k, v := range m {
			body[k] = v
		}
	}
	return map[string]any{"type": "response." + kind, "response": body, "input_item_ids": inputs}
}

func preview(message string, index int, text string) map[string]any {
	return map[string]any{"type": "response.output_text.delta", "delta": text, "message_id": message, "index": index}
}

// external posts a finished text as our runner does.
func (s *site) external(session, response, source, text string) string {
	s.t.Helper()
	out := s.post(session, "external_conversation_item", map[string]any{"item_type": "message", "response_id": response,
		"source_id": source, "message_id": source,
		"item_data": map[string]any{"role": "assistant", "agent": "shell", "content": []any{map[string]any{"type": "output_text", "text": text}}}})
	require.Equal(s.t, false, out["queued"])
	return out["item_id"].(string)
}

// question is a request for a human's answer.
func question(id, message string) map[string]any {
	return map[string]any{"type": typeQuestion, "elicitation_id": id, "params": map[string]any{"message": message}}
}
