package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// world is everything around a runner under test: a server, an agent, a
// harness whose program is the text of the message, and a journal.
type world struct {
	t       *testing.T
	server  *fakeServer
	harness *fakeHarness
	journal Journal
	timing  Timing

	terminals  *fakeTerminals // nil: the runner has none
	summarizer Summarizer     // nil: the runner has none
	workspace  string

	runner *Runner
	http   *httptest.Server
	stop   func()
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, server: newFakeServer(), harness: newFakeHarness(), journal: &MemoryJournal{},
		timing: Timing{StoreRetry: time.Millisecond, Seen: time.Millisecond, Identity: 200 * time.Millisecond, Tool: 3 * time.Second},
	}
}

// start begins a runner process; the returned one ends with stop or the test.
func (w *world) start() *world {
	w.t.Helper()
	cfg := Config{
		ID: "me", Server: w.server, Specs: w.server, Harness: w.harness, Journal: w.journal,
		Workspace: w.workspace, Shell: "/bin/usershell", Summarizer: w.summarizer,
		Log: slog.New(slog.DiscardHandler), Timing: w.timing,
	}
	if w.terminals != nil {
		cfg.Terminals = w.terminals
	}
	r, err := New(cfg)
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { r.Run(ctx) })
	srv := httptest.NewServer(r.Handler())
	w.runner, w.http = r, srv
	var once sync.Once
	w.stop = func() {
		once.Do(func() {
			cancel()
			srv.CloseClientConnections()
			srv.Close()
			wg.Wait()
		})
	}
	w.t.Cleanup(w.stop)
	return w
}

// connect announces a connection, as the tunnel does.
func (w *world) connect(gen uint64) (disconnect func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	r := w.runner
	wg.Go(func() { r.OnUp(ctx, gen) })
	off := func() { cancel(); wg.Wait(); r.OnDown(gen) }
	w.t.Cleanup(func() { cancel(); wg.Wait() })
	return off
}

func (w *world) do(method, path, body string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.http.URL+path, strings.NewReader(body))
	require.NoError(w.t, err)
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(w.t, err)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Body.Close())
	return resp.StatusCode, string(raw)
}

func (w *world) send(session, item, text string) {
	w.t.Helper()
	status, body := w.do("POST", "/v1/sessions/"+session+"/events", fmt.Sprintf(
		`{"type":"message","role":"user","content":[{"type":"input_text","text":%q}],"agent_id":"a1","persisted_item_id":%q}`, text, item))
	require.Equal(w.t, 202, status, body)
}

// stream opens a session's stream and returns its events, one by one.
type events struct {
	t    *testing.T
	ch   chan map[string]any
	stop func()
}

func (w *world) stream(session string) *events {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", w.http.URL+"/v1/sessions/"+session+"/stream", nil)
	require.NoError(w.t, err)
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(w.t, err)
	require.Equal(w.t, "text/event-stream", resp.Header.Get("Content-Type"))
	e := &events{t: w.t, ch: make(chan map[string]any, 10_000)}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(e.ch)
		sc := bufio.NewScanner(resp.Body)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			data, ok := strings.CutPrefix(sc.Text(), "data: ")
			if !ok {
				continue
			}
			if data == "[DONE]" {
				e.ch <- map[string]any{"type": "[DONE]"}
				continue
			}
			var ev map[string]any
			if json.Unmarshal([]byte(data), &ev) == nil {
				e.ch <- ev
			}
		}
	})
	e.stop = func() { cancel(); _ = resp.Body.Close(); wg.Wait() } // an error: it was cut
	w.t.Cleanup(e.stop)
	require.Equal(w.t, "session.heartbeat", e.next()["type"])
	return e
}

// warm opens the stream of a session that had a turn, so that it begins with
// what that turn left, and reads that.
func (w *world) warm(session string) *events {
	w.t.Helper()
	w.send(session, "warm", "say warm")
	require.Eventually(w.t, func() bool {
		_, body := w.do("GET", "/v1/sessions/"+session, "")
		return strings.Contains(body, `"status":"idle"`)
	}, patience, time.Millisecond)
	e := w.stream(session)
	e.until("session.status idle")
	return e
}

const patience = 10 * time.Second

