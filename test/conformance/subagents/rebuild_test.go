//go:build unix

package subagents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

const (
	dispatched = "omnigent.subagent.dispatch_id"
	delivered  = "omnigent.subagent.delivered_id"
)

// A runner without its journal, before a server full of sessions: nothing old is
// run, and what parents have not read is rebuilt from what the server has.
func TestLostJournal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio")
	w.AddSession(fakeserver.Session{ID: sessionP, AgentID: agentP})
	w.start()
	w.Watch(sessionP)
	w.streaming(sessionP)
	read := w.dispatch(`{"agent":"sdkkid","title":"read","args":"task"}`)
	w.rested(sessionP, 1)
	require.Contains(t, w.read("r1"), "sdkkid:read returned: "+sibling+" has done it]")
	w.receipted(read)
	w.Tool(sessionP, "sys_session_send", "second", `{"agent":"claude_code","title":"unread","args":"task"}`)
	w.rested(sessionP, 2)
	unread := w.Children(sessionP)[1]
	w.runner.Kill()

	old := w.history()
	said := w.Labels(read)
	ran := w.noted("ran")
	w.forget()
	w.start()
	for _, id := range old {
		w.Watch(id)
		w.streaming(id)
	}
	w.Drop() // all are seen by one scan
	w.Connected(w.Ups())
	w.Until(func() bool { return facts(w.scanned(2)).sessions > len(old) }, "not all are scanned")
	require.Equal(t, ran, w.noted("ran"), "nothing old is run")

	code, text := w.Do("POST", "/v1/sessions", w.initOf(sessionP))
	require.Equal(t, 201, code, text)
	w.rested(sessionP, 3) // it was woken
	got := strings.Split(w.read("r2"), "\n\n")
	require.ElementsMatch(t, []string{
		"[System: sub-agent task " + unread + " completed — claude_code:unread returned: " + native + " has done it]",
		"[System: sub-agent task " + kid("done") + " completed — sdkkid:done returned: the newest]",
		"[System: sub-agent task " + kid("failed") + " failed — sdkkid:failed error: boom]",
	}, got)
	require.Equal(t, empty, w.read("r3"))
	for _, id := range []string{unread, kid("done"), kid("failed")} {
		w.receipted(id)
	}
	require.Equal(t, said, w.Labels(read), "what was read stays read")

	// Lost once more: all is read, and the receipts say so.
	w.runner.Kill()
	w.forget()
	w.start()
	require.Equal(t, empty, w.read("r4"))
	for _, line := range w.noted("ran")[len(ran):] {
		require.Equal(t, parent+" "+sessionP, line, "the parent alone was asked, by its wakes")
	}
}

// kid is the id of a child that only the server knows.
func kid(title string) string { return fmt.Sprintf("5e66%028x", []byte(title)[:6]) }

// history adds what the server has of old: sessions of all sorts, and children
// of the parent in each state. It returns those that are bound to this runner;
// the child that failed is bound to none any more.
func (w *world) history() (ids []string) {
	for n := range 12 {
		id := fmt.Sprintf("5e77%028d", n)
		ses := fakeserver.Session{ID: id, AgentID: agentP}
		if n%3 == 1 {
			ses.Parent, ses.Name = fmt.Sprintf("5e77%028d", n-1), "claude_code"
		}
		if n%4 == 3 {
			ses.Status, ses.Error = "failed", fakeserver.Dict{"code": "runner_disconnected", "message": "the runner is gone"}
		}
		w.AddSession(ses)
		w.Say(id, "old")
		if n%2 == 0 {
			w.Answered(id, "resp_old", "done")
			w.Say(id, "never answered")
		}
		ids = append(ids, id)
	}
	for _, c := range []struct {
		title, status, dispatch, receipt string
		err                              fakeserver.Dict
	}{
		{title: "done", dispatch: "subagent_000000000001"},
		{title: "readalready", status: "failed", err: fakeserver.Dict{"code": "runner_disconnected", "message": "gone"}, dispatch: "subagent_000000000002", receipt: "subagent_000000000002"},
		{title: "failed", status: "failed", dispatch: "subagent_000000000003", err: fakeserver.Dict{"code": "x", "message": "boom"}},
		{title: "nobodys"},
	} {
		ses := fakeserver.Session{ID: kid(c.title), AgentID: agentP, Parent: sessionP, Name: "sdkkid", Title: "sdkkid:" + c.title,
			Status: c.status, Error: c.err, Labels: map[string]string{}}
		if c.dispatch != "" {
			ses.Labels[dispatched] = c.dispatch
		}
		if c.receipt != "" {
			ses.Labels[delivered] = c.receipt
		}
		w.AddSession(ses)
		w.Say(ses.ID, "task")
		w.Answered(ses.ID, "resp_1", "an older")
		w.Answered(ses.ID, "resp_2", "the newest")
		if c.err["code"] != "x" {
			ids = append(ids, ses.ID)
		}
	}
	return ids
}

// forget deletes the runner's journal.
func (w *world) forget() {
	w.t.Helper()
	files, err := filepath.Glob(w.runner.Journal() + "*")
	require.NoError(w.t, err)
	require.NotEmpty(w.t, files)
	for _, f := range files {
		require.NoError(w.t, os.Remove(f))
	}
}

// initOf is the init that a server sends before it forwards a message
// (sessions.md 2.1).
func (w *world) initOf(session string) fakeserver.Dict {
	return fakeserver.Dict{"session_id": session, "agent_id": agentP, "sub_agent_name": nil, "session_init": fakeserver.Dict{
		"protocol_version": 2, "server_version": "0.19.1", "session_id": session, "agent_id": agentP, "sub_agent_name": nil,
		"suppress_recovery_turn": true, "resume_interrupted_turn": false, "recovery_id": nil,
		"snapshot": fakeserver.Dict{"created_at": 1750000000, "labels": fakeserver.Dict{}, "inference_config": nil},
	}}
}
