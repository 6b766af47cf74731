package server

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Messages for a runner that is away are kept, over a restart too, and go out
// in order once it is there.
func TestMessagesWaitForTheRunner(t *testing.T) {
	s := newSite(t)
	session := s.session()
	var items []string
	for n := range 3 {
		items = append(items, s.send(session, fmt.Sprint("m", n)))
	}
	var waiting []string
	for _, p := range s.snapshot(session)["pending_inputs"].([]any) {
		waiting = append(waiting, p.(map[string]any)["item_id"].(string))
	}
	require.Equal(t, items, waiting)
	require.Equal(t, "idle", s.snapshot(session)["status"])
	s.restart()
	require.Len(t, s.snapshot(session)["pending_inputs"], 3)

	r := s.runner("secret")
	r.await(s, session, "message", 3)
	require.Equal(t, []string{"m0", "m1", "m2"}, r.texts(session))
	s.eventually("no mark is left", func() bool { return len(s.snapshot(session)["pending_inputs"].([]any)) == 0 })
	require.Equal(t, r.id(), s.snapshot(session)["runner_id"], "an unbound session goes to the runner that came")
	require.Equal(t, 1, r.opened(session))
}

// Each message goes out only after the runner accepted the one before, and one
// that comes while others wait joins the list.
func TestAMessageNeverOvertakes(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	session := s.session()
	var refusals atomic.Int32
	r.answers(func(q request) (int, string) {
		if refusals.Add(1) <= 3 {
			return http.StatusServiceUnavailable, `{"error":"identity_unknown"}`
		}
		return 202, "{}"
	})
	s.send(session, "first")
	r.await(s, session, "message", 1)
	s.send(session, "second")
	s.eventually("both accepted", func() bool { return len(s.snapshot(session)["pending_inputs"].([]any)) == 0 })
	texts := r.texts(session)
	require.Equal(t, []string{"first", "first", "first", "first", "second"}, texts, "a 503 is tried again, and holds back what follows")
	require.Equal(t, "idle", s.snapshot(session)["status"], "and fails nothing")
}

func TestARefusedMessageHasOneOutcome(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	session := s.session()
	r.answers(func(q request) (int, string) {
		if q.body["persisted_item_id"] != nil && slices.Contains(r.texts(session), "bad") {
			return 202, "{}"
		}
		return http.StatusBadRequest, `{"error":"invalid_request","detail":"no such block"}`
	})
	v := s.watch(session, "")
	item := s.send(session, "bad")
	events := v.until("session.status")
	require.Equal(t, []string{"session.input.consumed", "response.output_item.done", "response.failed", "session.status"}, types(events))
	require.Equal(t, []any{item}, events[2].data["input_item_ids"])
	failure := events[3].data["error"].(map[string]any)
	require.Equal(t, "runner_rejected_event", failure["code"])
	require.Equal(t, "Runner rejected the message: invalid_request: no such block", failure["message"])
	require.Equal(t, item, failure["item_id"])
	snap := s.snapshot(session)
	require.Equal(t, "failed", snap["status"])
	require.Equal(t, map[string]any{"code": failure["code"], "message": failure["message"], "item_id": item, "agent_name": "shell"}, snap["last_task_error"])
	require.Empty(t, snap["pending_inputs"])
	require.Equal(t, item, s.items(session)[0]["id"], "the item stays")
	require.Equal(t, "error", s.items(session)[1]["type"])

	next := s.send(session, "good")
	require.Equal(t, next, r.await(s, session, "message", 2)[1].body["persisted_item_id"])
}