func (e *events) next() map[string]any {
	e.t.Helper()
	select {
	case ev, ok := <-e.ch:
		if !ok {
			return map[string]any{"type": "EOF"}
		}
		return ev
	case <-time.After(patience):
		require.Fail(e.t, "no event came")
		return nil
	}
}

// until returns the events up to the first whose words match, in short form.
func (e *events) until(words string) []string {
	e.t.Helper()
	var got []string
	for {
		ev := short(e.next())
		got = append(got, ev)
		if ev == words {
			return got
		}
		if ev == "EOF" || len(got) > 5000 {
			require.Failf(e.t, "the stream never said", "%q: %q", words, got)
		}
	}
}

func short(ev map[string]any) string {
	s := fmt.Sprint(ev["type"])
	if st, ok := ev["status"]; ok {
		s += fmt.Sprint(" ", st)
	}
	return s
}

// fakeServer is the server's API: snapshots, items, stored items.
type fakeServer struct {
	mu       sync.Mutex
	snaps    map[string]wire.Snapshot
	items    map[string][]wire.Item
	stored   []string // source id and text
	messages []string
	labels   []string
	judged   []string
	spec     *wire.Spec
	tool     func(wire.ToolCall) (string, error)
	fail     func(call string) error
	changed  chan struct{}
}

func newFakeServer() *fakeServer {
	return &fakeServer{snaps: map[string]wire.Snapshot{}, items: map[string][]wire.Item{}, changed: make(chan struct{}, 1)}
}

func (f *fakeServer) failing(fn func(call string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fn
}

func (f *fakeServer) check(call string) error {
	if f.fail == nil {
		return nil
	}
	return f.fail(call)
}

func (f *fakeServer) Snapshot(_ context.Context, session string) (wire.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("snapshot"); err != nil {
		return wire.Snapshot{}, err
	}
	if s, ok := f.snaps[session]; ok {
		return s, nil
	}
	return wire.Snapshot{ID: session, AgentID: "a1", RunnerID: "me", Status: "idle"}, nil
}

func (f *fakeServer) Items(_ context.Context, session, after string, _ int) (wire.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("items"); err != nil {
		return wire.Page{}, err
	}
	var page wire.Page
	past := after == ""
	for _, it := range f.items[session] {
		if past {
			page.Items = append(page.Items, it)
			page.LastID = it.ID
		}
		past = past || it.ID == after
	}
	return page, nil
}

func (f *fakeServer) Spec(context.Context, string, string, string) (*wire.Spec, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("spec"); err != nil {
		return nil, err
	}
	if f.spec != nil {
		return f.spec, nil
	}
	return &wire.Spec{Name: "shell", Harness: "acp:shell"}, nil
}

func (f *fakeServer) Store(_ context.Context, session string, out wire.Outgoing) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("store"); err != nil {
		return "", err
	}
	var data struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(out.ItemData, &data); err != nil {
		return "", err
	}
	f.stored = append(f.stored, out.SourceID+" "+wire.Text(data.Content))
	f.items[session] = append(f.items[session], wire.Item{
		ID: "item-" + out.SourceID, Type: "message", Role: "assistant",
		ResponseID: out.ResponseID, StreamMessageID: out.MessageID, Content: data.Content,
	})
	return "item-" + out.SourceID, nil
}

func (f *fakeServer) Message(_ context.Context, session, text string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("message"); err != nil {
		return err
	}
	f.messages = append(f.messages, session+": "+text)
	return nil
}

func (f *fakeServer) Task(ctx context.Context, session, text string) error {
	return f.Message(ctx, session, text)
}

func (f *fakeServer) PatchLabels(_ context.Context, session string, labels map[string]string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("labels"); err != nil {
		return err
	}
	for k, v := range labels {
		f.labels = append(f.labels, session+" "+k+"="+v)
	}
	return nil
}

func (f *fakeServer) CreateChild(_ context.Context, child wire.NewChild) (wire.Made, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("create"); err != nil {
		return wire.Made{}, err
	}
	f.snaps["kid"] = wire.Snapshot{ID: "kid", AgentID: child.AgentID, ParentID: child.ParentID, SubAgentName: child.SubAgentName, RunnerID: "me"}
	return wire.Made{ID: "kid"}, nil
}

func (f *fakeServer) DeleteSession(context.Context, string) error { return nil }

