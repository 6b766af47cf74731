//go:build unix

package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/term"
)

// stage is a server with one session, whose terminal repeats what is typed.
type stage struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	running []map[string]any
	agent   map[string]any
	started []map[string]string
	conns   chan *websocket.Conn
	sizes   chan string
	typed   chan string
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, agent: map[string]any{"id": "a", "name": "worker", "terminals": []string{"bash", "logs"}},
		conns: make(chan *websocket.Conn, 10), sizes: make(chan string, 100), typed: make(chan string, 100)}
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /v1/sessions/s/resources/terminals", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		say(w, map[string]any{"data": s.running})
	})
	mux.HandleFunc("GET /v1/sessions/s/agent", func(w http.ResponseWriter, _ *http.Request) { say(w, s.agent) })
	mux.HandleFunc("POST /v1/sessions/s/resources/terminals", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]string
		_ = json.NewDecoder(r.Body).Decode(&in)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.started = append(s.started, in)
		say(w, terminalRow(in["terminal"], in["session_key"]))
	})
	mux.HandleFunc("GET /v1/sessions/s/resources/terminals/{id}/attach", func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		s.conns <- ws
		for {
			kind, data, err := ws.Read(context.Background())
			if err != nil {
				return
			}
			if kind == websocket.MessageText {
				s.sizes <- string(data)
				data = []byte("screen of " + r.PathValue("id"))
			} else {
				s.typed <- string(data)
			}
			if ws.Write(context.Background(), websocket.MessageBinary, data) != nil {
				return
			}
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func terminalRow(name, key string) map[string]any {
	return map[string]any{"id": "terminal_" + name + "_" + key, "name": name + ":" + key,
		"metadata": map[string]any{"terminal_name": name, "session_key": key, "running": true}}
}

// person sits at a terminal in which the program runs.
type person struct {
	t       *testing.T
	master  *os.File
	slave   *os.File
	before  *term.State
	screen  *output
	command *command
}

// sits starts attach in a new terminal.
func (s *stage) sits(args ...string) *person {
	s.t.Helper()
	master, slave, err := pty.Open()
	require.NoError(s.t, err)
	require.NoError(s.t, pty.Setsize(master, &pty.Winsize{Cols: 100, Rows: 30}))
	p := &person{t: s.t, master: master, slave: slave, screen: newOutput()}
	p.before, err = term.GetState(int(slave.Fd()))
	require.NoError(s.t, err)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		_, _ = io.Copy(p.screen, master)
	}()
	ctx, cancel := context.WithCancel(context.Background())
	p.command = &command{out: newOutput(), err: newOutput(), done: make(chan int, 1), stop: cancel}
	a := &app{in: slave, out: slave, err: p.command.err, lookup: func(string) (string, bool) { return "", false }, unset: func(string) error { return nil }}
	args = append([]string{"attach", "--state", house(s.t), "--server", s.url}, args...)
	go func() { p.command.done <- run(ctx, args, a) }()
	s.t.Cleanup(func() {
		cancel()
		p.command.code(s.t)
		_ = slave.Close()
		_ = master.Close()
		<-watched
	})
	return p
}

func (p *person) types(keys string) {
	p.t.Helper()
	_, err := p.master.WriteString(keys)
	require.NoError(p.t, err)
}

// leaves waits for the end; the terminal must be as it was.
func (p *person) leaves() (code int, said string) {
	p.t.Helper()
	code = p.command.code(p.t)
	after, err := term.GetState(int(p.slave.Fd()))
	require.NoError(p.t, err)
	require.Equal(p.t, p.before, after, "the terminal is not as it was")
	p.screen.wait(p.t, `\x1b\[\?25h\x1b\[0m\r`)
	return code, p.command.err.String()
}

func heard(t *testing.T, c <-chan string) string {
	t.Helper()
	select {
	case got := <-c:
		return got
	case <-time.After(patience):
		t.Fatal("nothing came")
		return ""
	}
}

func TestAttachAndDetach(t *testing.T) {
	s := newStage(t)
	p := s.sits("s")
	require.JSONEq(t, `{"type":"resize","cols":100,"rows":30}`, heard(t, s.sizes))
	p.screen.wait(t, "screen of terminal_bash_main")
	require.Equal(t, []map[string]string{{"terminal": "bash", "session_key": "main"}}, s.started, "none ran")
	p.types("\x03ls\r")
	got := ""
	for got != "\x03ls\r" {
		got += heard(t, s.typed)
	}
	require.NoError(t, pty.Setsize(p.master, &pty.Winsize{Cols: 132, Rows: 43}))
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGWINCH)) // the terminal of this process is another one
	require.JSONEq(t, `{"type":"resize","cols":132,"rows":43}`, heard(t, s.sizes))
	p.types("last\x1d not this")
	require.Equal(t, "last", heard(t, s.typed))
	code, said := p.leaves()
	require.Equal(t, exitDone, code, said)
	require.Contains(t, said, "detached; the program goes on, come back with: ")
	require.Contains(t, said, "attach s terminal_bash_main --server "+s.url)
}

