package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/agentspec"
	"github.com/outrunner/outrunner/test/testkit"
)

const (
	session = "5e5510000000000000000000000000aa"
	agentID = "a9e40000000000000000000000000001"
	maxRead = 100 << 20 // bytes of one message, as upstream
)

// item1 and item2 are the ids of a user's messages.
const (
	item1 = "17e30000000000000000000000000001"
	item2 = "17e30000000000000000000000000002"
)

// dict is a JSON object.
type dict = map[string]any

// upstream is a server with one session, whose tunnel is in the test's hand.
type upstream struct {
	URL string

	t     testing.TB
	ctx   context.Context //nolint:containedctx // it is the life of the server
	lines chan *line

	mu       sync.Mutex
	verdict  int    // 0, or the status of every upgrade
	items    []dict // of the session
	stored   []dict // the bodies posted to its events
	callback http.Header
}

// newUpstream starts the server. It ends with the test.
func newUpstream(t testing.TB) *upstream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	u := &upstream{t: t, ctx: ctx, lines: make(chan *line)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/runners/{id}/tunnel", u.tunnel)
	mux.HandleFunc("GET /v1/sessions/{id}", u.snapshot)
	mux.HandleFunc("GET /v1/sessions/{id}/items", u.listItems)
	mux.HandleFunc("GET /v1/sessions/{id}/agent/contents", u.contents)
	mux.HandleFunc("POST /v1/sessions/{id}/events", u.store)
	server := httptest.NewServer(mux)
	u.URL = server.URL
	t.Cleanup(func() {
		cancel()
		server.Close()
	})
	return u
}

// refuse answers every upgrade with the status.
func (u *upstream) refuse(status int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.verdict = status
}

func (u *upstream) tunnel(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	verdict := u.verdict
	u.mu.Unlock()
	if verdict != 0 {
		w.WriteHeader(verdict)
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		return // the runner has gone
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(maxRead)
	l := &line{t: u.t, ws: ws, ctx: u.ctx, runner: r.PathValue("id"), header: r.Header}
	select {
	case u.lines <- l:
		<-u.ctx.Done()
	case <-u.ctx.Done():
	}
}

// next is the runner's next connection.
func (u *upstream) next() *line {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.ctx, testkit.Patience)
	defer cancel()
	select {
	case l := <-u.lines:
		return l
	case <-ctx.Done():
		require.FailNow(u.t, "the runner does not connect")
		return nil
	}
}

func (u *upstream) snapshot(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.callback = r.Header
	u.mu.Unlock()
	answer(w, dict{"id": session, "agent_id": agentID, "agent_name": "shell", "status": "idle", "created_at": 1750000000, "labels": dict{},
		"parent_session_id": nil, "sub_agent_name": nil, "workspace": nil, "model_override": nil, "runner_id": nil, "archived": false})
}

func (u *upstream) listItems(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	rows := u.items
	for n, it := range u.items {
		if it["id"] == r.URL.Query().Get("after") {
			rows = u.items[n+1:]
		}
	}
	answer(w, dict{"object": "list", "data": append([]dict{}, rows...), "first_id": nil, "last_id": nil, "has_more": false})
}

func (u *upstream) contents(w http.ResponseWriter, _ *http.Request) {
	bundle, err := agentspec.Bundle([]byte("name: shell\nprompt: none\nexecutor: {harness: \"acp:shell\"}\n"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/gzip")
	_, _ = w.Write(bundle) // the runner may have gone
}

func (u *upstream) store(w http.ResponseWriter, r *http.Request) {
	var body dict
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stored = append(u.stored, body)
	answer(w, dict{"queued": false, "item_id": fmt.Sprintf("%032x", len(u.stored))})
}

// soFar is what the runner has stored.
func (u *upstream) soFar() []dict {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]dict{}, u.stored...)
}

// message adds a user's message to the session, and is what the runner gets.
func (u *upstream) message(id, text string) dict {
	content := []dict{{"type": "input_text", "text": text}}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.items = append(u.items, dict{"id": id, "type": "message", "role": "user", "status": "completed", "response_id": "", "content": content})
	return dict{"type": "message", "role": "user", "content": content, "agent_id": agentID, "model": "shell", "has_mcp_servers": false,
		"browser_renderer_available": false, "persisted_item_id": id, "agent_revision": agentID + "/1"}
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the runner may have gone
}

// line is one connection of a runner, spoken by hand.
type line struct {
	t      testing.TB
	ws     *websocket.Conn
	ctx    context.Context //nolint:containedctx // it is the life of the connection
	runner string          // the id in the path
	header http.Header     // of the upgrade
	asked  int
	held   []dict // frames that somebody else waits for
}

// send sends one frame.
func (l *line) send(frame any) {
	l.t.Helper()
	text, err := json.Marshal(frame)
	require.NoError(l.t, err)
	l.sendText(string(text))
}

func (l *line) sendText(text string) {
	l.t.Helper()
	require.NoError(l.t, l.ws.Write(l.ctx, websocket.MessageText, []byte(text)))
}

