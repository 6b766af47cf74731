package server

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inits are the session-inits that came for a session, or for all.
func (r *fakeRunner) inits(session string) []map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []map[string]any
	for _, q := range r.got {
		if q.method == "POST" && q.path == "/v1/sessions" && (session == "" || q.body["session_id"] == session) {
			out = append(out, q.body)
		}
	}
	return out
}

// flags are what an init asks for.
func flags(body map[string]any) (suppress, resume bool, recovery any) {
	in := body["session_init"].(map[string]any)
	return in["suppress_recovery_turn"].(bool), in["resume_interrupted_turn"].(bool), in["recovery_id"]
}

// forget drops what came so far.
func (r *fakeRunner) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = nil
}

// comesBack lets a runner go and return, and waits until it was told of so many
// sessions since.
func (r *fakeRunner) comesBack(s *site, inits int) []map[string]any {
	r.t.Helper()
	r.disconnect()
	s.eventually("away", func() bool { return s.srv.presences.get(r.id()) == nil })
	r.forget()
	r.connect(s)
	s.eventually("inits", func() bool { return len(r.inits("")) >= inits })
	return r.inits("")
}

// A new child is told to its runner at once, and has no stream before it has a
// message.
func TestANewChildIsToldToItsRunner(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	s.eventually("the root's stream", func() bool { return r.opened(root) == 1 })
	require.Empty(t, r.inits(""))
	child := s.child(root, "worker", "1", map[string]any{"labels": map[string]string{"a": "b"}, "workspace": "/w", "model_override": "m",
		"reasoning_effort": "high", "harness_override": "acp:x", "terminal_launch_args": []string{"-v"}})
	require.Len(t, r.inits(child), 1)
	snap := s.snapshot(child)
	require.Equal(t, map[string]any{"session_id": child, "agent_id": snap["agent_id"], "sub_agent_name": "worker", "session_init": map[string]any{
		"protocol_version": 2.0, "server_version": "0.19.1", "session_id": child, "agent_id": snap["agent_id"], "sub_agent_name": "worker",
		"snapshot": map[string]any{"created_at": snap["created_at"], "updated_at": snap["updated_at"], "workspace": "/w", "labels": map[string]any{"a": "b"},
			"reasoning_effort": "high", "model_override": "m", "harness_override": "acp:x", "cost_control_mode_override": nil,
			"terminal_launch_args": []any{"-v"}, "external_session_id": nil, "parent_session_id": root, "root_session_id": root, "inference_config": nil},
		"suppress_recovery_turn": true, "resume_interrupted_turn": false, "recovery_id": nil}}, r.inits(child)[0])
	require.Zero(t, r.opened(child))
	s.send(child, "go")
	r.await(s, child, "message", 1)
	require.Equal(t, 1, r.opened(child))

	busy := s.child(root, "worker", "2", map[string]any{"initial_items": []any{message("do it")}})
	r.await(s, busy, "message", 1)
	s.eventually("the init", func() bool { return len(r.inits(busy)) == 1 })
	require.Equal(t, []string{"do it"}, r.texts(busy))
}

