//go:build interop

package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

const (
	// comeBack is how soon a viewer opens the stream again.
	comeBack = 200 * time.Millisecond
	maxEvent = 16 << 20 // bytes of a line
	// silence is when a viewer gives a stream up: a server sends a heartbeat
	// each 15 s.
	silence = 25 * time.Second
)

// Watch is a viewer of a session's live stream. It opens the stream again
// whenever that has ended, as a browser does.
type Watch struct {
	t       testing.TB
	server  *Server
	session string

	mu     sync.Mutex
	opened int // times that the stream was opened
	events []Dict
}

// End is how a turn ended, as viewers saw it.
type End struct {
	Response string
	Status   string // completed, failed, cancelled, incomplete
	Code     string // of a failed one
	Message  string // of a failed one
}

// Watch views a session until the test ends. It returns when the server has
// begun to tell.
func (s *Server) Watch(session string) *Watch {
	s.t.Helper()
	w := &Watch{t: s.t, server: s, session: session}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { w.run(ctx) })
	s.t.Cleanup(func() {
		cancel()
		running.Wait()
		if s.t.Failed() {
			s.t.Logf("events of %s:\n%s", session, w.story())
		}
	})
	testkit.UntilSlow(s.t, testkit.Patience, func() bool { return len(w.Events()) > 0 }, testkit.Is("the stream of "+session+" does not begin"))
	return w
}

func (w *Watch) run(ctx context.Context) {
	transport := &http.Transport{DisableKeepAlives: true}
	client := http.Client{Transport: transport}
	for ctx.Err() == nil {
		w.read(ctx, &client)
		select {
		case <-ctx.Done():
		case <-time.After(comeBack):
		}
	}
}

// read takes one stream to its end.
func (w *Watch) read(ctx context.Context, client *http.Client) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	patience := time.AfterFunc(silence, giveUp)
	defer patience.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.server.URL+"/v1/sessions/"+w.session+"/stream", nil)
	if err != nil {
		return
	}
	res, err := client.Do(req)
	if err != nil {
		return // the server is away
	}
	defer func() { _ = res.Body.Close() }() // left in the middle
	if res.StatusCode != http.StatusOK {
		return
	}
	w.mu.Lock()
	w.opened++
	w.mu.Unlock()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		patience.Reset(silence)
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var ev Dict
		if !ok || json.Unmarshal([]byte(data), &ev) != nil {
			continue // the name of an event, a comment, [DONE]
		}
		w.mu.Lock()
		w.events = append(w.events, ev)
		w.mu.Unlock()
	}
}

// Events are the events so far.
func (w *Watch) Events() []Dict {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// Opened is how often the stream was opened.
func (w *Watch) Opened() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened
}

// Of are the events of a type.
func (w *Watch) Of(kind string) []Dict {
	return slices.DeleteFunc(w.Events(), func(ev Dict) bool { return ev["type"] != kind })
}

// Live is the text of all deltas.
func (w *Watch) Live() string {
	var text strings.Builder
	for _, ev := range w.Of("response.output_text.delta") {
		delta, _ := ev["delta"].(string)
		text.WriteString(delta)
	}
	return text.String()
}

// Ends are the ends of turns, each once, in the order in which they were first
// told. An end may be told again after a cut.
func (w *Watch) Ends() []End {
	var out []End
	for _, ev := range w.Events() {
		kind, _ := ev["type"].(string)
		status, ok := strings.CutPrefix(kind, "response.")
		if !ok || !slices.Contains([]string{"completed", "failed", "cancelled", "incomplete"}, status) {
			continue
		}
		body, _ := ev["response"].(Dict)
		end := End{Status: status}
		end.Response, _ = body["id"].(string)
		failure, _ := body["error"].(Dict)
		end.Code, _ = failure["code"].(string)
		end.Message, _ = failure["message"].(string)
		if !slices.ContainsFunc(out, func(e End) bool { return e.Response == end.Response }) {
			out = append(out, end)
		}
	}
	return out
}

// Settled waits until so many turns have ended and the session is at rest. More
// ends fail the test.
func (w *Watch) Settled(limit time.Duration, turns int) []End {
	w.t.Helper()
	var at testkit.Session
	testkit.UntilSlow(w.t, limit, func() bool {
		if len(w.Ends()) < turns {
			return false
		}
		var err error
		at, err = w.server.Session(w.session)
		return err == nil && (at.Status == "idle" || at.Status == "failed")
	}, func() string {
		at, err := w.server.Session(w.session)
		return fmt.Sprintf("%d ends, and rest: the ends are %+v, the session is %+v %v", turns, w.Ends(), at, err)
	})
	ends := w.Ends()
	require.Len(w.t, ends, turns, "ends of turns")
	return ends
}

// story is what happened, without the deltas.
func (w *Watch) story() string {
	const clip = 400
	var out strings.Builder
	for _, ev := range w.Events() {
		if ev["type"] == "response.output_text.delta" || ev["type"] == "session.heartbeat" {
			continue
		}
		text, _ := json.Marshal(ev) // it was JSON before
		fmt.Fprintf(&out, "%.*s\n", clip, text)
	}
	return out.String()
}
