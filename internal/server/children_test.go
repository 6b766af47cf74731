package server

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// family is an agent with two sub-agents, one of which has its own; the names
// are the harnesses.
var family = map[string]string{
	"config.yaml":                             "name: lead\nprompt: You lead.\nexecutor: {harness: acp:lead, model: big}\n",
	"agents/worker/config.yaml":               "name: worker\nexecutor: {harness: acp:worker, model: small}\n",
	"agents/worker/notes.md":                  "Be brief.",
	"agents/critic/config.yaml":               "executor: {harness: acp:critic}\n",
	"agents/worker/agents/digger/config.yaml": "name: digger\nexecutor: {harness: acp:digger}\n",
}

// plant writes files beneath a folder.
func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// lead is a new session of the agent with sub-agents.
func (s *site) lead(extra ...map[string]any) string {
	s.t.Helper()
	plant(s.t, filepath.Join(s.cfg.Dir, "agents", "lead"), family)
	return s.session(append([]map[string]any{{"agent_id": shortHash("builtin:lead")}}, extra...)...)
}

// child is a new child as the runner's sys_session_send makes it.
func (s *site) child(parent, agent, name string, extra ...map[string]any) string {
	s.t.Helper()
	body := map[string]any{"agent_id": s.snapshot(parent)["agent_id"], "parent_session_id": parent, "sub_agent_name": agent, "title": agent + ":" + name}
	for _, e := range extra {
		for k, v := range e {
			body[k] = v
		}
	}
	return s.ok(201, "POST", "/v1/sessions", body)["id"].(string)
}

func (s *site) children(parent, query string) []map[string]any {
	s.t.Helper()
	var out []map[string]any
	for _, row := range s.ok(200, "GET", "/v1/sessions/"+parent+"/child_sessions?"+query, nil)["data"].([]any) {
		out = append(out, row.(map[string]any))
	}
	return out
}

func TestAChildSession(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	out := s.ok(201, "POST", "/v1/sessions", map[string]any{"agent_id": s.snapshot(root)["agent_id"], "parent_session_id": root, "sub_agent_name": "worker",
		"title": "worker:1", "labels": map[string]string{"omnigent.subagent.dispatch_id": "w1"}, "model_override": "m"})
	for k, want := range map[string]any{"kind": "sub_agent", "parent_session_id": root, "root_conversation_id": root, "sub_agent_name": "worker",
		"agent_name": "worker", "runner_id": r.id(), "title": "worker:1", "labels": map[string]any{"omnigent.subagent.dispatch_id": "w1"},
		"harness": "acp:worker", "llm_model": "small", "status": "idle"} {
		require.Equal(t, want, out[k], k)
	}
	worker := out["id"].(string)
	digger := s.child(worker, "digger", "1")
	deep := s.snapshot(digger)
	require.Equal(t, worker, deep["parent_session_id"])
	require.Equal(t, root, deep["root_conversation_id"])
	require.Equal(t, "acp:digger", deep["harness"])
	require.Equal(t, "acp:critic", s.snapshot(s.child(root, "critic", "x"))["harness"], "a sub-agent without a name has its folder's")
	require.Nil(t, s.snapshot(s.ok(201, "POST", "/v1/sessions", map[string]any{"parent_session_id": root})["id"].(string))["title"])

	refused := s.ok(404, "POST", "/v1/sessions", map[string]any{"agent_id": out["agent_id"], "parent_session_id": root, "sub_agent_name": "stranger"})
	require.Equal(t, "not_found", refused["error"].(map[string]any)["code"])
	s.ok(404, "POST", "/v1/sessions", map[string]any{"agent_id": out["agent_id"], "parent_session_id": root, "sub_agent_name": "lead"})
	s.ok(404, "POST", "/v1/sessions", map[string]any{"parent_session_id": "0123456789abcdef0123456789abcdef"})
}

// A title is the name by which a parent finds its child: it has one owner.
func TestAChildsTitleIsItsOwn(t *testing.T) {
	s := newSite(t)
	root, other := s.lead(), s.lead()
	first, second := s.child(root, "worker", "1"), s.child(root, "worker", "2")
	s.child(other, "worker", "1")
	out := s.ok(409, "POST", "/v1/sessions", map[string]any{"parent_session_id": root, "sub_agent_name": "worker", "title": "worker:1"})
	require.Equal(t, "already_exists", out["error"].(map[string]any)["code"])
	s.ok(409, "PATCH", "/v1/sessions/"+second, map[string]any{"title": "worker:1"})
	s.ok(200, "PATCH", "/v1/sessions/"+second, map[string]any{"title": "worker:2", "labels": map[string]string{"a": "b"}})
	s.ok(200, "PATCH", "/v1/sessions/"+first, map[string]any{"title": "worker:1:closed:" + first, "labels": map[string]string{"omnigent.closed": "true"}})
	s.child(root, "worker", "1")
	s.session(map[string]any{"title": "same"})
	s.session(map[string]any{"title": "same"}) // roots may share one
	for range 2 {
		kid := s.ok(201, "POST", "/v1/sessions", map[string]any{"parent_session_id": root})["id"].(string)
		s.send(kid, "worker:1")
		require.Nil(t, s.snapshot(kid)["title"], "a text is no name")
	}
}

