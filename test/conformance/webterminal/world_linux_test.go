package webterminal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

const agent = `name: helper
prompt: You help.
executor: {harness: "acp:shell"}
os_env: {cwd: ., sandbox: {type: none}}
terminals:
  sh: {command: sh, env: {PS1: "$ ", ENV: ""}}
`

// world is a server and a runner, each a process of its own.
type world struct {
	t      *testing.T
	server *testkit.Server
	runner *testkit.Runner
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := testkit.NewServer(t)
	return worldOf(t, s, s.URL)
}

// newCutWorld is a world whose lines can be cut: that of who uses the server, and
// the runner's.
func newCutWorld(t *testing.T) (w *world, near, tunnel *testkit.Proxy) {
	t.Helper()
	s := testkit.NewServer(t)
	near, tunnel = testkit.NewProxy(t, s.Address), testkit.NewProxy(t, s.Address)
	return worldOf(t, s, tunnel.URL), near, tunnel
}

func worldOf(t *testing.T, s *testkit.Server, forRunner string) *world {
	t.Helper()
	s.AddAgent("helper", agent)
	w := &world{t: t, server: s, runner: testkit.NewRunner(t, forRunner)}
	t.Cleanup(func() { // terminals outlive their runner, but not the test
		w.runner.Kill()
		testkit.EndLeftovers(t, w.runner.Home)
	})
	w.startRunner()
	return w
}

// startRunner starts the runner and waits until it is there. A socket's path
// must be short.
func (w *world) startRunner() {
	w.t.Helper()
	w.runner.Start("TMPDIR=/tmp")
	w.server.WaitOnline()
}

// told is what a session's stream has told.
type told struct {
	t      *testing.T
	mu     sync.Mutex
	events []map[string]any
}

// listens opens a session's stream as a browser's page does.
func (w *world) listens(session string) *told {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.server.URL+"/v1/sessions/"+session+"/stream", nil)
	require.NoError(w.t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	require.NoError(w.t, err)
	e, done := &told{t: w.t}, make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = res.Body.Close() }()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var event map[string]any
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &event) == nil {
				e.mu.Lock()
				e.events = append(e.events, event)
				e.mu.Unlock()
			}
		}
	}()
	w.t.Cleanup(func() { cancel(); <-done })
	return e
}

// hears waits until the stream has told so many events of a type about a
// terminal, and no more.
func (e *told) hears(typ, terminal string, n int) {
	e.t.Helper()
	count := func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		found := 0
		for _, event := range e.events {
			id, _ := event["resource_id"].(string)
			if res, ok := event["resource"].(map[string]any); ok {
				id, _ = res["id"].(string)
			}
			if event["type"] == typ && id == terminal {
				found++
			}
		}
		return found
	}
	testkit.Until(e.t, testkit.Patience, func() bool { return count() >= n }, testkit.Is("the stream does not tell of "+typ+" "+terminal))
	require.Equal(e.t, n, count())
}

// unwrapClose finds the close frame in an error.
func unwrapClose(err error) (e websocket.CloseError, ok bool) { return e, errors.As(err, &e) }