func (f *fakeServer) FindChild(context.Context, string, string, string) (wire.ChildSummary, bool, error) {
	return wire.ChildSummary{}, false, nil
}

func (f *fakeServer) Children(context.Context, string) ([]wire.ChildSummary, error) { return nil, nil }

func (f *fakeServer) LatestText(context.Context, string, string) (string, bool, error) {
	return "", false, nil
}

func (f *fakeServer) Evaluate(context.Context, string, json.RawMessage) (wire.Verdict, error) {
	return wire.Verdict{Action: "POLICY_ACTION_ALLOW"}, nil
}

func (f *fakeServer) LookUp(_ context.Context, session, tool string, args json.RawMessage) (string, error) {
	return session + " " + tool + " " + string(args), nil
}

func (f *fakeServer) Control(_ context.Context, session, event string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = append(f.messages, session+": "+event)
	return nil
}

func (f *fakeServer) Judge(_ context.Context, _, phase string, data json.RawMessage) (wire.Verdict, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.judged = append(f.judged, phase+" "+string(data))
	return wire.Verdict{Action: wire.PolicyAllow}, f.check("judge")
}

func (f *fakeServer) CallTool(_ context.Context, _ string, call wire.ToolCall) (string, error) {
	f.mu.Lock()
	run := f.tool
	f.mu.Unlock()
	if run == nil {
		return "", errDown
	}
	return run(call)
}

// texts returns what was stored of each source id, in order.
func (f *fakeServer) texts() (ids, texts []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.stored {
		id, text, _ := strings.Cut(s, " ")
		ids, texts = append(ids, id), append(texts, text)
	}
	return ids, texts
}

// fakeHarness runs the message: "say X", "hang", "panic", or a function.
type fakeHarness struct {
	mu      sync.Mutex
	started []string
	cancels map[string]context.CancelFunc // by turn
	early   map[string]bool               // turns interrupted before they began
	results chan wire.ToHarness           // what was sent to turns
	history []string
	program map[string]func(ctx context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd
}

func newFakeHarness() *fakeHarness {
	return &fakeHarness{
		cancels: map[string]context.CancelFunc{}, early: map[string]bool{}, results: make(chan wire.ToHarness, 100),
		program: map[string]func(context.Context, func(wire.HarnessEvent) error) wire.TurnEnd{},
	}
}

func (h *fakeHarness) Traits(id string) (wire.Traits, bool) {
	switch id {
	case "acp:chat":
		return wire.Traits{History: true}, true
	case "acp:live":
		return wire.Traits{History: true, Steer: true}, true
	}
	return wire.Traits{OneMessagePerTurn: true}, id == "acp:shell"
}

func (h *fakeHarness) Turn(ctx context.Context, start wire.TurnStart, emit func(wire.HarnessEvent) error) wire.TurnEnd {
	text := wire.Text(start.Inputs[len(start.Inputs)-1].Content)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h.mu.Lock()
	h.started = append(h.started, text)
	for _, item := range start.History {
		h.history = append(h.history, string(item))
	}
	h.cancels[start.Turn] = cancel
	if h.early[start.Turn] {
		cancel()
	}
	run := h.program[text]
	h.mu.Unlock()
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case run != nil:
		return run(ctx, emit)
	case word == "say":
		if err := emit(wire.HarnessEvent{Type: wire.TextDelta, Delta: rest}); err != nil {
			return wire.TurnEnd{Outcome: wire.Cancelled}
		}
		return wire.TurnEnd{Outcome: wire.Completed}
	case word == "hang":
		<-ctx.Done()
		return wire.TurnEnd{Outcome: wire.Cancelled}
	case word == "panic":
		panic("at the disco")
	}
	return wire.TurnEnd{Outcome: wire.Completed, Note: "exit 0"}
}

func (h *fakeHarness) Interrupt(_ context.Context, _, turn string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel := h.cancels[turn]; cancel != nil {
		cancel()
	} else {
		h.early[turn] = true
	}
	return nil
}

func (h *fakeHarness) Send(_ context.Context, _, _ string, msg wire.ToHarness) error {
	h.results <- msg
	return nil
}

// Close has nothing to do: no program outlives its turn, and the runner ends
// the turn's context.
func (h *fakeHarness) Close(context.Context, string) error { return nil }

func (h *fakeHarness) starts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.started...)
}

var errDown = errors.New("the server is down")
