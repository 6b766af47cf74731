package browser

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// tellViolations has a page tell of what its policy forbids.
const tellViolations = `addEventListener('securitypolicyviolation',
	e => console.error('POLICY', e.effectiveDirective, e.blockedURI, e.sourceFile, e.lineNumber));`

// watch sees what a page does that its user does not.
type watch struct {
	host string // the only one that it may ask

	mu    sync.Mutex
	more  string // and this one
	log   []string
	wrong []string
	seen  map[network.RequestID]string // URLs
	told  map[string]int64             // the newest status of each URL
}

func newWatch(base string) *watch {
	u, err := url.Parse(base)
	if err != nil {
		panic(err) // made by the tests
	}
	return &watch{host: u.Host, seen: map[network.RequestID]string{}, told: map[string]int64{}}
}

// see takes an event of the page. It must be quick.
func (w *watch) see(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		text := "console." + string(e.Type)
		for _, a := range e.Args {
			text += " " + strings.Trim(string(a.Value), `"`)
			if len(a.Value) == 0 {
				text += a.Description
			}
		}
		w.note(text)
		if strings.Contains(text, " POLICY ") {
			w.wrong = append(w.wrong, text)
		}
	case *runtime.EventExceptionThrown:
		text := "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		w.note(text)
		w.wrong = append(w.wrong, text)
	case *log.EventEntryAdded:
		w.note(fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *network.EventRequestWillBeSent:
		w.asks(e.RequestID, e.Request.URL)
	case *network.EventWebSocketCreated:
		w.asks(e.RequestID, e.URL)
	case *network.EventResponseReceivedExtraInfo: // also of an answer that the page must not see
		w.told[w.seen[e.RequestID]] = e.StatusCode
	}
}

func (w *watch) note(text string) { w.log = append(w.log, text) }

func (w *watch) asks(id network.RequestID, to string) {
	w.seen[id] = to
	u, err := url.Parse(to)
	if err == nil && (u.Scheme == "data" || u.Scheme == "blob" || u.Host == w.host || u.Host == w.more) {
		return
	}
	w.wrong = append(w.wrong, "it asks "+to)
}

// also lets the page ask another server.
func (w *watch) also(base string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.more = newWatch(base).host
}

// wrongs is what the page did that it must not.
func (w *watch) wrongs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrong
}

// status is what the page was last told at a URL; 0 = nothing.
func (w *watch) status(url string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told[url]
}

// dials counts the sockets to terminals that the page has opened so far.
func (w *watch) dials() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, url := range w.seen {
		if strings.Contains(url, "/attach?") {
			n++
		}
	}
	return n
}

// said tells whether the console of the page has a text.
func (w *watch) said(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(strings.Join(w.log, "\n"), text)
}

// enable has Chromium tell what the page does.
func (p *tab) enable() {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, network.Enable, network.EnableParams{})
	require.NoError(p.t, err)
}

// keep keeps what the page shows and said, if the test has failed.
func (p *tab) keep() {
	if !p.t.Failed() && len(p.wrongs()) == 0 {
		return
	}
	dir := p.t.ArtifactDir()
	picture, err := os.CreateTemp(dir, "page-*.png")
	if err != nil {
		p.t.Logf("keeping a picture of the page: %v", err)
		return
	}
	shot, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		_, err = picture.Write(shot)
	}
	if err == nil {
		err = picture.Close()
	}
	p.mu.Lock()
	said := strings.Join(p.log, "\n") + "\n"
	p.mu.Unlock()
	p.t.Logf("the page is at %s %v; its console:\n%s", picture.Name(), err, said)
	if err := os.WriteFile(strings.TrimSuffix(picture.Name(), filepath.Ext(picture.Name()))+".log", []byte(said), 0o600); err != nil {
		p.t.Logf("keeping the console of the page: %v", err)
	}
}

// A page that did what no page may do would be noticed.
func TestAPageIsWatched(t *testing.T) {
	t.Parallel()
	s := testkit.NewServer(t)
	p := open(t, s.URL, "/", desk)
	p.sees(byID("new-session-page"))
	require.Empty(t, p.wrongs())
	for does, want := range map[string]string{
		`document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.2:9/x.png'}))`: "it asks http://127.0.0.2:9/x.png",
		`document.body.append(Object.assign(document.createElement('script'), {text: '1'}))`:  "POLICY script-src",
		`setTimeout(() => { throw new Error('thrown') })`:                                     "Error: thrown",
	} {
		p.do(chromedp.Evaluate[chromedp.Void](does))
		testkit.Until(t, testkit.Patience, func() bool { return strings.Contains(strings.Join(p.wrongs(), "\n"), want) },
			func() string { return fmt.Sprintf("%q is not noticed, but %q", want, p.wrongs()) })
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = nil
}
