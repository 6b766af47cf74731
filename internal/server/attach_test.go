package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/tunnel"
)

// dialing is a browser's end of an attached terminal.
type dialing struct {
	t *testing.T
	*websocket.Conn
}

func (s *site) wsURL(session, query string) string {
	return s.url + "/v1/sessions/" + session + "/resources/terminals/terminal_bash_s1/attach" + query
}

func (s *site) dialTerminal(session, query string) *dialing {
	s.t.Helper()
	ws, res, err := websocket.Dial(s.t.Context(), s.wsURL(session, query), &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {s.url}}})
	require.NoError(s.t, err)
	require.Equal(s.t, 101, res.StatusCode)
	ws.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = ws.CloseNow() })
	return &dialing{s.t, ws}
}

func (d *dialing) send(kind websocket.MessageType, data string) {
	d.t.Helper()
	require.NoError(d.t, d.Write(d.t.Context(), kind, []byte(data)))
}

func (d *dialing) next() (websocket.MessageType, string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	kind, data, err := d.Read(ctx)
	require.NoError(d.t, err)
	return kind, string(data)
}

// closed reads to the end and answers how the socket was closed.
func (d *dialing) closed() websocket.CloseError {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	for {
		_, _, err := d.Read(ctx)
		if err == nil {
			continue
		}
		var e websocket.CloseError
		require.ErrorAs(d.t, err, &e)
		return e
	}
}

// takenZero is what a runner hears first of a server of ours.
const takenZero = `{"type":"taken","bytes":0}`

func echo(ctx context.Context, ch *tunnel.Channel) {
	for {
		m, err := ch.Read(ctx)
		if err != nil {
			return
		}
		if strings.HasPrefix(string(m.Data), `{"type":"taken"`) {
			continue
		}
		if ch.Write(ctx, m) != nil {
			return
		}
	}
}

// Bytes and texts pass as they are, both ways, in order.
func TestAttach(t *testing.T) {
	s, r, session, _ := started(t)
	opened := make(chan *tunnel.Channel, 1)
	r.attaches(func(ctx context.Context, ch *tunnel.Channel) { opened <- ch; echo(ctx, ch) })
	d := s.dialTerminal(session, "?read_only=false&transport=x&omnigent_slice_key=y")
	d.send(websocket.MessageText, `{"type":"resize","cols":100,"rows":30}`)
	kind, got := d.next()
	require.Equal(t, websocket.MessageText, kind)
	require.Equal(t, `{"type":"resize","cols":100,"rows":30}`, got)
	ch := <-opened
	require.Equal(t, "/v1/sessions/"+session+"/resources/terminals/terminal_bash_s1/attach", ch.Path)
	require.Equal(t, "read_only=false", ch.Query, "nothing else is forwarded")
	for _, bytes := range []string{"\xe9", "\x6f\xbc", "\xa2\x00\x1b[A", "é漢🙂"[1:], ""} {
		d.send(websocket.MessageBinary, bytes)
		kind, got = d.next()
		require.Equal(t, websocket.MessageBinary, kind)
		require.Equal(t, bytes, got)
	}
	paste := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	d.send(websocket.MessageBinary, paste)
	var back strings.Builder
	for back.Len() < len(paste) {
		_, piece := d.next()
		require.LessOrEqual(t, len(piece), bridgePiece)
		back.WriteString(piece)
	}
	require.Equal(t, paste, back.String())
	d.send(websocket.MessageText, "\xff\xfe") // no text: it must not become keys
	d.send(websocket.MessageText, `{"x":"`+strings.Repeat("y", maxControl)+`"}`)
	d.send(websocket.MessageBinary, "next")
	_, got = d.next()
	require.Equal(t, "next", got)
	require.NoError(t, d.Close(websocket.StatusNormalClosure, ""))
	s.eventually("the runner hears of it", func() bool {
		err := ch.Write(t.Context(), tunnel.Message{})
		var closed *tunnel.ChannelError
		return asChannelError(err, &closed) && closed.Code == 1000
	})
}

