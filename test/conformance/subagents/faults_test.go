//go:build unix

package subagents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

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
		w.Watch(id)
		mends = append(mends, w.Break("GET", "/v1/sessions/"+id, 0, unreadable[n].how))
		return id
	}
	var spoken, found []string // what is sent to when all is well, and what a scan finds
	t.Run("while they are", func(t *testing.T) {
		for n, f := range unreadable {
			stream, background, start, scan := child("stream", n), child("background", n), child("start", n), child("scan", n)
			spoken, found = append(spoken, stream, background, start), append(found, scan)
			t.Run("stream/"+f.name, func(t *testing.T) {
				t.Parallel()
				_, body := w.Message(stream, "task")
				code, text := w.Do("POST", "/v1/sessions/"+stream+"/events?stream=true", body)
				require.Equal(t, 200, code, "accepted, and failed")
				require.Contains(t, text, "event: response.failed\n")
				require.Contains(t, text, "identity_unknown")
			})
			t.Run("background/"+f.name, func(t *testing.T) {
				t.Parallel()
				require.Equal(t, "failed:identity_unknown", w.Ended(background, w.Send(background, "task")))
			})
			t.Run("init/"+f.name, func(t *testing.T) {
				t.Parallel()
				w.Say(start, "task")
				code, text := w.Do("POST", "/v1/sessions", fakeserver.Dict{"session_id": start, "agent_id": agentP, "sub_agent_name": nil})
				require.Equal(t, 503, code, text)
			})
			t.Run("scan/"+f.name, func(t *testing.T) {
				t.Parallel()
				// A forward that nobody can place makes the session known.
				require.Equal(t, "failed:identity_unknown", w.Ended(scan, w.Send(scan, "first")))
				w.Say(scan, "task")
			})
		}
	})
	w.Drop()
	w.Connected(2)
	w.scanned(2)
	require.Empty(t, w.noted("started"), "while nobody can say who they are")

	for _, mend := range mends {
		mend()
	}
	w.Drop()
	w.Connected(3)
	items := map[string]string{}
	for _, id := range spoken {
		items[id] = w.Send(id, "well again")
	}
	for _, id := range found {
		w.Until(func() bool { return len(w.asked(id)) > 0 }, "what was found is not answered when it is known whose it is")
	}
	for id, item := range items {
		require.Equal(t, "completed", w.Ended(id, item))
	}
	for _, line := range w.noted("started") {
		require.True(t, strings.HasPrefix(line, native+" "), line)
	}
}
