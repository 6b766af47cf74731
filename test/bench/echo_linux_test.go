package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// echoing is a program that sends back each key. The terminal does not, so that
// it is the program that answers.
const echoing = "stty raw -echo; echo ready; exec cat"

// echoLimit is how long a key may take to come back before a benchmark gives up.
const echoLimit = 10 * time.Second

// screen is a terminal as its user sees it: keys go in, what it shows comes out.
type screen struct {
	types func([]byte) error
	shown chan []byte // closed when nothing comes any more
	next  byte
}

// echo types a key, another each time, and waits until it is shown.
func (s *screen) echo() error {
	s.next = 'a' + (s.next-'a'+1)%26
	if err := s.types([]byte{s.next}); err != nil {
		return err
	}
	return s.wait(string(s.next))
}

// wait returns once a text is shown, which must not be cut in two.
func (s *screen) wait(text string) error {
	limit := time.NewTimer(echoLimit)
	defer limit.Stop()
	for {
		select {
		case b, ok := <-s.shown:
			switch {
			case !ok:
				return io.ErrUnexpectedEOF
			case bytes.Contains(b, []byte(text)):
				return nil
			}
		case <-limit.C:
			return fmt.Errorf("%q is not shown within %v", text, echoLimit)
		}
	}
}

// direct is a program in a PTY of ours, with nothing between.
func direct(b *testing.B, name string, args ...string) *screen {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), name, args...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TMUX=")
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	require.NoError(b, err)
	s := &screen{types: func(p []byte) error { _, err := file.Write(p); return err }, shown: make(chan []byte, 64)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.shown)
		pump(s.shown, b.Context().Done(), func() ([]byte, error) {
			buf := make([]byte, 32<<10)
			n, err := file.Read(buf)
			return buf[:n], err
		})
	}()
	b.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		_ = file.Close()
		<-done
	})
	return s
}

// pump hands on what is read until that fails or nobody wants it any more.
func pump(to chan<- []byte, stop <-chan struct{}, read func() ([]byte, error)) {
	for {
		p, err := read()
		if err != nil {
			return
		}
		select {
		case to <- p:
		case <-stop:
			return
		}
	}
}

// tmux is a tmux server of the benchmark's own and a client of it in a PTY: what
// somebody has who logs in on the machine.
func tmux(b *testing.B, command string) *screen {
	b.Helper()
	socket := b.TempDir() + "/tmux"
	b.Cleanup(func() {
		out, err := exec.Command("tmux", "-S", socket, "kill-server").CombinedOutput()
		require.NoError(b, err, "%s", out)
	})
	return direct(b, "tmux", "-S", socket, "-f", "/dev/null", "new-session", "sh -c '"+command+"'")
}

// site is a server and a runner of the built program, each a process.
type site struct {
	server  *testkit.Server
	session string
}

const agent = `name: helper
prompt: You help.
executor: {harness: "acp:shell"}
os_env: {cwd: ., sandbox: {type: none}}
terminals:
  echo: {command: sh, args: ["-c", "` + echoing + `"]}
  flood: {command: "yes"}
  full: {command: sh, args: ["-c", "seq 1 50000; exec cat"], scrollback: 50000}
`

func newSite(b *testing.B) *site {
	b.Helper()
	server := testkit.NewServer(b)
	server.AddAgent("helper", agent)
	runner := testkit.NewRunner(b, server.URL)
	b.Cleanup(func() { // terminals outlive their runner, but not the benchmark
		runner.Kill()
		testkit.EndLeftovers(b, runner.Home)
	})
	runner.Start("TMPDIR=/tmp") // a socket's path must be short
	server.WaitOnline()
	return &site{server, server.NewSession("helper")}
}

// attach starts a terminal of the session, and looks at it as a browser does.
func (s *site) attach(b *testing.B, terminal string) *screen {
	b.Helper()
	return s.attachWith(b, terminal, func(ctx context.Context, ws *websocket.Conn, shown chan<- []byte) {
		pump(shown, ctx.Done(), func() ([]byte, error) { _, p, err := ws.Read(ctx); return p, err })
	})
}

// attachSlowly does so, reads so many bytes a second and looks at none.
func (s *site) attachSlowly(b *testing.B, terminal string, rate int) {
	b.Helper()
	s.attachWith(b, terminal, func(ctx context.Context, ws *websocket.Conn, _ chan<- []byte) {
		for {
			_, r, err := ws.Reader(ctx)
			for err == nil {
				var n int64
				n, err = io.CopyN(io.Discard, r, int64(rate)/10)
				pause(ctx, time.Duration(n)*time.Second/time.Duration(rate))
			}
			if !errors.Is(err, io.EOF) {
				return
			}
		}
	})
}

func (s *site) attachWith(b *testing.B, terminal string, read func(context.Context, *websocket.Conn, chan<- []byte)) *screen {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ws, err := look(ctx, s.launch(b, terminal))
	require.NoError(b, err)
	v := &screen{
		types: func(p []byte) error { return ws.Write(ctx, websocket.MessageBinary, p) },
		shown: make(chan []byte, 64),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(v.shown)
		read(ctx, ws, v.shown)
	}()
	b.Cleanup(func() { cancel(); _ = ws.CloseNow(); <-done })
	return v
}

// launch starts a terminal of the session, and says where it can be attached.
func (s *site) launch(b *testing.B, terminal string) (url string) {
	b.Helper()
	status, raw, err := s.server.Do(http.MethodPost, "/v1/sessions/"+s.session+"/resources/terminals",
		map[string]string{"terminal": terminal, "session_key": "1"})
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, status, "%s", raw)
	return s.server.URL + "/v1/sessions/" + s.session + "/resources/terminals/terminal_" + terminal + "_1/attach"
}

// look opens an attach as a browser does: its size comes first.
func look(ctx context.Context, url string) (*websocket.Conn, error) {
	ws, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1)
	return ws, ws.Write(ctx, websocket.MessageText, []byte(`{"type":"resize","cols":80,"rows":24}`))
}

// pause is how a slow reader is slow.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// BenchmarkEcho is how long a key takes to be shown: by a program in a PTY, in a
// tmux on the same machine, and in a browser that reaches the terminal through
// the server and the tunnel.
func BenchmarkEcho(b *testing.B) {
	plain := direct(b, "sh", "-c", echoing)
	local := tmux(b, echoing)
	remote := newSite(b).attach(b, "echo")
	for _, s := range []*screen{plain, local, remote} {
		require.NoError(b, s.wait("ready"))
	}
	compare(b, contestant{name: "pty", once: plain.echo}, contestant{name: "tmux", once: local.echo}, contestant{name: "browser", once: remote.echo})
}

// BenchmarkEchoBesideFlood is the same in the browser while another terminal
// prints as fast as it can, to a viewer that reads 10 KB a second.
func BenchmarkEchoBesideFlood(b *testing.B) {
	quiet, loud := newSite(b), newSite(b)
	calm, beside := quiet.attach(b, "echo"), loud.attach(b, "echo")
	loud.attachSlowly(b, "flood", 10_000)
	for _, s := range []*screen{calm, beside} {
		require.NoError(b, s.wait("ready"))
	}
	compare(b, contestant{name: "quiet", once: calm.echo}, contestant{name: "flooded", once: beside.echo})
}