func asChannelError(err error, to **tunnel.ChannelError) bool {
	e, ok := err.(*tunnel.ChannelError) //nolint:errorlint // nothing wraps it
	*to = e
	return ok
}

func TestAReaderTypesNothing(t *testing.T) {
	s, r, session, _ := started(t)
	query := make(chan string, 1)
	r.attaches(func(ctx context.Context, ch *tunnel.Channel) { query <- ch.Query; echo(ctx, ch) })
	d := s.dialTerminal(session, "?read_only=true")
	require.Equal(t, "read_only=true", <-query)
	d.send(websocket.MessageBinary, "rm -rf /\r")
	d.send(websocket.MessageText, `{"type":"resize","cols":10,"rows":3}`)
	_, got := d.next()
	require.Contains(t, got, "resize", "the keys were dropped")
}

// How a terminal ends is the runner's to say; what may pass makes a browser come
// back.
func TestHowAnAttachEnds(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.Timing.AttachWait = 50 * time.Millisecond })
	for _, c := range []struct {
		code, want websocket.StatusCode
		reason     string
	}{
		{4404, 4404, "terminal session ended"}, {4405, 4405, "terminal detached"}, {4500, 4500, "tmux not found"}, {1000, 1000, ""},
		{1001, 1001, "runner shutdown"}, {1011, 1011, "runner dispatch failed"}, {1013, 1013, "too slow"}, {1006, 1013, "the runner's connection was lost"},
		{1005, 1011, "the runner closed with code 1005"}, {77, 1011, "the runner closed with code 77"}, {9999, 1011, "the runner closed with code 9999"},
	} {
		r.attaches(func(ctx context.Context, ch *tunnel.Channel) {
			_ = ch.Write(ctx, tunnel.Message{Data: []byte("last words")})
			ch.Close(int(c.code), c.reason)
		})
		d := s.dialTerminal(session, "")
		_, got := d.next()
		require.Equal(t, "last words", got, "what was shown comes before the end")
		end := d.closed()
		require.Equal(t, c.want, end.Code)
		require.Equal(t, c.reason, end.Reason)
	}
	r.attaches(nil)
	require.Equal(t, websocket.StatusCode(4404), s.dialTerminal(session, "").closed().Code)
	require.Equal(t, websocket.StatusCode(4404), s.dialTerminal(strings.Repeat("0", 32), "").closed().Code, "no session")
	require.Equal(t, websocket.StatusCode(4404), s.dialTerminal(s.session(), "").closed().Code, "no runner, so no terminal")

	r.attaches(echo)
	d := s.dialTerminal(session, "")
	d.send(websocket.MessageBinary, "x")
	d.next()
	r.disconnect()
	require.Contains(t, []websocket.StatusCode{1001, 1013}, d.closed().Code)
	s.eventually("offline", func() bool { return s.snapshot(session)["runner_online"] == false })
	end := s.dialTerminal(session, "").closed()
	require.Equal(t, websocket.StatusTryAgainLater, end.Code)
	require.Equal(t, "the runner is not connected", end.Reason)
}

// A runner that comes back a moment later is waited for.
func TestAttachWaitsForTheRunner(t *testing.T) {
	s, r, session, _ := started(t)
	r.attaches(echo)
	r.disconnect()
	s.eventually("offline", func() bool { return s.snapshot(session)["runner_online"] == false })
	got := make(chan string, 1)
	go func() {
		d := s.dialTerminal(session, "")
		d.send(websocket.MessageBinary, "still here")
		_, text := d.next()
		got <- text
	}()
	r.connect(s)
	require.Equal(t, "still here", <-got)
}

// A stopping server sends its viewers away to come back, and waits for none that
// does not listen.
func TestAStopEndsAttaches(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.Timing.SocketClose = 100 * time.Millisecond })
	r.attaches(echo)
	d := s.dialTerminal(session, "")
	d.send(websocket.MessageBinary, "x")
	d.next()
	deaf := s.dialTerminal(session, "")
	s.stop()
	require.Equal(t, websocket.StatusServiceRestart, d.closed().Code)
	require.NoError(t, deaf.CloseNow())
}

