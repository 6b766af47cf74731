//go:build unix

package subagents

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

// The reports of one end: however many there are, and whatever is being asked
// meanwhile, the parent is told once and has one payload.

func TestTwoReportsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("claude_code")
	w.start()
	w.Watch(sessionP)
	kid := w.dispatch(`{"agent":"sdkkid","title":"one","args":"HOLD"}`)
	w.Until(func() bool { return len(w.noted("ran")) == 1 }, "the child's program has no task")
	w.reportTwice(kid, nil)
	w.requireOnePayload("[System: sub-agent task " + kid + " completed — sdkkid:one returned: done]")
}

// Nothing is known of the child when it reports; while that is being read, it
// reports again.
func TestAReportDuringASnapshotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("reviewer")
	w.start()
	w.Watch(sessionP)
	w.streaming(sessionP)
	release := w.Hold("GET", "/v1/sessions/"+sessionC)
	w.reportTwice(sessionC, func() {
		w.Until(func() bool {
			for _, c := range w.Calls() {
				if c.Method == "GET" && c.Path == "/v1/sessions/"+sessionC {
					return true
				}
			}
			return false
		}, "nobody asks who the child is")
		require.Empty(t, w.wakes(sessionP), "before it is known whose child it is")
		release()
	})
	w.requireOnePayload("[System: sub-agent task " + sessionC + " completed — reviewer:reviewer returned: done]")
}

func TestAReportAfterADrain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("claude_code")
	w.start()
	w.Watch(sessionP)
	kid := w.dispatch(`{"agent":"sdkkid","title":"one","args":"task"}`)
	w.woken(1)
	want := "[System: sub-agent task " + kid + " completed — sdkkid:one returned: " + sibling + " has done it]"
	require.Equal(t, want, w.read("r1"))
	w.reportTwice(kid, nil)
	require.Equal(t, empty, w.read("r2"))
	require.Equal(t, want, w.read("r1"), "the same operation is told the same")
	require.Len(t, w.wakes(sessionP), 1)
}

// reportTwice has a child report its end twice at once. Meanwhile is called
// when both are on their way.
func (w *world) reportTwice(kid string, meanwhile func()) {
	w.t.Helper()
	answers := make([]answer, 2)
	var reporting sync.WaitGroup
	for n := range answers {
		reporting.Go(func() {
			code, text, err := w.Try("POST", "/v1/sessions/"+kid+"/events", fakeserver.Dict{
				"type": "external_session_status", "data": fakeserver.Dict{"status": "idle", "output": "done"}})
			answers[n] = answer{code, text, err}
		})
	}
	if meanwhile != nil {
		meanwhile()
	}
	reporting.Wait()
	for _, a := range answers {
		require.NoError(w.t, a.err)
		require.Equal(w.t, 204, a.code, a.text)
	}
}

// requireOnePayload reads the inbox of the parent, which was woken once.
func (w *world) requireOnePayload(text string) {
	w.t.Helper()
	w.woken(1)
	require.Equal(w.t, text, w.read("r1"))
	require.Equal(w.t, empty, w.read("r2"))
	w.woken(1)
}
