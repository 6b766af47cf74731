package server

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func item(typ string, fields map[string]any) map[string]any {
	fields["type"] = typ
	return map[string]any{"type": "response.output_item.done", "item": fields}
}

func plain(text string) map[string]any {
	return map[string]any{"type": "response.output_text.delta", "delta": text}
}

// started is a site with a runner and a session in a turn.
func started(t *testing.T, change ...func(*Config)) (s *site, r *fakeRunner, session, input string) {
	t.Helper()
	s = newSite(t, change...)
	r = s.runner("secret")
	session = s.session()
	input = s.send(session, "go")
	r.await(s, session, "message", 1)
	s.eventually("accepted", func() bool { return len(s.snapshot(session)["pending_inputs"].([]any)) == 0 })
	return s, r, session, input
}

// A turn as upstream's runner tells it (captures, one turn): text without
// message ids is gathered and stored before each completed call and at the end.
func TestPlainText(t *testing.T) {
	s, r, session, _ := started(t)
	v := s.watch(session, "")
	call := map[string]any{"id": "fc_x", "agent": "shell", "name": "shell", "arguments": `{"cmd":"ls"}`, "call_id": "call_1"}
	pendingCall, doneCall := map[string]any{"status": "in_progress"}, map[string]any{"status": "completed"}
	for k, v := range call {
		pendingCall[k], doneCall[k] = v, v
	}
	r.say(session, status(session, "running"), response("in_progress", "resp_1", nil),
		plain("Let me "), plain("check. "), item("function_call", pendingCall), item("function_call", doneCall), item("function_call", doneCall),
		item("function_call_output", map[string]any{"call_id": "call_1", "output": "a.txt"}),
		plain("Done"), response("completed", "resp_1", nil), status(session, "idle"))
	events := v.until("response.completed")
	require.Equal(t, []string{"session.status", "response.in_progress", "response.output_text.delta", "response.output_text.delta",
		"response.output_item.done", // the call that is not done: shown only
		"response.output_item.done", "response.output_item.done", "response.output_item.done",
		"response.output_text.delta", "response.output_item.done", "response.completed"}, types(events))

	items := s.items(session)[1:]
	require.Len(t, items, 4)
	for n, want := range []string{"message", "function_call", "function_call_output", "message"} {
		require.Equal(t, want, items[n]["type"])
		require.Equal(t, "resp_1", items[n]["response_id"])
	}
	require.Equal(t, []string{"go", "Let me check. ", "Done"}, s.texts(session))
	require.Equal(t, "shell", items[1]["model"], "agent is shown as model")
	require.Nil(t, items[1]["agent"])
	var live []string
	for _, n := range []int{5, 6, 7, 9} {
		live = append(live, events[n].data["item"].(map[string]any)["id"].(string))
	}
	for n, i := range items {
		require.Equal(t, i["id"], live[n], "the ids that were published are those that are stored")
	}
}

// Text that a cut of the stream divides stays whole: the gathering outlives the
// connection, for a runner that begins with in_progress again.
func TestPlainTextOverACut(t *testing.T) {
	s, r, session, _ := started(t)
	r.say(session, status(session, "running"), response("in_progress", "resp_1", nil), plain("one "))
	v := s.watch(session, "")
	s.eventually("the text came", func() bool { return s.srv.lives.get(session).plainLen() == 4 })
	r.cut(session)
	s.eventually("opened again", func() bool { return r.opened(session) == 2 })
	r.disconnect()
	r.connect(s)
	r.say(session, response("in_progress", "resp_1", nil), plain("two"), response("failed", "resp_1", nil,
		map[string]any{"error": map[string]any{"code": "RuntimeError", "message": "broke", "remediation": nil}}), status(session, "idle"))
	v.until("response.failed")
	require.Equal(t, []string{"go", "one two"}, s.texts(session))
	last := s.items(session)[2]
	require.Equal(t, "error", last["type"])
	require.Equal(t, "RuntimeError", last["code"])
	require.Equal(t, "harness", last["source"])
	require.Nil(t, last["remediation"])
}

func (l *live) plainLen() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.plain.Len()
}

// A done message that repeats the gathered text is the same text.
func TestPlainTextThatIsAlsoAnItem(t *testing.T) {
	s, r, session, _ := started(t)
	text := []any{map[string]any{"type": "output_text", "text": "same"}}
	r.say(session, response("in_progress", "resp_1", nil), plain("sa"), plain("me"),
		item("message", map[string]any{"role": "assistant", "agent": "shell", "content": text}), response("completed", "resp_1", nil))
	s.eventually("ended", func() bool { return s.snapshot(session)["active_response_id"] == nil && len(s.items(session)) > 1 })
	require.Equal(t, []string{"go", "same"}, s.texts(session))
}

