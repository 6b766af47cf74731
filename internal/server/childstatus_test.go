package server

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// report reports a status and answers what came of it.
func (s *site) report(session string, data map[string]any) (int, map[string]any) {
	s.t.Helper()
	return s.call("POST", "/v1/sessions/"+session+"/events", map[string]any{"type": "external_session_status", "data": data})
}

// echoed is the newest status that reached a runner.
func (r *fakeRunner) echoed(session string) map[string]any {
	r.t.Helper()
	all := r.requests(session, "external_session_status")
	require.NotEmpty(r.t, all)
	return all[len(all)-1].body["data"].(map[string]any)
}

func assistant(text string, extra map[string]any) map[string]any {
	data := map[string]any{"role": "assistant", "agent": "shell", "content": []any{
		map[string]any{"type": "output_text", "text": text}, map[string]any{"type": "output_text", "text": "more"}}}
	for k, v := range extra {
		data[k] = v
	}
	return map[string]any{"item_type": "message", "item_data": data}
}

// The end of a sub-agent's turn reaches its runner with the text that it left.
func TestTheOutputOfAnEnd(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	child := s.child(root, "worker", "1")
	s.post(child, "external_conversation_item", assistant("the old answer", nil))
	for name, c := range map[string]struct{ data, want map[string]any }{
		"idle":                   {map[string]any{"status": "idle"}, map[string]any{"status": "idle", "output": "the old answer\nmore"}},
		"its own text":           {map[string]any{"status": "idle", "output": "mine", "extra": 1}, map[string]any{"status": "idle", "output": "mine", "extra": 1.0}},
		"running":                {map[string]any{"status": "running"}, map[string]any{"status": "running"}},
		"waiting":                {map[string]any{"status": "waiting"}, map[string]any{"status": "waiting"}},
		"none in the background": {map[string]any{"status": "waiting", "background_task_count": 0}, map[string]any{"status": "waiting", "background_task_count": 0.0}},
		"in the background": {map[string]any{"status": "waiting", "background_task_count": 2},
			map[string]any{"status": "idle", "background_task_count": 2.0, "output": "the old answer\nmore"}},
		"failed with a reason": {map[string]any{"status": "failed", "failure_detail": "boom"},
			map[string]any{"status": "failed", "failure_detail": "boom", "output": "boom"}},
	} {
		status, out := s.report(child, c.data)
		require.Equal(t, http.StatusAccepted, status, "%s: %v", name, out)
		require.Equal(t, c.want, r.echoed(child), name)
	}
	s.post(child, "external_conversation_item", assistant("meta", map[string]any{"is_meta": true}))
	s.report(child, map[string]any{"status": "idle"})
	require.Equal(t, "the old answer\nmore", r.echoed(child)["output"], "a meta text is no answer")
	s.post(child, "external_conversation_item", map[string]any{"item_type": "message", "item_data": map[string]any{"role": "user", "content": "typed"}})
	for _, broken := range []map[string]any{{"status": "failed"}, {"status": "idle", "turn_outcome": "cancelled"}} {
		s.report(child, broken)
		require.NotContains(t, r.echoed(child), "output", "what an earlier turn said is not this one's")
	}
	s.post(child, "external_conversation_item", assistant("half", nil))
	s.report(child, map[string]any{"status": "idle", "turn_outcome": "cancelled"})
	require.Equal(t, "half\nmore", r.echoed(child)["output"])
	for _, bad := range []any{"launching", "dancing", nil, 5} {
		status, _ := s.report(child, map[string]any{"status": bad})
		require.Equal(t, http.StatusBadRequest, status, bad)
	}
}

// What a program reports of a terminal is the state of its task.
func TestAReportedTask(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	child := s.child(root, "worker", "1")
	v := s.watch(root, "")
	for _, c := range []struct {
		data map[string]any
		want string
	}{
		{map[string]any{"status": "running"}, "in_progress"},
		{map[string]any{"status": "idle", "response_id": "t1"}, "completed"},
		{map[string]any{"status": "idle", "turn_outcome": "cancelled", "response_id": "t2"}, "cancelled"},
		{map[string]any{"status": "running"}, "in_progress"},
		{map[string]any{"status": "failed", "response_id": "t3"}, "failed"},
		{map[string]any{"status": "running"}, "in_progress"},
		{map[string]any{"status": "waiting"}, "in_progress"},
		{map[string]any{"status": "waiting", "background_task_count": 1, "response_id": "t4"}, "completed"},
	} {
		s.report(child, c.data)
		events := v.until("session.child_session.updated")
		require.Equal(t, c.want, events[len(events)-1].data["child"].(map[string]any)["current_task_status"], "%v", c.data)
	}
	s.report(child, map[string]any{"status": "idle", "response_id": "t4"})
	var returned []any
	for _, i := range s.items(root) {
		returned = append(returned, i["resource"].(map[string]any)["status"])
	}
	require.Equal(t, []any{"completed", "cancelled", "failed", "completed"}, returned, "each turn once")
}

