package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds every wait of a test.
const patience = 30 * time.Second

// site is a server under test, behind a real listener. It can be stopped and
// started again on the same address and the same state.
type site struct {
	t    *testing.T
	cfg  Config
	addr string
	url  string
	http *http.Client

	srv *Server
	web *http.Server
}

// quick are the waits of a server under test.
func quick() Timing {
	return Timing{
		RelayRetry: 20 * time.Millisecond, RelayDrain: time.Second, ForwardRetry: 20 * time.Millisecond, ForwardRetryMax: 100 * time.Millisecond,
		StorageRetry: 20 * time.Millisecond,
	}
}

func newSite(t *testing.T, change ...func(*Config)) *site {
	t.Helper()
	s := &site{t: t, cfg: Config{Dir: t.TempDir(), Version: "test", Timing: quick(), Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))}}
	for _, c := range change {
		c(&s.cfg)
	}
	s.http = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *site) start() {
	s.t.Helper()
	listener, err := net.Listen("tcp", firstOf(s.addr, "127.0.0.1:0"))
	require.NoError(s.t, err)
	s.addr = listener.Addr().String()
	s.url = "http://" + s.addr
	s.cfg.Listen = s.addr
	s.srv, err = Open(s.cfg)
	require.NoError(s.t, err)
	s.web = &http.Server{Handler: s.srv.Handler(), ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		if tcp, ok := c.(*net.TCPConn); ok { // so that a reader who stops is felt soon
			_ = tcp.SetWriteBuffer(16 << 10)
		}
		return ctx
	}}
	go func() { _ = s.web.Serve(listener) }()
}

// stop ends the server in order; calling it twice is fine.
func (s *site) stop() {
	if s.srv == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(s.t, s.srv.Shutdown(ctx))
	require.NoError(s.t, s.web.Shutdown(ctx))
	s.srv = nil
}

func (s *site) restart() { s.stop(); s.start() }

// call sends a request and decodes the JSON answer. A body that is a string is
// sent as it is.
func (s *site) call(method, path string, body any) (int, map[string]any) {
	s.t.Helper()
	res, raw := s.raw(method, path, body, nil)
	out := map[string]any{}
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "{") {
		require.NoError(s.t, json.Unmarshal(raw, &out), string(raw))
	}
	return res.StatusCode, out
}

func (s *site) raw(method, path string, body any, header map[string]string) (*http.Response, []byte) {
	s.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		enc, err := json.Marshal(b)
		require.NoError(s.t, err)
		r = bytes.NewReader(enc)
	}
	req, err := http.NewRequest(method, s.url+path, r)
	require.NoError(s.t, err)
	if r != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set(headerExtras, "1")
	for k, v := range header {
		if k == "Host" {
			req.Host = v
		} else {
			req.Header.Set(k, v)
		}
	}
	res, err := s.http.Do(req)
	require.NoError(s.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res, raw
}

// ok is call for an answer that must have that status.
func (s *site) ok(status int, method, path string, body any) map[string]any {
	s.t.Helper()
	got, out := s.call(method, path, body)
	require.Equal(s.t, status, got, "%s %s: %v", method, path, out)
	return out
}

func (s *site) shell() string {
	s.t.Helper()
	for _, a := range s.ok(200, "GET", "/v1/agents", nil)["data"].([]any) {
		if a := a.(map[string]any); a["name"] == "shell" {
			return a["id"].(string)
		}
	}
	s.t.Fatal("there is no agent shell")
	return ""
}

func (s *site) session(extra ...map[string]any) string {
	s.t.Helper()
	body := map[string]any{"agent_id": s.shell()}
	for _, e := range extra {
		for k, v := range e {
			body[k] = v
		}
	}
	return s.ok(201, "POST", "/v1/sessions", body)["id"].(string)
}

