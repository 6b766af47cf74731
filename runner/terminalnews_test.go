package runner

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// nextNews is the next event about a terminal, as the server gets it.
func (e *events) nextNews() string {
	e.t.Helper()
	for {
		ev := e.next()
		if typ := ev["type"]; typ == "EOF" || typ == "session.heartbeat" || typ == "session.status" {
			require.NotEqual(e.t, "EOF", typ)
			continue
		}
		raw, err := json.Marshal(ev)
		require.NoError(e.t, err)
		return string(raw)
	}
}

const (
	deletedShell = `{"type":"session.resource.deleted","resource_id":"terminal_shell_k","resource_type":"terminal","session_id":"S"}`
	activeShell  = `{"type":"session.terminal.activity","session_id":"S","terminal_id":"terminal_shell_k"}`
)

// The server tells of what it has made and ended itself, so that is no event of
// ours; what a program does is.
func TestNewsOfTheServersOwnTerminals(t *testing.T) {
	for _, late := range []bool{false, true} {
		w := withTerminals(t)
		w.terminals.late = late
		w.start()
		e := w.stream("S")
		w.create(`{"terminal":"shell","session_key":"k"}`)
		term := w.terminals.List("S")[0]
		if late {
			w.terminals.news(wire.TerminalNews{Kind: wire.TerminalCreated, Terminal: term})
		}
		w.terminals.news(wire.TerminalNews{Kind: wire.TerminalActive, Terminal: term})
		require.JSONEq(t, activeShell, e.nextNews())
		w.terminals.exit("S", "terminal_shell_k")
		require.JSONEq(t, deletedShell, e.nextNews())

		w.create(`{"terminal":"logs","session_key":"k"}`)
		status, text := w.do("DELETE", terminalsPath+"/terminal_logs_k", "")
		require.Equal(t, 200, status, text)
		w.terminals.news(wire.TerminalNews{Kind: wire.TerminalActive, Terminal: term})
		require.JSONEq(t, activeShell, e.nextNews(), "nothing came between")
		if late {
			w.terminals.news(wire.TerminalNews{Kind: wire.TerminalCreated, Terminal: wire.Terminal{
				Session: "S", Name: "logs", Key: "k", Generation: "g2",
			}})
			w.terminals.news(wire.TerminalNews{Kind: wire.TerminalActive, Terminal: term})
			require.JSONEq(t, activeShell, e.nextNews(), "nobody is told of what is gone")
		}
		require.Empty(t, w.runner.terminals.lives)
		require.Empty(t, w.runner.terminals.starting)
	}
}

// A reset of the state tells what it ended, a clean-up does not.
func TestResetsTellWhatTheyEnd(t *testing.T) {
	w := withTerminals(t).start()
	e := w.stream("S")
	w.create(`{"terminal":"shell","session_key":"k"}`)
	status, _ := w.do("POST", "/v1/sessions/S/reset-state", "")
	require.Equal(t, 200, status)
	require.JSONEq(t, deletedShell, e.nextNews())
	w.create(`{"terminal":"shell","session_key":"k"}`)
	status, _ = w.do("DELETE", "/v1/sessions/S/resources", "")
	require.Equal(t, 200, status)
	require.Empty(t, w.terminals.List("S"))
	w.create(`{"terminal":"shell","session_key":"k"}`)
	w.terminals.news(wire.TerminalNews{Kind: wire.TerminalActive, Terminal: w.terminals.List("S")[0]})
	require.JSONEq(t, activeShell, e.nextNews(), "nothing came between")
	status, _ = w.do("DELETE", "/v1/sessions/S", "")
	require.Equal(t, 200, status)
	require.Empty(t, w.terminals.List("S"), "a session takes its terminals with it")
	require.Empty(t, w.runner.terminals.lives)
}

// What was there before this runner is told again, and not stored again.
func TestFoundTerminalsAreTold(t *testing.T) {
	w := withTerminals(t).start()
	w.terminals.adopt(wire.Terminal{
		Session: "S", Name: "shell", Key: "k", Running: true, Socket: "/tmp/x/tmux.sock", Target: "main", Generation: "old",
	})
	e := w.stream("S")
	require.JSONEq(t, `{"type":"session.resource.created","persist_resource_event":false,"resource":`+toldTerminal("S", "shell", "k")+`}`, e.nextNews())
	w.create(`{"terminal":"shell","session_key":"k"}`)
	require.Len(t, w.terminals.List("S"), 1)
	w.terminals.exit("S", "terminal_shell_k")
	require.JSONEq(t, deletedShell, e.nextNews())
	require.Empty(t, w.runner.terminals.lives)
	w.terminals.adopt(wire.Terminal{Session: "S", Name: "logs", Key: "k", Running: true, Generation: "older"})
	status, _ := w.do("DELETE", "/v1/sessions/S", "")
	require.Equal(t, 200, status)
	require.Empty(t, w.runner.terminals.lives)
}