// receive is the next frame for which want holds; others wait for their turn.
func (l *line) receive(want func(dict) bool) dict {
	l.t.Helper()
	for n, f := range l.held {
		if want(f) {
			l.held = append(l.held[:n:n], l.held[n+1:]...)
			return f
		}
	}
	ctx, cancel := context.WithTimeout(l.ctx, testkit.Patience)
	defer cancel()
	for {
		typ, text, err := l.ws.Read(ctx)
		require.NoError(l.t, err)
		require.Equal(l.t, websocket.MessageText, typ, "upstream drops binary messages")
		var f dict
		require.NoError(l.t, json.Unmarshal(text, &f), "%s", text)
		if want(f) {
			return f
		}
		l.held = append(l.held, f)
	}
}

// pong is the next pong as it came.
func (l *line) pong() string {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.ctx, testkit.Patience)
	defer cancel()
	for {
		_, text, err := l.ws.Read(ctx)
		require.NoError(l.t, err)
		if strings.Contains(string(text), `"pong"`) {
			return strings.ReplaceAll(string(text), " ", "")
		}
	}
}

// kind is the next frame of a kind.
func (l *line) kind(kind string) dict {
	l.t.Helper()
	return l.receive(func(f dict) bool { return f["kind"] == kind })
}

// of is the next frame of a request.
func (l *line) of(id string) dict {
	l.t.Helper()
	return l.receive(func(f dict) bool { return f["id"] == id })
}

// ask sends a request and returns its id.
func (l *line) ask(method, path string, body any) string {
	l.t.Helper()
	l.asked++
	id := fmt.Sprintf("%032d", l.asked)
	frame := dict{"kind": "request", "id": id, "method": method, "path": path, "query_string": "", "headers": [][]string{},
		"body": nil, "encoding": "utf-8", "stream": strings.HasSuffix(path, "/stream")}
	if body != nil {
		text, err := json.Marshal(body)
		require.NoError(l.t, err)
		frame["body"], frame["headers"] = string(text), [][]string{{"content-type", "application/json"}}
	}
	l.send(frame)
	return id
}

// get is ask and the whole answer.
func (l *line) get(method, path string, body any) (status float64, text string) {
	l.t.Helper()
	id := l.ask(method, path, body)
	head := l.of(id)
	require.Equal(l.t, "response.head", head["kind"])
	for {
		f := l.of(id)
		if f["kind"] == "response.end" {
			require.NotContains(l.t, f, "error")
			return head["status"].(float64), text
		}
		require.Equal(l.t, "response.body", f["kind"])
		require.Equal(l.t, "utf-8", f["encoding"])
		text += f["body"].(string)
	}
}

// stream is a session's open event stream.
type stream struct {
	line *line
	id   string
	text string // not yet a whole event
}

// open opens the session's stream and takes its first heartbeat.
func (l *line) open() *stream {
	l.t.Helper()
	s := &stream{line: l, id: l.ask("GET", "/v1/sessions/"+session+"/stream", nil)}
	head := l.of(s.id)
	require.EqualValues(l.t, 200, head["status"])
	require.Contains(l.t, fmt.Sprint(head["headers"]), "text/event-stream")
	first := l.of(s.id)
	s.text = first["body"].(string)
	require.True(l.t, strings.HasPrefix(s.text, "data: {\"type\": \"session.heartbeat\"}\n\n"), "the first frame: %q", s.text)
	require.Equal(l.t, "session.heartbeat", s.event()["type"])
	return s
}

// event is the next event of the stream.
func (s *stream) event() dict {
	t := s.line.t
	t.Helper()
	for {
		if whole, rest, ok := strings.Cut(s.text, "\n\n"); ok {
			s.text = rest
			data, ok := strings.CutPrefix(whole, "data: ")
			require.True(t, ok, "an event of one data line: %q", whole)
			var ev dict
			require.NoError(t, json.Unmarshal([]byte(data), &ev), data)
			return ev
		}
		f := s.line.of(s.id)
		require.Equal(t, "response.body", f["kind"], "the stream ends: %v", f)
		s.text += f["body"].(string)
	}
}

// next is the next event but heartbeats.
func (s *stream) next() dict {
	s.line.t.Helper()
	for {
		if ev := s.event(); ev["type"] != "session.heartbeat" {
			return ev
		}
	}
}

// until reads on to the event for which want holds.
func (s *stream) until(want func(dict) bool) dict {
	s.line.t.Helper()
	for {
		if ev := s.next(); want(ev) {
			return ev
		}
	}
}

// end reads on to the end of the turn that answers the item.
func (s *stream) end(item string) dict {
	s.line.t.Helper()
	return s.until(func(ev dict) bool {
		inputs, _ := ev["input_item_ids"].([]any)
		return ev["type"] != "response.in_progress" && slices.Contains(inputs, any(item))
	})
}

// closed waits for the runner's close frame.
func (l *line) closed() websocket.CloseError {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.ctx, testkit.Patience)
	defer cancel()
	for {
		_, _, err := l.ws.Read(ctx)
		if err == nil {
			continue
		}
		var end websocket.CloseError
		require.ErrorAs(l.t, err, &end, "a close frame")
		return end
	}
}
