package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// attachPatience bounds every wait of these tests.
const attachPatience = 30 * time.Second

// screen is what the user sees.
type screen struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

func (s *screen) shows(t *testing.T, want string) {
	t.Helper()
	limit := time.After(attachPatience)
	for {
		s.mu.Lock()
		got := s.text.String()
		s.mu.Unlock()
		if strings.Contains(got, want) {
			return
		}
		select {
		case <-s.changed:
		case <-limit:
			require.FailNow(t, "the screen does not show "+want, got)
		}
	}
}

// desk is a user at an attached terminal, and the server behind it.
type desk struct {
	t      *testing.T
	attach *Attach
	screen *screen
	conns  chan *websocket.Conn // as the server gets them
	asked  chan *http.Request
	refuse func(http.ResponseWriter) bool
	leave  context.CancelCauseFunc
	end    chan AttachEnd
	err    error // valid once end has something
	cols   int
	resize chan struct{}

	mu      sync.Mutex
	notices []string
}

func newDesk(t *testing.T, change ...func(*Attach)) *desk {
	d := &desk{t: t, screen: &screen{changed: make(chan struct{}, 1)}, conns: make(chan *websocket.Conn, 100), asked: make(chan *http.Request, 100),
		end: make(chan AttachEnd, 1), cols: 100, resize: make(chan struct{}, 1)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.asked <- r
		if d.refuse != nil && d.refuse(w) {
			return
		}
		ws, err := websocket.Accept(w, r, nil)
		if err == nil {
			d.conns <- ws
		}
	}))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	require.NoError(t, err)
	c := New(base, "the token")
	t.Cleanup(c.Close)
	d.attach = &Attach{Client: c, Session: "s1", Terminal: "terminal_bash_main", Screen: d.screen,
		Fresh: func() { _, _ = d.screen.Write([]byte("<fresh>")) }, Size: func() (int, int) { return d.cols, 30 }, Resized: d.resize,
		Notice: func(text string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.notices = append(d.notices, text)
		}, Delays: []time.Duration{time.Millisecond}}
	for _, c := range change {
		c(d.attach)
	}
	return d
}

func (d *desk) begin() *desk {
	ctx, leave := context.WithCancelCause(context.Background())
	d.leave = leave
	over := make(chan struct{})
	go func() {
		defer close(over)
		end, err := d.attach.Run(ctx)
		d.err = err
		d.end <- end
	}()
	d.t.Cleanup(func() { leave(errors.New("the test is over")); <-over })
	return d
}

// conn is the next connection at the server, which has told its size.
func (d *desk) conn(size string) *websocket.Conn {
	d.t.Helper()
	select {
	case ws := <-d.conns:
		d.t.Cleanup(func() { _ = ws.CloseNow() })
		kind, text := d.read(ws)
		require.Equal(d.t, websocket.MessageText, kind, "the size comes first")
		require.JSONEq(d.t, size, text)
		return ws
	case <-time.After(attachPatience):
		d.t.Fatal("nobody dials")
		return nil
	}
}

func (d *desk) read(ws *websocket.Conn) (websocket.MessageType, string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), attachPatience)
	defer cancel()
	kind, data, err := ws.Read(ctx)
	require.NoError(d.t, err)
	return kind, string(data)
}

func (d *desk) say(ws *websocket.Conn, kind websocket.MessageType, text string) {
	d.t.Helper()
	require.NoError(d.t, ws.Write(context.Background(), kind, []byte(text)))
}

// over waits for the end.
func (d *desk) over() (AttachEnd, error) {
	d.t.Helper()
	select {
	case end := <-d.end:
		return end, d.err
	case <-time.After(attachPatience):
		d.t.Fatal("it does not end")
		return AttachEnd{}, nil
	}
}

const size100 = `{"type":"resize","cols":100,"rows":30}`

func TestAttachCarries(t *testing.T) {
	d := newDesk(t).begin()
	ws := d.conn(size100)
	r := <-d.asked
	require.Equal(t, "/v1/sessions/s1/resources/terminals/terminal_bash_main/attach?read_only=false", r.URL.String())
	require.Equal(t, "Bearer the token", r.Header.Get("Authorization"))
	require.Empty(t, r.Header.Get("Origin"))
	d.say(ws, websocket.MessageBinary, "\xe9 screen")
	d.screen.shows(t, "\xe9 screen")
	d.attach.Type(t.Context(), []byte("ls\r"))
	kind, text := d.read(ws)
	require.Equal(t, websocket.MessageBinary, kind)
	require.Equal(t, "ls\r", text)
	d.cols = 120
	d.resize <- struct{}{}
	_, text = d.read(ws)
	require.JSONEq(t, `{"type":"resize","cols":120,"rows":30}`, text)

	paste := strings.Repeat("0123456789abcdef", 10_000)
	go d.attach.Type(context.Background(), []byte(paste))
	got := ""
	for len(got) < len(paste) {
		_, piece := d.read(ws)
		got += piece
	}
	require.Equal(t, paste, got)
	require.NoError(t, ws.Close(4404, "terminal session ended"))
	end, err := d.over()
	require.NoError(t, err)
	require.Equal(t, AttachEnd{Code: 4404, Reason: "terminal session ended"}, end)
}