// When a runner comes back it is told of what is not idle: roots without flags,
// children that were cut off with a recovery, those between with neither a turn
// nor a recovery; parents first. What is idle only gets its stream.
func TestARunnerComesBackToATree(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	bind := map[string]any{"runner_id": r.id()}
	busy := s.lead(bind)
	running := s.child(busy, "worker", "1")
	below := s.child(running, "digger", "1")
	calm := s.lead(bind)
	between := s.child(calm, "worker", "1")
	deep := s.child(between, "digger", "1")
	quiet, quietKid := s.lead(bind), ""
	quietKid = s.child(quiet, "worker", "1")
	failed := s.lead(bind)
	failedKid := s.child(failed, "worker", "1")
	for _, id := range []string{busy, running, below, deep} {
		s.report(id, map[string]any{"status": "running"})
	}
	for _, id := range []string{failed, failedKid} {
		r.answers(func(request) (int, string) { return 202, "{}" })
		s.report(id, map[string]any{"status": "failed", "error": map[string]any{"code": "exit_status", "message": "exit 1"}})
	}
	want := map[string][2]bool{busy: {false, false}, running: {false, true}, below: {false, true},
		calm: {true, false}, between: {true, false}, deep: {false, true}, failed: {false, false}}
	seen := map[string]bool{}
	var recovered []any
	for range 2 {
		got := r.comesBack(s, len(want))
		order := map[string]int{}
		for n, body := range got {
			id := body["session_id"].(string)
			order[id] = n
			suppress, resume, recovery := flags(body)
			require.Equal(t, want[id], [2]bool{suppress, resume}, "%v", body)
			require.Equal(t, resume, recovery != nil)
			if resume {
				require.Regexp(t, `^[0-9a-f]{32}$`, recovery)
				require.False(t, seen[recovery.(string)], "a recovery id is that of one session on one connection")
				seen[recovery.(string)] = true
			}
			if id == deep {
				recovered = append(recovered, recovery)
			}
		}
		require.Len(t, order, len(want))
		require.True(t, order[busy] < order[running] && order[running] < order[below])
		require.True(t, order[calm] < order[between] && order[between] < order[deep])
		for _, id := range []string{quiet, quietKid, failedKid} {
			s.eventually("its stream", func() bool { return r.opened(id) > 0 })
			require.Empty(t, r.inits(id))
		}
		// The same connection is not told again.
		s.post(busy, "retry_session", nil)
		s.send(quiet, "go")
		r.await(s, quiet, "message", 1)
		require.Len(t, r.inits(""), len(want))
	}
	require.Len(t, recovered, 2)

	s.stop()
	r.forget()
	s.start()
	s.eventually("inits after a restart of the server", func() bool { return len(r.inits("")) >= len(want) })
	require.Len(t, r.inits(""), len(want))
}

// What the user has put away, or ended, is not started again; nor is a child
// that lives inside of its parent's process.
func TestWhatIsNotRestored(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	bind := map[string]any{"runner_id": r.id()}
	var kept []string
	root := func(name string, change func(root, child string)) {
		root := s.lead(bind, map[string]any{"title": name})
		child := s.child(root, "worker", "1")
		s.report(child, map[string]any{"status": "running"})
		kept = append(kept, root, child)
		change(root, child)
	}
	patch := func(id string, body map[string]any) { s.ok(200, "PATCH", "/v1/sessions/"+id, body) }
	root("archived child", func(_, child string) { patch(child, map[string]any{"archived": true}) })
	root("archived root", func(root, _ string) { patch(root, map[string]any{"archived": true}) })
	root("closed", func(_, child string) {
		patch(child, map[string]any{"labels": map[string]string{"omnigent.closed": "true"}})
	})
	root("mirrored", func(_, child string) {
		patch(child, map[string]any{"labels": map[string]string{"omnigent.wrapper": "claude-native-ui-subagent"}})
	})
	root("interrupted", func(_, child string) { s.post(child, "interrupt", nil) })
	root("unbound", func(root, child string) {
		patch(child, map[string]any{"runner_id": ""})
		patch(root, map[string]any{"runner_id": ""})
	})
	last := s.lead(bind)
	s.report(last, map[string]any{"status": "running"})
	r.comesBack(s, 1)
	require.Len(t, r.inits(last), 1)
	trees, err := s.srv.restorable(t.Context(), r.id())
	require.NoError(t, err)
	require.Len(t, trees, 1)
	require.Len(t, trees[0], 1)
	require.Equal(t, last, trees[0][0].ses.ID)
	for _, id := range kept {
		require.Empty(t, r.inits(id), s.snapshot(id)["title"])
	}
}