// What was found and is ended before anybody heard of it is not told.
func TestFoundTerminalsThatAreEndedAtOnce(t *testing.T) {
	w := withTerminals(t).start()
	e := w.stream("S")
	found := wire.Terminal{Session: "S", Name: "shell", Key: "k", Running: true, Generation: "old"}
	w.terminals.list = append(w.terminals.list, found)
	status, _ := w.do("DELETE", terminalsPath+"/terminal_shell_k", "")
	require.Equal(t, 200, status)
	w.terminals.news(wire.TerminalNews{Kind: wire.TerminalCreated, Terminal: found})
	w.terminals.news(wire.TerminalNews{Kind: wire.TerminalActive, Terminal: found})
	require.JSONEq(t, activeShell, e.nextNews())
	require.Empty(t, w.runner.terminals.lives)
}

// A terminal that could not be ended is not told as ended.
func TestTerminalsThatDoNotEnd(t *testing.T) {
	w := withTerminals(t).start()
	e := w.stream("S")
	w.create(`{"terminal":"logs","session_key":"k"}`)
	w.create(`{"terminal":"shell","session_key":"k"}`)
	w.terminals.stuck = "terminal_logs_k"
	status, _ := w.do("POST", "/v1/sessions/S/reset-state", "")
	require.Equal(t, 200, status)
	require.JSONEq(t, deletedShell, e.nextNews())
	require.Len(t, w.terminals.List("S"), 1)
	w.terminals.news(wire.TerminalNews{Kind: wire.TerminalActive, Terminal: wire.Terminal{Session: "S", Name: "shell", Key: "k"}})
	require.JSONEq(t, activeShell, e.nextNews(), "nothing came between")
}

// A session that has become another runner's loses its turn here, and keeps its
// terminals: they are this machine's.
func TestTerminalsOfASessionThatIsAnothersStay(t *testing.T) {
	w := withTerminals(t).start()
	w.create(`{"terminal":"shell","session_key":"k"}`)
	w.send("S", "u1", "hang")
	require.Eventually(t, func() bool { return len(w.harness.starts()) == 1 }, patience, 1e6)
	w.server.mu.Lock()
	w.server.snaps["S"] = wire.Snapshot{ID: "S", AgentID: "a1", RunnerID: "other"}
	w.server.mu.Unlock()
	w.connect(1)
	require.Eventually(t, func() bool {
		_, body := w.do("GET", "/v1/sessions/S", "")
		return strings.Contains(body, `"status":"idle"`)
	}, patience, 1e6)
	w.stop()
	require.Len(t, w.terminals.List("S"), 1)
}

// Terminals that nobody could reach again are ended when the server is there.
func TestFoundTerminalsOfASessionThatIsGoneAreEnded(t *testing.T) {
	w := withTerminals(t)
	w.start()
	var mu sync.Mutex
	answer := errors.New("not now")
	w.server.failing(func(call string) error {
		mu.Lock()
		defer mu.Unlock()
		if call == "snapshot" {
			return answer
		}
		return nil
	})
	w.terminals.adopt(wire.Terminal{Session: "S", Name: "shell", Key: "k", Running: true, Generation: "old"})
	disconnect := w.connect(1)
	disconnect()
	require.Len(t, w.terminals.List("S"), 1, "who does not answer says nothing")
	mu.Lock()
	answer = wire.ErrNotFound
	mu.Unlock()
	w.connect(2)
	require.Eventually(t, func() bool { return len(w.terminals.List("S")) == 0 }, patience, 1e6)

	mu.Lock()
	answer = nil
	mu.Unlock()
	w.terminals.adopt(wire.Terminal{Session: "T", Name: "shell", Key: "k", Running: true, Generation: "older"})
	disconnect = w.connect(3)
	disconnect()
	require.Len(t, w.terminals.List("T"), 1)

	// A session may also go while this runner is only cut off.
	moved, err := w.terminals.Transfer(t.Context(), "T", "terminal_shell_k", "U")
	require.NoError(t, err)
	w.runner.terminals.moved(moved)
	mu.Lock()
	answer = wire.ErrNotFound
	mu.Unlock()
	w.connect(4)
	require.Eventually(t, func() bool { return len(w.terminals.List("U")) == 0 }, patience, 1e6)
}

