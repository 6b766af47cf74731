package webterminal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/terminal/screen"
	"github.com/outrunner/outrunner/test/testkit"
)

// redials are the waits of the page, a tenth of them each: the servers of these
// tests come back sooner than real ones. The last one repeats.
var redials = [...]time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond}

// maxRedials is how often the page tries.
const maxRedials = 60

// scrollback is how many lines of history the page keeps.
const scrollback = 20000

// page is a terminal in a browser.
type page struct {
	t      *testing.T
	url    string // of the attach endpoint
	origin string
	cancel context.CancelFunc
	done   chan struct{} // closed when it dials no more
	cols   int
	rows   int

	mu     sync.Mutex
	slow   int // bytes a second that it reads; 0 = all that comes
	screen *screen.Screen
	ws     *websocket.Conn // nil while it is not connected
	dials  int
	closes []websocket.CloseError
	raw    []byte
	gate   chan struct{} // closed while it reads
}

// open shows a terminal.
func (w *world) open(session, terminal string, change ...func(*page)) *page {
	w.t.Helper()
	p := &page{t: w.t, url: w.server.URL + "/v1/sessions/" + session + "/resources/terminals/" + terminal + "/attach?read_only=false",
		origin: w.server.URL, done: make(chan struct{}), cols: 80, rows: 24, gate: make(chan struct{})}
	close(p.gate)
	for _, c := range change {
		c(p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() {
		defer close(p.done)
		p.live(ctx)
	}()
	w.t.Cleanup(func() { cancel(); <-p.done })
	return p
}

func readOnly(p *page) { p.url = strings.Replace(p.url, "read_only=false", "read_only=true", 1) }

func sized(cols, rows int) func(*page) { return func(p *page) { p.cols, p.rows = cols, rows } }

// live dials until the page closes or must not dial again.
func (p *page) live(ctx context.Context) {
	for try := 0; try < maxRedials; try++ {
		if try > 0 {
			wait := time.NewTimer(redials[min(try-1, len(redials)-1)])
			select {
			case <-wait.C:
			case <-ctx.Done():
				wait.Stop()
				return
			}
		}
		ws, _, err := websocket.Dial(ctx, p.url, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {p.origin}}})
		if err != nil {
			continue // a browser sees 1006
		}
		code := p.show(ctx, ws)
		_ = ws.CloseNow()
		switch code {
		case -1, 1001, 1005, 1006, 1011, 1012, 1013, 1014:
		default:
			return
		}
	}
}

// show is one connection: a new screen, the size first, then what comes.
func (p *page) show(ctx context.Context, ws *websocket.Conn) websocket.StatusCode {
	ws.SetReadLimit(-1)
	p.mu.Lock()
	p.screen = screen.New(p.cols, p.rows, scrollback)
	cols, rows := p.cols, p.rows
	p.mu.Unlock()
	if p.resize(ctx, ws, cols, rows) != nil {
		return -1
	}
	p.mu.Lock()
	p.ws = ws
	p.dials++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.ws = nil
		p.mu.Unlock()
	}()
	for {
		p.mu.Lock()
		gate := p.gate
		p.mu.Unlock()
		select {
		case <-gate:
		case <-ctx.Done():
			return -1
		}
		kind, data, err := ws.Read(ctx)
		if err != nil {
			code := websocket.CloseStatus(err)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.closes = append(p.closes, closing(err))
			return code
		}
		if kind == websocket.MessageText {
			continue // clipboard-write, and what is not known
		}
		p.mu.Lock()
		p.screen.Write(data)
		p.raw = append(p.raw, data...)
		p.mu.Unlock()
		p.rest(ctx, len(data))
	}
}

// rest waits as long as a slow page takes for so many bytes, or until it is slow
// no more.
func (p *page) rest(ctx context.Context, n int) {
	tick := time.NewTicker(testkit.Tick)
	defer tick.Stop()
	for began := time.Now(); ctx.Err() == nil; {
		p.mu.Lock()
		rate := p.slow
		p.mu.Unlock()
		if rate == 0 || time.Since(began) >= time.Duration(n)*time.Second/time.Duration(rate) {
			return
		}
		<-tick.C
	}
}

// reads sets how many bytes a second the page reads; 0 is all that comes.
func (p *page) reads(rate int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = rate
}

// got is all that the page got as it came.
func (p *page) got() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.raw)
}

func closing(err error) websocket.CloseError {
	var e websocket.CloseError
	if as, ok := unwrapClose(err); ok {
		e = as
	} else {
		e.Code = 1006
	}
	return e
}

func (p *page) resize(ctx context.Context, ws *websocket.Conn, cols, rows int) error {
	return ws.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"type":"resize","cols":%d,"rows":%d}`, cols, rows))
}

// types sends keys as the page does: as bytes, and not before it is connected.
func (p *page) types(keys string) {
	p.t.Helper()
	var ws *websocket.Conn
	testkit.Until(p.t, testkit.Patience, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		ws = p.ws
		return ws != nil
	}, testkit.Is("the page is not connected"))
	_ = ws.Write(context.Background(), websocket.MessageBinary, []byte(keys)) // a cut loses them, as in a browser
}

// text is what the page shows, the scrollback included.
func (p *page) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.screen == nil {
		return ""
	}
	return p.screen.Text(scrollback)
}

// shows waits until the page shows a text.
func (p *page) shows(want string) {
	p.t.Helper()
	testkit.Until(p.t, testkit.Patience, func() bool { return strings.Contains(p.text(), want) },
		func() string { return fmt.Sprintf("the page does not show %q but %q", want, tail(p.text())) })
}

// ends waits until the page gives up, and answers the last close.
func (p *page) ends() websocket.CloseError {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(testkit.Patience):
		require.FailNow(p.t, "the page does not end", tail(p.text()))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NotEmpty(p.t, p.closes)
	return p.closes[len(p.closes)-1]
}

// reconnected waits until the page has dialed more than n times and is connected.
func (p *page) reconnected(n int) {
	p.t.Helper()
	testkit.Until(p.t, testkit.Patience, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.dials > n && p.ws != nil
	}, testkit.Is("the page does not come back"))
}

func (p *page) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// stops has the page read nothing until it goes on.
func (p *page) stops() (goesOn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gate := make(chan struct{})
	p.gate = gate
	return func() { close(gate) }
}

func tail(s string) string {
	const enough = 2000
	return s[max(0, len(s)-enough):]
}

// terminalRow is what the page reads of a terminal.
type terminalRow struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Session  string `json:"session_id"`
	Metadata struct {
		Name    string `json:"terminal_name"`
		Key     string `json:"session_key"`
		Running bool   `json:"running"`
		Socket  string `json:"tmux_socket"`
	} `json:"metadata"`
}

// makes starts a terminal under a key as the page makes them.
func (w *world) makes(session, name, key string) terminalRow {
	w.t.Helper()
	status, raw, err := w.server.Do(http.MethodPost, "/v1/sessions/"+session+"/resources/terminals", map[string]string{"terminal": name, "session_key": key})
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, status, string(raw))
	var row terminalRow
	require.NoError(w.t, json.Unmarshal(raw, &row))
	return row
}

// lists is the page's list; what cannot be had is an empty one.
func (w *world) lists(session string) []terminalRow {
	w.t.Helper()
	status, raw, err := w.server.Do(http.MethodGet, "/v1/sessions/"+session+"/resources/terminals?order=asc&limit=1000", nil)
	if err != nil || status != http.StatusOK {
		return nil
	}
	var list struct{ Data []terminalRow }
	require.NoError(w.t, json.Unmarshal(raw, &list))
	return list.Data
}
