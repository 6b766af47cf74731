package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func shortGrace(c *Config) { c.Timing.DisconnectGrace = 50 * time.Millisecond }

// A runner that stays away fails its running sessions, and only those; its own
// idle heals that failure and no other.
func TestDisconnect(t *testing.T) {
	s, r, session, _ := started(t, shortGrace)
	quiet := s.session()
	s.send(quiet, "x")
	r.await(s, quiet, "message", 1)
	v := s.watch(session, "")
	r.say(session, status(session, "running"), response("in_progress", "resp_1", nil))
	v.until("response.in_progress")
	r.disconnect()
	events := v.until("session.status")
	require.Equal(t, []string{"session.status"}, types(events), "the response has no end yet")
	require.Equal(t, map[string]any{"code": "runner_disconnected", "message": "Runner disconnected unexpectedly.", "agent_name": "shell"}, s.snapshot(session)["last_task_error"])
	require.Equal(t, "failed", s.snapshot(session)["status"])
	require.Equal(t, "idle", s.snapshot(quiet)["status"])
	s.restart()
	require.Equal(t, "failed", s.snapshot(session)["status"])
	r.connect(s)
	r.say(session, status(session, "idle"))
	s.status(session, "idle")
	require.Nil(t, s.snapshot(session)["last_task_error"])

	v = s.watch(session, "")
	todos := map[string]any{"type": "session.todos", "conversation_id": session, "todos": []any{}}
	r.say(session, status(session, "failed", map[string]any{"error": map[string]any{"code": "exit_status", "message": "exit 1"}}),
		status(session, "idle"), status(session, "dancing"), todos)
	require.Equal(t, []string{"session.status", "session.todos"}, types(v.until("session.todos")))
	require.Equal(t, "failed", s.snapshot(session)["status"], "a failure of the turn is not healed by idle")
	r.say(session, status(session, "failed", map[string]any{"error": nil}))
	s.eventually("failed", func() bool {
		e, _ := s.snapshot(session)["last_task_error"].(map[string]any)
		return e["code"] == "runner_error"
	})
	r.say(session, status(session, "idle"), status(session, "waiting"))
	s.status(session, "waiting")
	require.Nil(t, s.snapshot(session)["last_task_error"], "a new turn clears the failure")
}

func TestAShortAbsenceFailsNothing(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.Timing.DisconnectGrace = time.Hour })
	r.say(session, status(session, "running"))
	s.status(session, "running")
	r.disconnect()
	s.eventually("the wait begins", func() bool { return s.waits() == 1 })
	r.connect(s)
	s.eventually("the wait ends", func() bool { return s.waits() == 0 })
	require.Equal(t, "running", s.snapshot(session)["status"])
}

// waits is how many runners the server waits for.
func (s *site) waits() int {
	s.srv.graces.mu.Lock()
	defer s.srv.graces.mu.Unlock()
	return len(s.srv.graces.all)
}

// A runner that was thought lost comes back with its turn: the turn goes on,
// and its own outcome counts.
func TestALostTurnComesBack(t *testing.T) {
	s, r, session, input := started(t, shortGrace)
	v := s.watch(session, "")
	r.say(session, status(session, "running"), response("in_progress", "resp_1", []string{input}))
	v.until("response.in_progress")
	r.disconnect()
	require.Equal(t, []string{"session.status"}, types(v.until("session.status")))
	r.connect(s)
	r.say(session, response("in_progress", "resp_1", []string{input}), status(session, "running"))
	require.Equal(t, []string{"session.status"}, types(v.until("session.status")), "the response goes on")
	require.Equal(t, "resp_1", s.snapshot(session)["active_response_id"])
	r.say(session, response("completed", "resp_1", []string{input}), status(session, "idle"))
	events := v.until("session.status")
	require.Equal(t, []string{"response.completed", "session.status"}, types(events))
	require.Equal(t, []any{input}, events[0].data["input_item_ids"])
	require.Equal(t, "idle", s.snapshot(session)["status"])
}

// A server that stops fails nothing, however long the grace; one that finds a
// running session at its start gives its runner the grace anew.
func TestAStoppingServerFailsNothing(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.Timing.DisconnectGrace = time.Millisecond })
	r.say(session, status(session, "running"))
	s.status(session, "running")
	s.stop()
	r.disconnect()
	s.cfg.Timing.DisconnectGrace = time.Hour
	s.start()
	require.Equal(t, "running", s.snapshot(session)["status"])
	s.stop()
	s.cfg.Timing.DisconnectGrace = time.Millisecond
	s.start()
	s.status(session, "failed")
}

func TestARunnerThatLeavesIdle(t *testing.T) {
	s, r, session, _ := started(t, shortGrace)
	r.say(session, status(session, "running"))
	s.status(session, "running")
	s.srv.leftIdle(r.id())
	s.status(session, "idle")
}

// The server stops in the middle of a turn and comes back: the runner finds it
// again, the viewer goes on by number, and the turn ends as if nothing was.
func TestARestartInTheMiddleOfATurn(t *testing.T) {
	s, r, session, input := started(t)
	v := s.watch(session, "")
	r.say(session, status(session, "running", map[string]any{"response_id": "resp_1"}), response("in_progress", "resp_1", []string{input}), preview("t:1", 0, "one "))
	v.until("response.in_progress")
	s.external(session, "resp_1", "t:0", "zero")
	last := v.until("response.output_item.done")
	s.restart()
	<-v.done
	require.Equal(t, "running", s.snapshot(session)["status"])
	require.Equal(t, "resp_1", s.snapshot(session)["active_response_id"])
	s.eventually("the runner is back", func() bool { return r.opened(session) == 2 })
	v = s.watch(session, last[len(last)-1].id)
	require.Empty(t, v.header.Get("X-Outrunner-Resync"))
	r.say(session, response("in_progress", "resp_1", []string{input}), status(session, "running", map[string]any{"response_id": "resp_1"}), preview("t:1", 1, "two"))
	require.Equal(t, "two", v.next().data["delta"], "what is told again is no news")
	s.external(session, "resp_1", "t:0", "zero")
	s.external(session, "resp_1", "t:1", "one two")
	r.say(session, response("completed", "resp_1", []string{input}), status(session, "idle"))
	require.Equal(t, []string{"response.output_item.done", "response.completed", "session.status"}, types(v.until("session.status")))
	require.Equal(t, []string{"go", "zero", "one two"}, s.texts(session))
	require.Len(t, r.requests(session, "message"), 1)
}