// A session that is deleted while a terminal of it starts leaves none behind.
func TestATerminalThatStartsInAnEndingSession(t *testing.T) {
	w := withTerminals(t)
	w.terminals.hold, w.terminals.began = make(chan struct{}), make(chan struct{})
	w.start()
	got := make(chan int, 1)
	var text string
	var wg sync.WaitGroup
	wg.Go(func() {
		var status int
		status, text = w.do("POST", terminalsPath, `{"terminal":"shell","session_key":"k"}`)
		got <- status
	})
	<-w.terminals.began
	status, _ := w.do("DELETE", "/v1/sessions/S", "")
	require.Equal(t, 200, status)
	close(w.terminals.hold)
	require.Equal(t, 409, <-got)
	wg.Wait()
	require.Contains(t, text, "deleted while the terminal started")
	require.Empty(t, w.terminals.List("S"))
}

// A launch that the end of its session has overtaken does not take a later one
// with it.
func TestATerminalThatStartsAfterItsSessionBeganAnew(t *testing.T) {
	w := withTerminals(t)
	hold := make(chan struct{})
	w.terminals.hold, w.terminals.began = hold, make(chan struct{})
	w.start()
	got := make(chan int, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		status, _ := w.do("POST", terminalsPath, `{"terminal":"shell","session_key":"k"}`)
		got <- status
	})
	<-w.terminals.began
	status, _ := w.do("DELETE", "/v1/sessions/S", "")
	require.Equal(t, 200, status)
	w.terminals.mu.Lock()
	w.terminals.hold = nil
	w.terminals.mu.Unlock()
	w.create(`{"terminal":"logs","session_key":"k"}`)
	close(hold)
	require.Equal(t, 409, <-got)
	wg.Wait()
	require.Len(t, w.terminals.List("S"), 1)
}

// pipe is a viewer whose ends the test holds.
type pipe struct {
	in  chan string
	out chan string
}

func (p *pipe) Read(ctx context.Context) ([]byte, bool, error) {
	select {
	case s, ok := <-p.in:
		if !ok {
			return nil, false, errors.New("gone")
		}
		return []byte(s), s == "resize", nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

func (p *pipe) Write(_ context.Context, data []byte, _ bool) error {
	p.out <- string(data)
	return nil
}

func TestAttach(t *testing.T) {
	w := withTerminals(t).start()
	w.create(`{"terminal":"shell","session_key":"k"}`)
	const path = terminalsPath + "/terminal_shell_k/attach"
	for query, ro := range map[string]string{
		"": "false", "read_only=false&transport=control": "false", "read_only=0": "false", "read_only=NO": "false",
		"read_only=true": "true", "read_only=1": "true", "read_only=": "true", "read_only=maybe": "true", "read_only=false&read_only=true": "true",
		"read_only=true&%zz": "true",
	} {
		p := &pipe{in: make(chan string, 2), out: make(chan string, 2)}
		p.in <- "ls"
		p.in <- "resize"
		close(p.in)
		require.Equal(t, wire.Detached{Code: 1000}, w.runner.Attach(t.Context(), path, query, p), query)
		require.Equal(t, "ls text=false ro="+ro, <-p.out, query)
		require.Equal(t, "resize text=true ro="+ro, <-p.out)
	}
	gone := wire.Detached{Code: 4404, Reason: "terminal resource not found or not running"}
	none := wire.Detached{Code: 1000}
	for at, want := range map[string]wire.Detached{
		terminalsPath + "/terminal_other_k/attach":                    gone,
		"/v1/sessions/T/resources/terminals/terminal_shell_k/attach":  gone,
		"/v1/sessions//resources/terminals/terminal_shell_k/attach":   none,
		terminalsPath + "/terminal_shell_k":                           none,
		terminalsPath + "//attach":                                    none,
		terminalsPath + "/a/b/attach":                                 none,
		"/v1/sessions/S/resources/terminals/terminal_shell_k/attach/": none,
		"x/v1/sessions/S/resources/terminals/t/attach":                none,
		"": none,
	} {
		require.Equal(t, want, w.runner.Attach(t.Context(), at, "", &pipe{}), at)
	}
	p := &pipe{in: make(chan string, 1)}
	p.in <- "panic"
	require.Equal(t, wire.Detached{Code: 1011, Reason: "runner dispatch failed"}, w.runner.Attach(t.Context(), path, "", p))

	bare := newWorld(t).start()
	require.Equal(t, gone, bare.runner.Attach(t.Context(), path, "", &pipe{}))
}