// What a runner tells again on a new stream is told once to viewers.
func TestRepeatsAreToldOnce(t *testing.T) {
	s, r, session, input := started(t)
	v := s.watch(session, "")
	turn := []map[string]any{response("in_progress", "resp_1", []string{input}), response("completed", "resp_1", []string{input}), status(session, "idle")}
	r.say(session, status(session, "running"))
	for range 3 {
		r.say(session, turn...)
		r.cut(session)
	}
	r.say(session, status(session, "running"), response("in_progress", "resp_2", nil), response("cancelled", "resp_2", nil), status(session, "idle"))
	events := v.until("response.cancelled")
	require.Equal(t, []string{"session.status", "response.in_progress", "response.completed", "session.status",
		"session.status", "response.in_progress", "response.cancelled"}, types(events))
	for n, e := range events {
		if n > 0 {
			require.Equal(t, number(t, events[n-1].id)+1, number(t, e.id), "numbers have no gap")
		}
	}
}

func number(t *testing.T, id string) int {
	t.Helper()
	var n int
	_, err := fmt.Sscan(id, &n)
	require.NoError(t, err, id)
	return n
}

// The end of a response that died with the server between its arrival and its
// commit: the status that follows tells the viewers.
func TestAnEndThatNeverCame(t *testing.T) {
	s, r, session, input := started(t)
	v := s.watch(session, "")
	r.say(session, status(session, "running"), response("in_progress", "resp_1", []string{input}), status(session, "idle"))
	events := v.until("response.completed")
	require.Equal(t, []any{input}, events[len(events)-1].data["input_item_ids"])
	require.Equal(t, "resp_1", events[len(events)-1].data["response"].(map[string]any)["id"])
	r.say(session, status(session, "running"), response("in_progress", "resp_2", []string{input}),
		status(session, "failed", map[string]any{"error": map[string]any{"code": "c", "message": "m"}}))
	failed := v.until("response.failed")
	require.Equal(t, map[string]any{"code": "c", "message": "m", "title": nil, "cause": nil, "remediation": nil, "undelivered": nil},
		failed[len(failed)-1].data["response"].(map[string]any)["error"])
}

// One bad event ends neither the relay nor any viewer.
func TestBadEventsOfARunner(t *testing.T) {
	s, r, session, _ := started(t)
	v := s.watch(session, "")
	r.sayRaw(session, `{`, `null`, `[]`, `"x"`, `{"type":5}`, `{"type":"injection.consumed"}`, `{"type":"made.up"}`,
		`{"type":"session.status"}`, `{"type":"response.output_item.done"}`, `{"type":"response.output_item.done","item":{"type":"function_call","status":"completed"}}`,
		`{"type":"response.in_progress","response":[]}`, `{"type":"response.output_text.delta","delta":7}`, `{"type":"session.resource.created"}`,
		`{"type":"response.failed"}`)
	events := v.until("response.failed")
	require.Equal(t, []string{"response.output_item.done", "response.failed"}, types(events))
	require.NotEmpty(t, events[1].data["response"].(map[string]any)["id"])
	r.say(session, map[string]any{"type": "session.todos", "conversation_id": session, "todos": []any{}})
	require.Equal(t, "session.todos", v.next().typ)
	require.Equal(t, 1, r.opened(session), "the stream is the same")
}

func TestResourceEvents(t *testing.T) {
	s, r, session, _ := started(t)
	v := s.watch(session, "")
	res := map[string]any{"id": "terminal_bash_s1", "type": "terminal", "name": "bash"}
	r.say(session, map[string]any{"type": "session.resource.created", "resource": res},
		map[string]any{"type": "session.resource.deleted", "resource": res, "persist_resource_event": false})
	v.until("session.resource.deleted")
	items := s.items(session)[1:]
	require.Len(t, items, 1)
	require.Equal(t, "resource_event", items[0]["type"])
	require.Equal(t, "terminal_bash_s1", items[0]["resource_id"])
	require.Equal(t, session, items[0]["response_id"])
}

// [DONE] closes the runner's stream until there is a message; a silent stream
// and one that never says anything are opened again.
func TestTheRunnersStream(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) {
		c.Timing.RelayFirst, c.Timing.RelaySilence = 200*time.Millisecond, 200*time.Millisecond
	})
	s.eventually("opened again after silence", func() bool { return r.opened(session) >= 3 })
	r.sayRaw(session, "[DONE]")
	count := 0
	s.eventually("closed", func() bool {
		was := count
		count = r.opened(session)
		return was == count && s.closedRelay(session)
	})
	s.send(session, "again")
	r.await(s, session, "message", 2)
	require.Greater(t, r.opened(session), count)
}