// An end that the runner did not take is told again by whoever reported it; any
// other status, and one of a root, is only passed on.
func TestAnEndMustArrive(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	child := s.child(root, "worker", "1")
	inner := s.child(root, "worker", "2", map[string]any{"labels": map[string]string{"omnigent.wrapper": "codex-native-ui-subagent"}})
	r.answers(func(request) (int, string) {
		return 503, `{"error":"subagent_delivery_not_confirmed","reason":"missing_parent_inbox","detail":"d"}`
	})
	for _, end := range []string{"idle", "failed"} {
		status, out := s.report(child, map[string]any{"status": end})
		require.Equal(t, 503, status)
		require.Equal(t, "runner_unavailable", out["error"].(map[string]any)["code"])
		require.Contains(t, out["error"].(map[string]any)["message"], "subagent_delivery_not_confirmed")
	}
	before := len(r.requests(child, "external_session_status"))
	require.Equal(t, 2, before, "a runner that has answered is not asked twice")
	for session, data := range map[string]map[string]any{child: {"status": "running"}, root: {"status": "idle"}, inner: {"status": "idle"}} {
		status, out := s.report(session, data)
		require.Equal(t, 202, status, out)
	}
	r.answers(func(request) (int, string) { return 400, `{}` })
	status, _ := s.report(child, map[string]any{"status": "idle"})
	require.Equal(t, 503, status)
	r.answers(func(request) (int, string) { return 204, "" })
	status, _ = s.report(child, map[string]any{"status": "idle"})
	require.Equal(t, 202, status)
}

// A child whose runner is gone reports to the runner of its parent, and is that
// one's from then on.
func TestAnEndFindsTheParentsRunner(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Timing.Control = 200 * time.Millisecond })
	r, dead := s.runner("secret"), s.runner("other")
	root := s.lead(map[string]any{"runner_id": r.id()})
	child := s.child(root, "worker", "1", map[string]any{"runner_id": dead.id()})
	digger := s.child(child, "digger", "1")
	require.Equal(t, dead.id(), s.snapshot(digger)["runner_id"])
	dead.disconnect()
	s.eventually("away", func() bool { return s.snapshot(child)["runner_online"] == false })
	status, out := s.report(digger, map[string]any{"status": "idle", "output": "found"})
	require.Equal(t, 202, status, out)
	require.Equal(t, "found", r.echoed(digger)["output"])
	require.Equal(t, r.id(), s.snapshot(digger)["runner_id"], "its parent is gone too: it goes to its root")
	require.Equal(t, dead.id(), s.snapshot(child)["runner_id"])

	r.disconnect()
	s.eventually("away", func() bool { return s.snapshot(root)["runner_online"] == false })
	status, out = s.report(child, map[string]any{"status": "failed"})
	require.Equal(t, 503, status)
	require.Contains(t, out["error"].(map[string]any)["message"], "no runner")
}

// A runner that is away for a moment is waited for.
func TestAnEndWaitsForItsRunner(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	child := s.child(root, "worker", "1")
	r.disconnect()
	s.eventually("away", func() bool { return s.snapshot(root)["runner_online"] == false })
	var got atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		status, _ := s.report(child, map[string]any{"status": "idle"})
		got.Store(int64(status))
	}()
	s.eventually("it waits", func() bool {
		p := &s.srv.presences
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.came != nil
	})
	r.dial(s)
	<-done
	require.EqualValues(t, 202, got.Load())
	require.Equal(t, "idle", r.echoed(child)["status"])
}

// A message for a child goes where its parent is, once its own runner is gone
// for good; one that may come back keeps it.
func TestAMessageForAChildWhoseRunnerIsGone(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Timing.DisconnectGrace = time.Hour })
	r, away := s.runner("secret"), s.runner("other")
	root := s.lead(map[string]any{"runner_id": r.id()})
	child := s.child(root, "worker", "1", map[string]any{"runner_id": away.id()})
	away.disconnect()
	s.eventually("the wait begins", func() bool { return s.waits() == 1 })
	s.send(child, "one")
	require.Equal(t, away.id(), s.snapshot(child)["runner_id"])
	s.stop()
	s.start() // a runner without running turns is not waited for after a restart
	s.eventually("back", func() bool { return s.snapshot(root)["runner_online"] == true })
	s.send(child, "two")
	r.await(s, child, "message", 2)
	require.Equal(t, []string{"one", "two"}, r.texts(child))
	require.Equal(t, r.id(), s.snapshot(child)["runner_id"])

	orphan := s.lead()
	kid := s.child(orphan, "worker", "1")
	require.Nil(t, s.snapshot(kid)["runner_id"])
	s.send(orphan, "go")
	r.await(s, orphan, "message", 1)
	s.send(kid, "go")
	r.await(s, kid, "message", 1)
	require.Equal(t, r.id(), s.snapshot(kid)["runner_id"])
}