// A child that was cut off on a runner that is gone for good goes on at that of
// its parent; one whose runner may come back waits for it.
func TestACutOffChildGoesToItsParentsRunner(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Timing.DisconnectGrace = 300 * time.Millisecond })
	r, dead := s.runner("secret"), s.runner("other")
	root := s.lead(map[string]any{"runner_id": r.id()})
	child := s.child(root, "worker", "1", map[string]any{"runner_id": dead.id()})
	s.report(child, map[string]any{"status": "running"})
	dead.disconnect()
	s.status(child, "failed")
	r.comesBack(s, 2)
	require.Equal(t, r.id(), s.snapshot(child)["runner_id"])
	_, resume, _ := flags(r.inits(child)[0])
	require.True(t, resume)
	s.eventually("its stream", func() bool { return r.opened(child) == 1 })

	other := s.runner("third")
	waiting := s.child(root, "worker", "2", map[string]any{"runner_id": other.id()})
	s.report(waiting, map[string]any{"status": "running"})
	r.comesBack(s, 2)
	require.Equal(t, other.id(), s.snapshot(waiting)["runner_id"])
	require.Empty(t, r.inits(waiting))
	require.Equal(t, waiting, other.comesBack(s, 1)[0]["session_id"])
	trees, err := s.srv.restorable(t.Context(), other.id())
	require.NoError(t, err)
	require.Len(t, trees, 1)
	require.Len(t, trees[0], 1, "the child alone: its parent is another runner's")
}

// A runner that does not answer an init, or refuses it, holds up neither
// messages nor other trees, and may be told again.
func TestAnInitThatFails(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Timing.Init = 300 * time.Millisecond })
	r := s.runner("secret")
	bind := map[string]any{"runner_id": r.id()}
	slow, refused, fine := s.lead(bind), s.lead(bind), s.lead(bind)
	for _, id := range []string{slow, refused, fine} {
		s.report(id, map[string]any{"status": "running"})
	}
	release := make(chan struct{})
	var once sync.Once
	free := func() { once.Do(func() { close(release) }) }
	defer free()
	r.answers(func(q request) (int, string) {
		if q.path == "/v1/sessions" {
			switch q.body["session_id"] {
			case slow:
				<-release
			case refused:
				return 503, `{"error":"spec_resolver_failed"}`
			}
		}
		return 202, "{}"
	})
	r.disconnect()
	s.eventually("away", func() bool { return s.srv.presences.get(r.id()) == nil })
	r.forget()
	r.connect(s)
	s.eventually("the other trees", func() bool { return len(r.inits(refused)) == 1 && len(r.inits(fine)) == 1 })
	s.send(slow, "go")
	r.await(s, slow, "message", 1)
	free()
	s.eventually("the slow one", func() bool { return len(r.inits(slow)) == 1 })
	r.answers(func(request) (int, string) { return 201, "{}" })
	s.eventually("told again on request", func() bool {
		s.post(refused, "retry_session", nil)
		return len(r.inits(refused)) >= 2
	})
	require.Len(t, r.inits(fine), 1)
}

// A runner that does not answer does not keep a child from being made.
func TestANewChildOfASilentRunner(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Timing.Init = 20 * time.Millisecond })
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	release := make(chan struct{})
	defer close(release)
	r.answers(func(q request) (int, string) {
		if q.path == "/v1/sessions" {
			<-release
		}
		return 202, "{}"
	})
	child := s.child(root, "worker", "1")
	s.send(child, "go")
	r.await(s, child, "message", 1)
}

// A runner is told of a session each time that it is bound to it, plainly.
func TestABoundSessionIsIntroduced(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret-one")
	session := s.session()
	require.Empty(t, r.inits(session))
	for n := range 2 {
		s.ok(200, "PATCH", "/v1/sessions/"+session, map[string]any{"runner_id": r.id()})
		require.Len(t, r.inits(session), n+1)
	}
	init := r.inits(session)[0]["session_init"].(map[string]any)
	require.Equal(t, false, init["suppress_recovery_turn"])
	require.Equal(t, false, init["resume_interrupted_turn"])
}
