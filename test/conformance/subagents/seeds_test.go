//go:build unix

package subagents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

// The scenarios of identity: whatever was asked first and whatever was
// forgotten, a child is answered by its own harness.

func TestS1StreamTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("claude_code")
	w.start()
	_, body := w.Message(sessionC, "task")
	code, text := w.Do("POST", "/v1/sessions/"+sessionC+"/events?stream=true", body)
	require.Equal(t, 200, code, text)
	require.Contains(t, text, "event: response.completed\n")
	require.Equal(t, []string{native}, w.asked(sessionC))
}

func TestS2BackgroundTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("claude_code")
	w.start()
	w.Watch(sessionC)
	item := w.Send(sessionC, "task")
	require.Equal(t, "completed", w.Ended(sessionC, item))
	require.Equal(t, []string{native}, w.asked(sessionC))
	require.Equal(t, []string{native + " has done it"}, w.Said(sessionC))
}

// The journal knows the session and not who it is: the one message that it got
// named nobody, and nobody could be asked. The items' endpoint knows only one
// item, in the nested form, whatever it is asked.
func TestS3Scan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("claude_code")
	w.start()
	w.Watch(sessionC)
	mend := w.Break("GET", "/v1/sessions/"+sessionC, 0, fakeserver.Answer(500))
	item, body := w.Message(sessionC, "before")
	delete(body, "agent_id")
	delete(body, "agent_revision")
	code, text := w.Do("POST", "/v1/sessions/"+sessionC+"/events", body)
	require.Equal(t, 202, code, text)
	require.Equal(t, "failed:identity_unknown", w.Ended(sessionC, item))
	require.Empty(t, w.asked(sessionC))

	w.Break("GET", "/v1/sessions/"+sessionC+"/items", 0, fakeserver.Body(
		`{"object":"list","data":[{"id":"17e30000000000000000000000000009","type":"message","data":{"role":"user","content":[{"type":"input_text","text":"away"}]}}],`+
			`"first_id":null,"last_id":null,"has_more":false}`))
	mend()
	for n := range 2 { // the second scan finds nothing new
		w.Drop()
		w.Connected(n + 2)
		require.Equal(t, "completed", w.Ended(sessionC, "17e30000000000000000000000000009"))
	}
	w.scanned(3)
	require.Equal(t, []string{native}, w.asked(sessionC))
	require.Len(t, w.noted("ran"), 1)
}

func TestS4ResourcesFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("claude_code")
	w.start()
	code, text := w.Do("GET", "/v1/sessions/"+sessionC+"/resources", nil)
	require.Equal(t, 200, code, text)
	_, body := w.Message(sessionC, "task")
	code, text = w.Do("POST", "/v1/sessions/"+sessionC+"/events?stream=true", body)
	require.Equal(t, 200, code, text)
	require.Contains(t, text, "event: response.completed\n")
	require.Equal(t, []string{native}, w.asked(sessionC))
}

// The scenarios of delivery: a result is queued for its parent once, whatever
// was lost of the work, and read once.

func TestS5LostWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("reviewer")
	w.start()
	w.Watch(sessionP)
	w.streaming(sessionP)
	code, text := w.status(sessionC, "idle", "review complete: LGTM")
	require.Equal(t, 204, code, text)
	w.woken(1)
	require.Equal(t, "[System: sub-agent task "+sessionC+" completed — reviewer:reviewer returned: review complete: LGTM]", w.read("r1"))
	require.Equal(t, empty, w.read("r2"))
}

func TestS6NativeChildWithoutAName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("")
	const agent = "a9e40000000000000000000000000002"
	w.AddAgent(agent, "cursor-native-ui", map[string]string{"config.yaml": spec("cursor-native-ui", native)})
	w.Change(sessionC, func(s *fakeserver.Session) { s.AgentID = agent })
	w.start()
	w.Watch(sessionP)
	w.streaming(sessionP)
	code, text := w.status(sessionC, "idle", "done")
	require.Equal(t, 204, code, text)
	require.Equal(t, "[System: sub-agent task "+sessionC+" completed — cursor-native-ui returned: done]", w.read("r1"))
}

// The forwarder speaks before the program's own turn ends: that end is not told
// again.
func TestS7TrackedWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("claude_code")
	w.start()
	w.Watch(sessionP)
	kid := w.dispatch(`{"agent":"sdkkid","title":"one","args":"HOLD"}`)
	w.Until(func() bool { return len(w.noted("ran")) == 1 }, "the child's program has no task")
	code, text := w.status(kid, "idle", "done")
	require.Equal(t, 204, code, text)
	w.woken(1)
	code, text = w.Do("POST", "/v1/sessions/"+kid+"/events", fakeserver.Dict{"type": "interrupt"})
	require.Equal(t, 204, code, text)
	require.Equal(t, "[System: sub-agent task "+kid+" completed — sdkkid:one returned: done]", w.read("r1"))
	require.Equal(t, empty, w.read("r2"))
	require.Equal(t, []string{sibling}, w.asked(kid))
}

