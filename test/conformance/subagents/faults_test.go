//go:build unix

package subagents

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

// answer is what a request was told.
type answer struct {
	code int
	text string
	err  error
}

// The ways in which a snapshot cannot be read. An empty object and 404 are none
// of them: they are settled answers.
var unreadable = []struct {
	name string
	how  fakeserver.Fault
}{
	{"500", fakeserver.Answer(500)},
	{"timeout", fakeserver.Hang},
	{"truncated", fakeserver.Truncated},
	{"HTML", fakeserver.HTML},
	{"array", fakeserver.Array},
}

// A child that nobody can be asked about is answered by nobody, on each of the
// four paths; when the server is well again, by its own harness.
func TestUnreadableSnapshotsNeverStartTheParentsProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "exec")
	w.AddSession(fakeserver.Session{ID: sessionP, AgentID: agentP})
	w.start()
	var mends []func()
	child := func(path string, n int) string {
		id := fmt.Sprintf("5e55%02d%026d", n, len(path))
		w.AddSession(fakeserver.Session{ID: id, AgentID: agentP, Parent: sessionP, Name: "claude_code"})
		mends = append(mends, w.Break("GET", "/v1/sessions/"+id, 0, unreadable[n].how))
		w.Watch(id)
		return id
	}
	// All at once: a read that hangs takes as long as it may.
	var asking sync.WaitGroup
	var streams, inits, backgrounds, found []string
	answers := make([]answer, 2*len(unreadable))
	ask := func(n int, path string, body any) {
		asking.Go(func() {
			code, text, err := w.Try("POST", path, body)
			answers[n] = answer{code, text, err}
		})
	}
	items := map[string]string{}
	for n := range unreadable {
		stream, background, start, scan := child("stream", n), child("background", n), child("start", n), child("scan", n)
		streams, inits, backgrounds, found = append(streams, stream), append(inits, start), append(backgrounds, background), append(found, scan)
		_, body := w.Message(stream, "task")
		ask(2*n, "/v1/sessions/"+stream+"/events?stream=true", body)
		w.Say(start, "task")
		ask(2*n+1, "/v1/sessions", fakeserver.Dict{"session_id": start, "agent_id": agentP, "sub_agent_name": nil})
		items[background] = w.Send(background, "task")
		items[scan] = w.Send(scan, "first") // by which it is known
	}
	asking.Wait()
	for n, f := range unreadable {
		streamed, started := answers[2*n], answers[2*n+1]
		require.NoError(t, streamed.err, f.name)
		require.Equal(t, 200, streamed.code, "%s: accepted, and failed", f.name)
		require.Contains(t, streamed.text, "event: response.failed\n", f.name)
		require.Contains(t, streamed.text, "identity_unknown", f.name)
		require.NoError(t, started.err, f.name)
		require.Equal(t, 503, started.code, "%s: %s", f.name, started.text)
		for _, id := range []string{backgrounds[n], found[n]} {
			require.Equal(t, "failed:identity_unknown", w.Ended(id, items[id]), f.name)
		}
		items[found[n]] = w.Say(found[n], "task")
	}
	w.Drop()
	w.Connected(2)
	w.scanned(2)
	require.Empty(t, w.noted("started"), "while nobody can say who they are")

	for _, mend := range mends {
		mend()
	}
	w.Drop()
	w.Connected(3)
	for _, id := range slices.Concat(streams, inits, backgrounds) {
		items[id] = w.Send(id, "well again")
	}
	for id, item := range items {
		require.Equal(t, "completed", w.Ended(id, item))
	}
	for _, line := range w.noted("started") {
		require.True(t, strings.HasPrefix(line, native+" "), line)
	}
}