func TestChildPages(t *testing.T) {
	s := newSite(t)
	root := s.lead()
	var ids []string
	for n := range 4 {
		ids = append(ids, s.child(root, "worker", fmt.Sprint(n)))
	}
	critic := s.child(root, "critic", "a:b")
	bare := s.ok(201, "POST", "/v1/sessions", map[string]any{"parent_session_id": root, "title": "plain"})["id"].(string)
	s.child(ids[0], "digger", "0")
	names := func(query string) []string {
		t.Helper()
		var got []string
		for _, row := range s.children(root, query) {
			got = append(got, row["id"].(string))
		}
		return got
	}
	all := append(append([]string{}, ids...), critic, bare)
	require.Equal(t, all, names("order=asc"))
	require.Equal(t, []string{bare, critic}, names("limit=2"))
	require.Equal(t, []string{ids[3], ids[2]}, names("limit=2&after="+critic))
	require.Equal(t, []string{bare}, names("before="+critic))
	require.Equal(t, []string{ids[2]}, names("limit=1&order=desc&tool=worker&session_name=2"))
	require.Equal(t, []string{critic}, names("tool=critic&session_name=a:b"))
	require.Equal(t, []string{bare}, names("tool=plain"))
	require.Len(t, names("tool=worker"), 4)
	require.Empty(t, names("tool=worker&session_name=a:b"))
	page := s.ok(200, "GET", "/v1/sessions/"+root+"/child_sessions?limit=5", nil)
	require.Equal(t, true, page["has_more"])
	require.Equal(t, bare, page["first_id"])
	out := s.ok(400, "GET", "/v1/sessions/"+root+"/child_sessions?after=0123456789abcdef0123456789abcdef", nil)
	require.Equal(t, "stale_cursor", out["error"].(map[string]any)["code"])
	s.ok(404, "GET", "/v1/sessions/0123456789abcdef0123456789abcdef/child_sessions", nil)

	row := s.children(root, "tool=critic")[0]
	for k, want := range map[string]any{"id": critic, "object": "child_session", "parent_session_id": root, "title": "critic:a:b", "task_summary": nil,
		"tool": "critic", "session_name": "a:b", "kind": "sub_agent", "agent_id": shortHash("builtin:lead"), "agent_name": nil, "current_task_id": nil,
		"current_task_status": nil, "busy": false, "labels": map[string]any{}, "last_task_error": nil, "last_message_preview": nil,
		"pending_elicitations_count": 0.0, "routed_model": nil, "routing_decision_id": nil} {
		require.Contains(t, row, k)
		require.Equal(t, want, row[k], k)
	}
}

// The state of a child's task, from its message to how it ended; its parent sees
// each change, and its history tells of each end once.
func TestTheStateOfATask(t *testing.T) {
	s := newSite(t)
	root := s.lead()
	child := s.child(root, "worker", "1")
	state := func() any { return s.children(root, "")[0]["current_task_status"] }
	require.Nil(t, state())
	input := s.send(child, "go")
	require.Equal(t, "in_progress", state(), "a message that waits is a task")
	r := s.runner("secret")
	r.await(s, child, "message", 1)
	s.eventually("accepted", func() bool { return len(s.snapshot(child)["pending_inputs"].([]any)) == 0 })
	require.Equal(t, "in_progress", state(), "so is one that no turn has begun with")
	require.Equal(t, true, s.children(root, "")[0]["busy"])

	v := s.watch(root, "")
	turn := func(n int, end string, then ...map[string]any) {
		id := fmt.Sprint("resp_", n)
		r.say(child, append([]map[string]any{status(child, "running"), response("in_progress", id, []string{input}), response(end, id, []string{input})}, then...)...)
	}
	updated := func() map[string]any {
		events := v.until("session.child_session.updated")
		return events[len(events)-1].data["child"].(map[string]any)
	}
	s.external(child, "resp_1", "a:1", "the answer")
	turn(1, "completed", status(child, "idle"))
	require.Equal(t, "in_progress", updated()["current_task_status"])
	last := updated()
	require.Equal(t, "completed", last["current_task_status"])
	require.Equal(t, "the answer", last["last_message_preview"])
	require.Equal(t, "completed", state())

	second := s.send(child, "again")
	require.Equal(t, "in_progress", state(), "an old outcome is not that of the new task")
	r.await(s, child, "message", 2)
	input = second
	turn(2, "cancelled", status(child, "idle"))
	updated()
	require.Equal(t, "cancelled", updated()["current_task_status"])
	turn(3, "failed", status(child, "failed", map[string]any{"error": map[string]any{"code": "exit_status", "message": "exit 1"}}))
	updated()
	last = updated()
	require.Equal(t, "failed", last["current_task_status"])
	require.Equal(t, "exit 1", last["last_task_error"].(map[string]any)["message"])
	r.say(child, response("failed", "resp_3", nil), status(child, "running"), status(child, "idle"))
	updated()
	require.Equal(t, "completed", updated()["current_task_status"])

	var returned []any
	for _, i := range s.items(root) {
		require.Equal(t, "session.subagent.returned", i["event_type"])
		require.Equal(t, child, i["resource_id"])
		returned = append(returned, i["resource"].(map[string]any)["status"])
	}
	require.Equal(t, []any{"completed", "cancelled", "failed"}, returned)
}