func (s *site) closedRelay(session string) bool {
	s.srv.presences.mu.Lock()
	l := s.srv.presences.lines[session]
	s.srv.presences.mu.Unlock()
	select {
	case <-l.opened():
		return false
	default:
		return true
	}
}

// What a lost connection had already brought is stored, all of it, before the
// next connection is listened to.
func TestNothingThatArrivedIsLost(t *testing.T) {
	s, r, session, input := started(t)
	v := s.watch(session, "")
	r.say(session, status(session, "running"), response("in_progress", "resp_1", []string{input}))
	v.until("response.in_progress")

	release, held := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.srv.db.Quiet(func() error { close(held); <-release; return nil })
	}()
	<-held // nothing can be stored now
	const calls = 100
	for n := range calls {
		r.say(session, item("function_call", map[string]any{"status": "completed", "name": "f", "arguments": "{}", "call_id": fmt.Sprint("c", n)}))
	}
	s.eventually("all left the runner", func() bool {
		f := r.feed(session)
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.lines) == 0
	})
	r.disconnect()
	r.connect(s)
	r.say(session, response("completed", "resp_1", []string{input}), status(session, "idle"))
	require.Len(t, s.items(session), 1)
	close(release)
	v.until("response.completed")
	items := s.items(session)[1:]
	require.Len(t, items, calls)
	for n, i := range items {
		require.Equal(t, fmt.Sprint("c", n), i["call_id"])
	}
}

func TestExternalStatusIsEchoed(t *testing.T) {
	s, r, session, _ := started(t)
	s.external(session, "resp_1", "a:1", "the answer")
	v := s.watch(session, "")
	s.post(session, "external_session_status", map[string]any{"status": "running"})
	s.post(session, "external_session_status", map[string]any{"status": "idle"})
	require.Equal(t, []string{"session.status"}, types(v.until("session.status")))
	got := r.await(s, session, "external_session_status", 2)[1].body
	require.Equal(t, map[string]any{"status": "idle", "output": "the answer"}, got["data"])
	for _, k := range []string{"model_override", "tools", "created_by"} {
		v, ok := got[k]
		require.True(t, ok)
		require.Nil(t, v)
	}
	s.ok(400, "POST", "/v1/sessions/"+session+"/events", map[string]any{"type": "external_session_status", "data": map[string]any{"status": "dancing"}})

	child := s.session(map[string]any{"parent_session_id": session})
	s.post(child, "external_session_status", map[string]any{"status": "running"})
	events := v.until("session.child_session.updated")
	require.Equal(t, true, events[len(events)-1].data["child"].(map[string]any)["busy"])
	r.answers(func(request) (int, string) { return 503, "{}" })
	s.ok(503, "POST", "/v1/sessions/"+child+"/events", map[string]any{"type": "external_session_status", "data": map[string]any{"status": "failed"}})
}

func TestExternalItems(t *testing.T) {
	s := newSite(t)
	session := s.session()
	v := s.watch(session, "")
	post := func(typ string, data map[string]any, extra map[string]any) string {
		body := map[string]any{"item_type": typ, "item_data": data}
		for k, v := range extra {
			body[k] = v
		}
		return s.post(session, "external_conversation_item", body)["item_id"].(string)
	}
	call := post("function_call", map[string]any{"agent": "shell", "name": "f", "arguments": "{}", "call_id": "c1"}, map[string]any{"response_id": "resp_1", "source_id": "a:1"})
	post("function_call_output", map[string]any{"call_id": "c1", "output": "o"}, map[string]any{"source_id": "a:2"})
	post("message", map[string]any{"role": "user", "content": "typed in the terminal"}, map[string]any{"source_id": "a:3"})
	events := v.until("session.input.consumed")
	require.Equal(t, []string{"response.output_item.done", "response.output_item.done", "session.input.consumed"}, types(events))
	items := s.items(session)
	require.Equal(t, call, items[0]["id"])
	require.Equal(t, "resp_1", items[1]["response_id"], "an output has the response of its call")
	raw, err := json.Marshal(events[0].data["item"])
	require.NoError(t, err)
	flat, err := json.Marshal(items[0])
	require.NoError(t, err)
	require.JSONEq(t, string(flat), string(raw), "live and listed are the same")
	s.post(session, "external_output_text_delta", map[string]any{"delta": "x", "message_id": "m", "index": 0})
	require.Equal(t, "response.output_text.delta", v.next().typ)
}