// The same of a claude that this very process runs: its idle alone says nothing
// (S159), its completed turn does (S162).
func TestS7ButForAClaudeThatRunsHere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("claude_code")
	w.start()
	w.Watch(sessionP)
	kid := w.dispatch(`{"agent":"claude_code","title":"one","args":"HOLD"}`)
	w.Until(func() bool { return len(w.noted("ran")) == 1 }, "the child's program has no task")
	code, text := w.status(kid, "idle", "not yet")
	require.Equal(t, 204, code, text)
	require.Equal(t, empty, w.read("r1"))
	code, text = w.Do("POST", "/v1/sessions/"+kid+"/events", fakeserver.Dict{"type": "external_session_status",
		"data": fakeserver.Dict{"status": "idle", "output": "done", "turn_completed": true}})
	require.Equal(t, 204, code, text)
	w.woken(1)
	require.Equal(t, "[System: sub-agent task "+kid+" completed — claude_code:one returned: done]", w.read("r2"))
}

func TestS8NoInbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("claude_code")
	w.start()
	for range 2 {
		code, text := w.status(sessionC, "idle", "done")
		require.Equal(t, 503, code, text)
		require.Contains(t, text, `"error":"subagent_delivery_not_confirmed"`)
		require.Contains(t, text, `"reason":"missing_parent_inbox"`)
	}
	require.Empty(t, w.wakes(sessionP))
	w.Watch(sessionP) // now there is one, and it has what was kept
	w.woken(1)
	require.Equal(t, 1, strings.Count(w.read("r1"), "returned: done]"))
	require.Equal(t, empty, w.read("r2"))
}

func TestS9DrainedStaysDrained(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("claude_code")
	w.start()
	w.Watch(sessionP)
	kid := w.dispatch(`{"agent":"claude_code","title":"one","args":"task"}`)
	w.woken(1)
	w.atRest(sessionP) // a turn that has read, and is cut off, would be shown it again
	want := "[System: sub-agent task " + kid + " completed — claude_code:one returned: " + native + " has done it]"
	require.Equal(t, want, w.read("r1"))
	w.receipted(kid)

	w.runner.Kill()
	w.start()
	code, text := w.status(kid, "idle", "x")
	require.Equal(t, 204, code, text)
	require.Equal(t, empty, w.read("r2"))
	require.Equal(t, want, w.read("r1"), "the same operation is told the same")
	require.Len(t, w.wakes(sessionP), 1)
}

func TestS10NobodysChild(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("")
	w.Change(sessionC, func(s *fakeserver.Session) { s.Parent = "" })
	w.start()
	w.Watch(sessionP)
	w.streaming(sessionP)
	code, text := w.status(sessionC, "idle", "done")
	require.Equal(t, 204, code, text)
	require.Equal(t, empty, w.read("r1"))
	require.Empty(t, w.wakes(sessionP))
}

// A child that was routed to another harness reports by that one. Its second
// message has its content where an old server put it.
func TestS11RoutedChild(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("")
	w.start()
	w.Watch(sessionP)
	kid := w.dispatch(fmt.Sprintf(`{"agent":"claude_code","title":"one","args":{"input":"task","harness":%q}}`, parent))
	w.woken(1)
	require.Equal(t, "[System: sub-agent task "+kid+" completed — claude_code:one returned: "+parent+" has done it]", w.read("r1"))

	code, text := w.Do("POST", "/v1/sessions/"+kid+"/events", fakeserver.Dict{
		"type": "message", "harness_override": sibling, "persisted_item_id": w.Say(kid, "more"),
		"data": fakeserver.Dict{"role": "user", "content": fakeserver.Text("more")}})
	require.Equal(t, 202, code, text)
	w.Until(func() bool { return len(w.asked(kid)) == 2 }, "the second message is not answered")
	require.Equal(t, []string{parent, sibling}, w.asked(kid), "what was asked for, and never the child's own")
}

// streaming waits until the session's stream is open, by which it is named: a
// request of the same session starts behind the one that opens it.
func (w *world) streaming(session string) {
	w.t.Helper()
	code, text := w.Do("GET", "/v1/sessions/"+session+"/resources/terminals", nil)
	require.Equal(w.t, 200, code, text)
}

// woken waits until the parent was told of results so many times.
func (w *world) woken(n int) {
	w.t.Helper()
	w.Until(func() bool { return len(w.wakes(sessionP)) >= n }, "the parent is not woken")
	require.Len(w.t, w.wakes(sessionP), n)
}

// atRest waits until every message of the session has an outcome.
func (w *world) atRest(session string) {
	w.t.Helper()
	for _, item := range w.Items(session) {
		if item["role"] == "user" {
			w.Ended(session, item["id"].(string))
		}
	}
}

// receipted waits until the server knows that the child's result was read.
func (w *world) receipted(kid string) {
	w.t.Helper()
	w.Until(func() bool {
		labels := w.Labels(kid)
		return labels["omnigent.subagent.dispatch_id"] == labels["omnigent.subagent.delivered_id"]
	}, "there is no receipt")
}