// A message that waits behind a turn is the task that counts when the turn ends,
// also once a runner has taken it.
func TestATaskBehindAnother(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	child := s.child(root, "worker", "1")
	first := s.send(child, "one")
	r.await(s, child, "message", 1)
	r.say(child, status(child, "running"))
	s.status(child, "running")
	r.answers(func(request) (int, string) { return 503, "{}" })
	s.send(child, "two")
	r.say(child, response("completed", "resp_1", []string{first}), status(child, "idle"))
	s.status(child, "idle")
	require.Equal(t, "in_progress", s.children(root, "")[0]["current_task_status"])
	r.answers(nil)
	s.eventually("accepted", func() bool { return len(s.snapshot(child)["pending_inputs"].([]any)) == 0 })
	require.Equal(t, "in_progress", s.children(root, "")[0]["current_task_status"])
}

// A turn whose runner is gone has not returned; when the runner comes back with
// it, it returns once, in its own way.
func TestALostTaskComesBack(t *testing.T) {
	s := newSite(t, shortGrace)
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	child := s.child(root, "worker", "1")
	input := s.send(child, "one")
	r.await(s, child, "message", 1)
	r.say(child, status(child, "running"), response("in_progress", "resp_1", []string{input}))
	s.eventually("it runs", func() bool { return s.snapshot(child)["active_response_id"] == "resp_1" })
	r.disconnect()
	s.status(child, "failed")
	require.Equal(t, "failed", s.children(root, "")[0]["current_task_status"])
	require.Empty(t, s.items(root))
	r.connect(s)
	r.say(child, response("in_progress", "resp_1", []string{input}), status(child, "running"), response("completed", "resp_1", []string{input}), status(child, "idle"))
	s.status(child, "idle")
	require.Equal(t, "completed", s.children(root, "")[0]["current_task_status"])
	items := s.items(root)
	require.Len(t, items, 1)
	require.Equal(t, "completed", items[0]["resource"].(map[string]any)["status"])
}

// The runner that makes a child says so on the parent's stream.
func TestARunnerTellsOfItsChild(t *testing.T) {
	s, r, session, _ := started(t)
	child := s.ok(201, "POST", "/v1/sessions", map[string]any{"parent_session_id": session, "title": "w:1"})["id"].(string)
	v := s.watch(session, "")
	created := map[string]any{"type": "session.created", "conversation_id": session, "child_session_id": child, "agent_id": s.shell(), "parent_session_id": session}
	stranger := map[string]any{"type": "session.created", "conversation_id": session, "child_session_id": s.session(), "agent_id": s.shell(), "parent_session_id": session}
	launching := map[string]any{"type": "session.child_session.updated", "conversation_id": session, "child_session_id": child,
		"child": map[string]any{"id": child, "current_task_status": "launching", "busy": false}}
	r.say(session, stranger, created, created, launching)
	events := v.until("session.child_session.updated")
	require.Equal(t, []string{"response.output_item.done", "session.created", "session.created", "session.child_session.updated"}, types(events))
	require.Equal(t, child, events[1].data["child_session_id"])
	require.NotEmpty(t, events[3].id, "it is a row")
	require.Equal(t, "launching", events[3].data["child"].(map[string]any)["current_task_status"])
	items := s.items(session)
	row := items[len(items)-1]
	require.Equal(t, "resource_event", row["type"])
	require.Equal(t, "session.subagent.delegated", row["event_type"])
	require.Equal(t, child, row["resource_id"])
	require.Equal(t, map[string]any{"title": "1"}, row["resource"])
	require.Len(t, items, 2)
}

// Deleting a session deletes what is below it, and stops what runs of it.
func TestDeletingAParent(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	worker := s.child(root, "worker", "1")
	digger := s.child(worker, "digger", "1")
	s.send(digger, "go")
	r.await(s, digger, "message", 1)
	r.say(digger, status(digger, "running"))
	s.status(digger, "running")
	s.ok(200, "DELETE", "/v1/sessions/"+root, nil)
	require.Len(t, r.requests(digger, "stop_session"), 1)
	for _, id := range []string{root, worker, digger} {
		s.ok(404, "GET", "/v1/sessions/"+id, nil)
		var deleted int
		for _, q := range r.requests(id, "") {
			if q.method == "DELETE" {
				deleted++
			}
		}
		require.Equal(t, 1, deleted)
	}
	s.ok(404, "POST", "/v1/sessions", map[string]any{"agent_id": shortHash("builtin:lead"), "parent_session_id": root})
}