// The answer that got lost: the runner has the message, the server does not
// know. What the runner then tells of it takes the mark.
func TestATurnThatNamesAMessageTakesItsMark(t *testing.T) {
	for name, tell := range map[string]func(s *site, r *fakeRunner, session, item string){
		"in progress": func(_ *site, r *fakeRunner, session, item string) {
			r.say(session, response("in_progress", "resp_1", []string{item}))
		},
		"outcome": func(_ *site, r *fakeRunner, session, item string) {
			r.say(session, response("completed", "resp_1", []string{item}))
		},
		"item": func(s *site, _ *fakeRunner, session, item string) {
			s.post(session, "external_conversation_item", map[string]any{"item_type": "message", "source_id": "a:1", "input_item_ids": []string{item},
				"item_data": map[string]any{"role": "assistant", "content": "hi"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			r := s.runner("secret")
			session := s.session()
			r.answers(func(request) (int, string) { return 503, "{}" })
			v := s.watch(session, "")
			item := s.send(session, "hello")
			r.await(s, session, "message", 1)
			tell(s, r, session, item)
			consumed := v.until("session.input.consumed")
			require.Equal(t, item, consumed[len(consumed)-1].data["data"].(map[string]any)["item_id"])
			require.Empty(t, s.snapshot(session)["pending_inputs"])
		})
	}
}

func TestAStableIDIsOneMessage(t *testing.T) {
	s := newSite(t)
	session := s.session()
	id := map[string]any{"stable_id": "00112233445566778899aabbccddeeff"}
	item := s.send(session, "once", id)
	require.Equal(t, item, s.send(session, "once", id))
	s.restart()
	require.Equal(t, item, s.send(session, "once", id), "also after a restart")
	r := s.runner("secret")
	r.await(s, session, "message", 1)
	require.Equal(t, item, s.send(session, "once", id), "also when it is accepted")
	other := s.session()
	require.NotEqual(t, item, s.send(other, "once", id), "it is unique in the session only")
	require.Equal(t, []string{"once"}, s.texts(session))
	require.Equal(t, []string{"once"}, r.texts(session))
	s.ok(400, "POST", "/v1/sessions/"+session+"/events", message("x", map[string]any{"stable_id": "short"}))
}

func TestBinding(t *testing.T) {
	s := newSite(t)
	a := s.runner("a")
	session := s.session()
	s.send(session, "to the only one")
	require.Equal(t, a.id(), s.snapshot(session)["runner_id"])

	a.disconnect()
	s.eventually("a is away", func() bool { return s.srv.presences.get(a.id()) == nil })
	away := s.session()
	s.send(away, "to the only known one, though it is away")
	require.Equal(t, a.id(), s.snapshot(away)["runner_id"])

	b := s.runner("b")
	here := s.session()
	s.send(here, "to the only one that is here")
	require.Equal(t, b.id(), s.snapshot(here)["runner_id"])
	require.Empty(t, b.requests(away, ""), "what is bound to the one is not given to the other")

	a.connect(s)
	a.await(s, away, "message", 1)
	open := s.session()
	out := s.ok(409, "POST", "/v1/sessions/"+open+"/events", message("to whom?"))
	require.Contains(t, out["error"].(map[string]any)["message"], "choose one")
	require.Empty(t, s.items(open), "nothing is stored of it")
	chosen := s.session(map[string]any{"runner_id": b.id()})
	s.send(chosen, "to the chosen one")
	b.await(s, chosen, "message", 1)

	out = s.ok(400, "PATCH", "/v1/sessions/"+open, map[string]any{"runner_id": "runner_token_none"})
	require.Equal(t, "runner 'runner_token_none' is not registered", out["error"].(map[string]any)["message"])
	s.ok(200, "PATCH", "/v1/sessions/"+open, map[string]any{"runner_id": a.id()})
	s.send(open, "to a")
	a.await(s, open, "message", 1)
}

// A session that is bound elsewhere while messages wait takes them along.
func TestRebinding(t *testing.T) {
	s := newSite(t)
	a := s.runner("a")
	session := s.session()
	a.answers(func(request) (int, string) { return 503, "{}" })
	s.send(session, "m")
	a.await(s, session, "message", 2)
	b := s.runner("b")
	s.ok(200, "PATCH", "/v1/sessions/"+session, map[string]any{"runner_id": b.id()})
	b.await(s, session, "message", 1)
	s.eventually("accepted", func() bool { return len(s.snapshot(session)["pending_inputs"].([]any)) == 0 })
	a.say(session, status(session, "running"))
	b.say(session, status(session, "waiting"))
	s.status(session, "waiting")
	s.ok(200, "PATCH", "/v1/sessions/"+session, map[string]any{"runner_id": ""})
	require.Nil(t, s.snapshot(session)["runner_id"])
}

func TestEventsPost(t *testing.T) {
	s := newSite(t)
	session := s.session()
	path := "/v1/sessions/" + session + "/events"
	out := s.ok(400, "POST", path, map[string]any{"type": "dance", "data": map[string]any{}})
	text := out["error"].(map[string]any)["message"].(string)
	for name := range s.srv.events {
		require.Contains(t, text, name)
	}
	s.ok(400, "POST", path, "[]")
	s.ok(400, "POST", path, "[1]")
	s.ok(400, "POST", path, "{")
	s.ok(400, "POST", path, "null")
	s.ok(400, "POST", path, "{\"type\":\"message\",\"data\":\"\xff\"}")
	s.ok(400, "POST", path, `{"type":"message","data":{"role":"user","content":null}}`)
	s.ok(400, "POST", path, `{"type":"message","data":{"role":"user","content":[]}}`)
	s.ok(400, "POST", path, `{"type":"message","data":{"role":"assistant","content":"x"}}`)
	s.ok(400, "POST", path, `{"type":"external_conversation_item","data":{"item_type":"poem","item_data":{}}}`)
	s.ok(404, "POST", "/v1/sessions/0123456789abcdef0123456789abcdef/events", message("x"))
	s.ok(403, "POST", path, map[string]any{"type": "message", "data": message("x")["data"], "created_by": "eve"})
	require.Empty(t, s.items(session))

	res, raw := s.raw("POST", path, []any{message("one"), message("two")}, nil)
	require.Equal(t, 202, res.StatusCode)
	items := s.items(session)
	require.JSONEq(t, fmt.Sprintf(`[{"queued":true,"item_id":%q},{"queued":true,"item_id":%q}]`, items[0]["id"], items[1]["id"]), string(raw))
	require.Equal(t, []string{"one", "two"}, s.texts(session))
}

func TestARunnersOwnMessageMaySayWhoMadeIt(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	session := s.session(map[string]any{"runner_id": r.id()})
	body := message("wake up", map[string]any{"is_meta": true})
	body["created_by"] = "timer"
	res, _ := s.raw("POST", "/v1/sessions/"+session+"/events", body, map[string]string{headerClaim: "another secret"})
	require.Equal(t, 403, res.StatusCode)
	res, _ = s.raw("POST", "/v1/sessions/"+session+"/events", body, map[string]string{headerClaim: r.secret})
	require.Equal(t, 202, res.StatusCode)
	i := s.items(session)[0]
	require.Equal(t, "timer", i["created_by"])
	require.Equal(t, true, i["is_meta"])
	require.Nil(t, i["user_authored"])
}