func TestAReaderSendsNoKeys(t *testing.T) {
	d := newDesk(t, func(a *Attach) { a.ReadOnly = true }).begin()
	ws := d.conn(size100)
	require.Contains(t, (<-d.asked).URL.String(), "read_only=true")
	d.attach.Type(t.Context(), []byte("x"))
	d.resize <- struct{}{}
	_, text := d.read(ws)
	require.JSONEq(t, size100, text)
}

// A connection that is lost is taken up again with a fresh screen; what is typed
// meanwhile is sent once.
func TestAttachComesBack(t *testing.T) {
	d := newDesk(t).begin()
	ws := d.conn(size100)
	d.say(ws, websocket.MessageBinary, "before")
	d.screen.shows(t, "before")
	for n, code := range []websocket.StatusCode{1001, 1011, 1012, 1013, 1014} {
		require.NoError(t, ws.Close(code, "later"))
		d.attach.Type(t.Context(), []byte(fmt.Sprint("key", n)))
		ws = d.conn(size100)
		_, text := d.read(ws)
		require.Equal(t, fmt.Sprint("key", n), text)
		d.say(ws, websocket.MessageBinary, fmt.Sprint("after", code))
		d.screen.shows(t, fmt.Sprint("<fresh>after", code))
	}
	require.NoError(t, ws.CloseNow())
	ws = d.conn(size100)
	d.say(ws, websocket.MessageBinary, "still")
	d.screen.shows(t, "<fresh>still")
	d.mu.Lock()
	require.Contains(t, d.notices, "connected again")
	require.Contains(t, strings.Join(d.notices, "\n"), "later")
	d.mu.Unlock()
	d.leave(errors.New("enough"))
	_, err := d.over()
	require.EqualError(t, err, "enough")
}

func TestAttachGivesUp(t *testing.T) {
	for code, end := range map[websocket.StatusCode]AttachEnd{1000: {1000, ""}, 4405: {4405, ""}, 4500: {4500, ""}, 4400: {4400, ""}} {
		d := newDesk(t).begin()
		require.NoError(t, d.conn(size100).Close(code, ""))
		got, err := d.over()
		require.NoError(t, err)
		require.Equal(t, end, got)
	}
	d := newDesk(t)
	d.refuse = func(w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"code":"unauthorized","message":"who?"}}`))
		return true
	}
	_, err := d.begin().over()
	require.ErrorContains(t, err, "who?")
	require.ErrorContains(t, err, "--server-token-file")

	d = newDesk(t)
	d.attach.Client.base.Host = "127.0.0.1:1"
	_, err = d.begin().over()
	require.ErrorIs(t, err, ErrUnreachable, "never connected: told at once")

	d = newDesk(t)
	var refused atomic.Bool
	d.refuse = func(w http.ResponseWriter) bool {
		if refused.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return refused.Load()
	}
	d.begin()
	ws := d.conn(size100)
	refused.Store(true)
	require.NoError(t, ws.CloseNow())
	_, err = d.over()
	require.ErrorIs(t, err, ErrUnreachable)
	require.ErrorContains(t, err, "after 15 tries")
	require.Len(t, d.asked, 1+attachTries)
}

// A server that does not answer the good-bye does not hold up the user.
func TestLeavingIsQuick(t *testing.T) {
	d := newDesk(t).begin()
	d.conn(size100) // and never reads again
	began := time.Now()
	d.leave(errors.New("gone"))
	_, err := d.over()
	require.EqualError(t, err, "gone")
	require.Less(t, time.Since(began), 5*time.Second, "the library alone waits for 5 s")
}

// A program may set the clipboard of whoever has just typed, and only then.
func TestTheClipboard(t *testing.T) {
	d := newDesk(t).begin()
	ws := d.conn(size100)
	write := func(data string) {
		d.say(ws, websocket.MessageText, `{"type":"clipboard-write","encoding":"base64","data":"`+data+`"}`)
	}
	text := base64.StdEncoding.EncodeToString([]byte("copied"))
	write(text)
	d.say(ws, websocket.MessageBinary, "one")
	d.screen.shows(t, "one")
	require.NotContains(t, d.screen.text.String(), "]52", "nobody typed")
	d.attach.Type(t.Context(), []byte("y"))
	d.read(ws)
	for _, bad := range []string{"", "x\x07", "%%%", base64.StdEncoding.EncodeToString(make([]byte, maxClipboard+1))} {
		write(bad)
	}
	d.say(ws, websocket.MessageText, `{"type":"unknown"}`)
	d.say(ws, websocket.MessageText, `no JSON`)
	d.say(ws, websocket.MessageBinary, "two")
	d.screen.shows(t, "two")
	require.NotContains(t, d.screen.text.String(), "]52")
	write(text)
	d.screen.shows(t, "\x1b]52;c;"+text+"\x07")
}

func TestTypingWaitsForRoom(t *testing.T) {
	q := newTyped()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); q.add(ctx, make([]byte, maxTyped+10)) }()
	require.Eventually(t, func() bool { q.mu.Lock(); defer q.mu.Unlock(); return len(q.bytes) == maxTyped }, attachPatience, time.Millisecond)
	require.Len(t, q.next(), typedPiece)
	q.sent(10)
	<-done
	full := make(chan struct{})
	go func() { defer close(full); q.add(ctx, make([]byte, maxTyped)) }()
	cancel()
	<-full // who leaves does not wait
}