func TestAttachPicks(t *testing.T) {
	s := newStage(t)
	s.running = []map[string]any{terminalRow("logs", "u-1"), terminalRow("bash", "u-2")}
	for want, args := range map[string][]string{
		"terminal_logs_u-1": {"s"}, "terminal_bash_u-2": {"s", "bash"}, "terminal_bash_u-3": {"s", "bash:u-3"},
	} {
		p := s.sits(args...)
		p.screen.wait(t, "screen of "+want)
		p.types("\x1b[93;5u") // ctrl-] of a keyboard in the newer mode
		code, said := p.leaves()
		require.Equal(t, exitDone, code, said)
	}
	code, said := s.sits("s", "vim").leavesEarly()
	require.Equal(t, exitFailure, code)
	require.Contains(t, said, `there is no terminal "vim"; there are: logs:u-1, bash:u-2`)
	s.running, s.agent = nil, map[string]any{"id": "a", "name": "worker", "terminals": []string{}}
	code, said = s.sits("s").leavesEarly()
	require.Equal(t, exitFailure, code)
	require.Contains(t, said, "its agent worker declares none")
}

// leavesEarly is leaves of a program that never took the terminal over.
func (p *person) leavesEarly() (code int, said string) {
	p.t.Helper()
	return p.command.code(p.t), p.command.err.String()
}

// A cut is taken up again, and the end of the program is the end.
func TestAttachOverACut(t *testing.T) {
	s := newStage(t)
	p := s.sits("s", "--detach-key", "ctrl-a", "--read-only")
	p.screen.wait(t, "screen of terminal_bash_main")
	ws := <-s.conns
	require.NoError(t, ws.Close(1012, "server restarts"))
	p.screen.wait(t, `the connection is lost, trying again: disconnected: server restarts; ctrl-a leaves`)
	p.screen.wait(t, `(?s)screen of.*connected again.*screen of`)
	p.types("typed\x1dtyped")
	ws = <-s.conns
	require.NoError(t, ws.Close(4404, "terminal session ended"))
	code, said := p.leaves()
	require.Equal(t, exitDone, code)
	require.Contains(t, said, "the terminal has ended")
	require.Empty(t, s.typed)

	p = s.sits("s")
	p.screen.wait(t, "screen of")
	require.NoError(t, (<-s.conns).Close(4500, "tmux not found"))
	code, said = p.leaves()
	require.Equal(t, exitFailure, code)
	require.Contains(t, said, "tmux not found (code 4500)")
}

// Asked to stop, by a signal or otherwise, it leaves the terminal as it was.
func TestAttachIsAskedToStop(t *testing.T) {
	s := newStage(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		p := s.sits("s")
		p.screen.wait(t, "screen of")
		require.NoError(t, syscall.Kill(os.Getpid(), sig))
		code, said := p.leaves()
		require.Equal(t, exitInterrupted, code)
		require.Contains(t, said, "come back with: ")
	}
}

func TestAPanicRestoresTheTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	require.NoError(t, err)
	defer func() { _ = slave.Close(); _ = master.Close() }()
	go func() { _, _ = io.Copy(io.Discard, master) }()
	c, err := openConsole(slave, slave)
	require.NoError(t, err)
	before, err := term.GetState(int(slave.Fd()))
	require.NoError(t, err)
	require.NoError(t, c.raw())
	raw, err := term.GetState(int(slave.Fd()))
	require.NoError(t, err)
	require.NotEqual(t, before, raw)
	require.PanicsWithValue(t, "boom", func() { defer c.panicking(); panic("boom") })
	after, err := term.GetState(int(slave.Fd()))
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestAttachNeedsATerminal(t *testing.T) {
	state := house(t)
	failing(t, exitUsage, "attach needs a terminal", "attach", "s", "--state", state)
	for key, want := range map[string]string{"x": "must be ctrl- and one character", "ctrl-m": "every program needs", "ctrl-1": "there is no key ctrl-1", "": "must be"} {
		failing(t, exitUsage, want, "attach", "s", "--detach-key", key, "--state", state)
	}
	failing(t, exitUsage, "accepts between 1 and 2 arg(s)", "attach", "--state", state)
}

func TestTheDetachKey(t *testing.T) {
	key, err := parseKey("Ctrl-]")
	require.NoError(t, err)
	for _, c := range []struct {
		typed []string
		want  string
		found bool
	}{
		{[]string{"abc"}, "abc", false},
		{[]string{"abc\x1ddef"}, "abc", true},
		{[]string{"\x1d"}, "", true},
		{[]string{"a", "b", "\x1dc"}, "ab", true},
		{[]string{"x\x1b[93;5u"}, "x", true},
		{[]string{"x\x1b[93", ";5uy"}, "x\x1b[93", true},
		{[]string{"\x1b[27;5;93~"}, "", true},
		{[]string{"\x1b[94;5u", "]"}, "\x1b[94;5u]", false},
	} {
		var f finder
		got, found := "", false
		for _, typed := range c.typed {
			before, pressed := f.in([]byte(typed), key)
			got += string(before)
			found = found || pressed
		}
		require.Equal(t, c.want, got, "%q", c.typed)
		require.Equal(t, c.found, found, "%q", c.typed)
	}
	_, err = parseKey("^\\")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(asBefore, "\x1b"))
}