// A browser that takes nothing holds one message and the runner's credit, and
// goes when it takes nothing for too long; the others notice nothing.
func TestASlowBrowser(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.Timing.ViewerWrite = 3 * time.Second })
	over := make(chan error, 1)
	r.attaches(func(ctx context.Context, ch *tunnel.Channel) {
		m, err := ch.Read(ctx)
		if err != nil || string(m.Data) != takenZero {
			over <- err
			return
		}
		if m, err = ch.Read(ctx); err != nil || string(m.Data) != "flood" {
			_ = ch.Write(ctx, m)
			echo(ctx, ch)
			return
		}
		for { // a runner without manners: it never looks at what was taken
			if err := ch.Write(ctx, tunnel.Message{Data: make([]byte, 64<<10)}); err != nil {
				over <- err
				return
			}
		}
	})
	slow := s.dialTerminal(session, "")
	slow.send(websocket.MessageBinary, "flood")
	neighbour := s.dialTerminal(session, "")
	neighbour.send(websocket.MessageBinary, "a")
	neighbour.next()
	var closed *tunnel.ChannelError
	require.True(t, asChannelError(<-over, &closed))
	require.Contains(t, []int{1000, 1013}, closed.Code)
	neighbour.send(websocket.MessageBinary, "b")
	_, got := neighbour.next()
	require.Equal(t, "b", got)
}

// The runner hears how much a browser took.
func TestTheRunnerHearsWhatWasTaken(t *testing.T) {
	s, r, session, _ := started(t)
	heard := make(chan string, 10)
	r.attaches(func(ctx context.Context, ch *tunnel.Channel) {
		for {
			m, err := ch.Read(ctx)
			if err != nil {
				return
			}
			heard <- string(m.Data)
			if string(m.Data) == takenZero {
				_ = ch.Write(ctx, tunnel.Message{Data: make([]byte, takenEvery)})
			}
		}
	})
	d := s.dialTerminal(session, "")
	require.Equal(t, takenZero, <-heard)
	d.next()
	d.next()
	require.Equal(t, `{"type":"taken","bytes":65536}`, <-heard)
}

// A browser that is gone without a word is found by its silence.
func TestASilentBrowser(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.Timing.SocketPing = 100 * time.Millisecond })
	left := make(chan struct{})
	r.attaches(func(ctx context.Context, ch *tunnel.Channel) { echo(ctx, ch); close(left) })
	ws, _, err := websocket.Dial(t.Context(), s.wsURL(session, ""), &websocket.DialOptions{
		OnPingReceived: func(context.Context, []byte) bool { return false }}) // no pong
	require.NoError(t, err)
	defer func() { _ = ws.CloseNow() }()
	go func() { _, _, _ = ws.Read(context.Background()) }()
	select {
	case <-left:
	case <-time.After(patience):
		t.Fatal("nobody noticed")
	}
}

// The rules for requests hold for upgrades: before anything is opened.
func TestAPageCannotAttach(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.PublicHosts = []string{"runs.example.org"} })
	r.attaches(func(context.Context, *tunnel.Channel) { t.Error("a channel was opened") })
	for _, url := range []string{s.wsURL(session, ""), s.url + "/v1/sessions/updates"} {
		for name, c := range map[string]struct {
			header http.Header
			host   string
			want   int
		}{
			"another origin": {http.Header{"Origin": {"https://evil.example"}}, "", 403},
			"no origin's":    {http.Header{"Origin": {"null"}}, "", 403},
			"rebound name":   {nil, "evil.example", 403},
			"no token":       {nil, "runs.example.org", 401},
			"wrong cookie":   {http.Header{"Cookie": {"outrunner_default=x"}}, "runs.example.org", 401},
		} {
			_, res, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPHeader: c.header, Host: c.host})
			require.Error(t, err, name)
			require.Equal(t, c.want, res.StatusCode, name)
		}
	}
	s.ok(426, "GET", strings.TrimPrefix(s.wsURL(session, ""), s.url), nil)
}