func message(text string, extra ...map[string]any) map[string]any {
	data := map[string]any{"role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}}
	for _, e := range extra {
		for k, v := range e {
			data[k] = v
		}
	}
	return map[string]any{"type": "message", "data": data}
}

// send posts a message and answers its item's id.
func (s *site) send(session, text string, extra ...map[string]any) string {
	s.t.Helper()
	out := s.ok(202, "POST", "/v1/sessions/"+session+"/events", message(text, extra...))
	require.Equal(s.t, true, out["queued"])
	return out["item_id"].(string)
}

// post posts one event that must be taken.
func (s *site) post(session, typ string, data map[string]any) map[string]any {
	s.t.Helper()
	return s.ok(202, "POST", "/v1/sessions/"+session+"/events", map[string]any{"type": typ, "data": data})
}

func (s *site) snapshot(session string) map[string]any {
	s.t.Helper()
	return s.ok(200, "GET", "/v1/sessions/"+session, nil)
}

func (s *site) items(session string) []map[string]any {
	s.t.Helper()
	var out []map[string]any
	for _, i := range s.ok(200, "GET", "/v1/sessions/"+session+"/items?limit=1000", nil)["data"].([]any) {
		out = append(out, i.(map[string]any))
	}
	return out
}

// texts are the texts of a session's messages, in order.
func (s *site) texts(session string) []string {
	s.t.Helper()
	var out []string
	for _, i := range s.items(session) {
		if i["type"] == "message" {
			out = append(out, i["content"].([]any)[0].(map[string]any)["text"].(string))
		}
	}
	return out
}

// eventually waits until the condition holds.
func (s *site) eventually(what string, cond func() bool) {
	s.t.Helper()
	require.Eventually(s.t, cond, patience, 5*time.Millisecond, what)
}

func (s *site) status(session, want string) {
	s.t.Helper()
	s.eventually("status "+want, func() bool { return s.snapshot(session)["status"] == want })
}

// watched is one event as a viewer saw it.
type watched struct {
	typ, id string
	data    map[string]any
}

// viewing is an open stream.
type viewing struct {
	t      *testing.T
	header http.Header
	events chan watched
	cancel context.CancelFunc
	done   chan struct{} // closed when the stream is over
	marked bool          // it ended with [DONE]; valid after done
	begin  chan watched  // the state that it began with
}

// watch opens a session's stream and waits for its first event.
func (s *site) watch(session, after string) *viewing {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+"/v1/sessions/"+session+"/stream", nil)
	require.NoError(s.t, err)
	req.Header.Set(headerExtras, "1")
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	res, err := s.http.Do(req)
	require.NoError(s.t, err)
	require.Equal(s.t, 200, res.StatusCode)
	v := &viewing{t: s.t, header: res.Header, events: make(chan watched, 10000), begin: make(chan watched, 1000), cancel: cancel, done: make(chan struct{})}
	go v.read(res.Body)
	s.t.Cleanup(v.close)
	first := v.next()
	require.Equal(s.t, "session.heartbeat", first.typ)
	return v
}

func (v *viewing) read(body io.ReadCloser) {
	defer close(v.done)
	defer body.Close()
	lines := bufio.NewReader(body)
	var e watched
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "event: "):
			e.typ = line[7:]
		case strings.HasPrefix(line, "id: "):
			e.id = line[4:]
		case line == "data: [DONE]":
			v.marked = true
		case strings.HasPrefix(line, "data: "):
			if json.Unmarshal([]byte(line[6:]), &e.data) != nil {
				return
			}
		case line == "" && e.typ != "":
			if e.id == "" && (e.typ == typeChangedFiles || e.typ == typePresence || e.typ == typeChildUpdated) {
				v.begin <- e
			} else {
				v.events <- e
			}
			e = watched{}
		}
	}
}

func (v *viewing) close() { v.cancel(); <-v.done }

// next waits for the next event.
func (v *viewing) next() watched {
	v.t.Helper()
	select {
	case e := <-v.events:
		return e
	case <-time.After(patience):
		v.t.Fatal("no event came")
		return watched{}
	}
}

// until waits for an event of that type and answers all that came with it.
func (v *viewing) until(typ string) []watched {
	v.t.Helper()
	var all []watched
	for {
		e := v.next()
		all = append(all, e)
		if e.typ == typ {
			return all
		}
	}
}

func types(events []watched) []string {
	out := make([]string, 0, len(events))
	for _, e := range events {
		out = append(out, e.typ)
	}
	return out
}
