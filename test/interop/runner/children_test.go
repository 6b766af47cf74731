//go:build interop

package runner

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/interop/peer"
	"github.com/outrunner/outrunner/test/testkit"
)

// children are flows of sub-agents, through the server.
var children = []flow{
	{"children with their own harnesses, inbox and wake", ownHarnesses},
	{"external_session_status of a child, inbox and wake", forwardedChild},
	{"children restored twice under one recovery id", restoredTwice},
	{"children of a killed runner are restored once", killedOverChildren},
	{"children of a runner that lost its journal", forgottenChildren},
}

func ownHarnesses(t *testing.T, s *peer.Server, _ *peer.Notes) {
	f := newFamily(t, s, "")
	f.Send(f.root, "GO")
	for _, agent := range workers {
		f.awaitTold(agent + " has done it")
	}
	f.awaitTasks("completed")
	require.ElementsMatch(t, []string{"worker " + f.child("worker"), "critic " + f.child("critic")}, f.noted("ran"))
	f.requireReceipts()
	f.requireQuiet()
	for _, agent := range workers {
		require.Equal(t, 1, f.told(agent+" has done it"))
		require.Equal(t, agent+" has done it", f.Said(f.child(agent)))
		at, err := f.Session(f.child(agent))
		require.NoError(t, err)
		require.Equal(t, f.runner.ID, at.RunnerID)
	}
	require.NotEmpty(t, f.watch.Of("session.child_session.updated"))
	require.True(t, strings.HasPrefix(f.Said(f.root), "ledled"), "the parent was woken: %q", f.Said(f.root))
}

// A forwarder tells that the child's program has finished its turn: the result
// is in the parent's inbox, and the parent is woken to read it. Told again it is
// not read again.
func forwardedChild(t *testing.T, s *peer.Server, _ *peer.Notes) {
	f := newFamily(t, s, "")
	f.Send(f.root, "GO-HOLD")
	f.awaitAtWork()
	for _, agent := range workers {
		f.Must(http.MethodPost, "/v1/sessions/"+f.child(agent)+"/events", peer.Dict{"type": "external_conversation_item", "data": peer.Dict{
			"item_type": "message", "source_id": agent + "-1",
			"item_data": peer.Dict{"role": "assistant", "agent": agent, "content": []peer.Dict{{"type": "output_text", "text": "told of " + agent}}}}})
		for range 2 {
			require.Less(t, f.forwarded(agent, peer.Dict{"status": "idle", "turn_completed": true}), 300)
		}
	}
	for _, agent := range workers {
		f.awaitTold("told of " + agent)
	}
	f.requireReceipts()
	for _, agent := range workers {
		require.Equal(t, 1, f.told("told of "+agent))
	}
	at, err := f.Session(f.root)
	require.NoError(t, err)
	require.NotEqual(t, "failed", at.Status)
}

// The line is lost while the children work. The server restores each with one
// recovery id; something sends that twice. The turns that went on are neither
// begun again nor told twice.
func restoredTwice(t *testing.T, s *peer.Server, _ *peer.Notes) {
	tap := s.NewTap()
	resumes := func(q peer.Request) bool {
		init, _ := q.Body["session_init"].(peer.Dict)
		return q.Path == "/v1/sessions" && init["resume_interrupted_turn"] == true && init["recovery_id"] != nil
	}
	tap.Repeat(resumes)
	f := newFamily(t, s, tap.URL)
	f.Send(f.root, "GO-GATE")
	f.awaitAtWork()
	tap.Cut()
	testkit.UntilSlow(t, turnLimit, func() bool { return len(tap.Hellos()) == 2 && s.Row(f.runner.ID).Online }, testkit.Is("the runner comes back"))
	testkit.UntilSlow(t, turnLimit, func() bool { return len(tap.Answers()) == len(workers) }, testkit.Is("both children are restored, twice"))
	for _, status := range tap.Answers() {
		require.Less(t, status, float64(300))
	}
	ids := map[any]bool{}
	for _, q := range tap.Requests() {
		if resumes(q) {
			ids[q.Body["session_init"].(peer.Dict)["recovery_id"]] = true
		}
	}
	require.Len(t, ids, len(workers), "one recovery id per child")
	f.open()
	for _, agent := range workers {
		f.awaitTold(agent + " has done it")
	}
	f.awaitTasks("completed")
	f.requireReceipts()
	f.requireQuiet()
	require.Len(t, f.noted("ran"), len(workers), "nothing is run again")
	for _, agent := range workers {
		require.Equal(t, 1, f.told(agent+" has done it"))
		require.Equal(t, agent+" has done it", f.Said(f.child(agent)))
	}
}

// The runner is killed while its children work. Programs that cannot resume are
// not begun again: each child's turn has failed, which the parent reads once.
func killedOverChildren(t *testing.T, s *peer.Server, _ *peer.Notes) {
	lostOverChildren(t, s, ":1", func(*family) error { return nil })
}

// The name that the parent gave a child is in the journal and in the child's
// snapshot, but not in its init: who lost the one and has not read the other
// yet calls it by its agent.
func forgottenChildren(t *testing.T, s *peer.Server, _ *peer.Notes) {
	lostOverChildren(t, s, ":", func(f *family) error { return f.runner.Forget() })
}

func lostOverChildren(t *testing.T, s *peer.Server, name string, meanwhile func(*family) error) {
	f := newFamily(t, s, "")
	f.Send(f.root, "GO-HOLD")
	f.awaitAtWork()
	f.runner.Kill()
	testkit.UntilSlow(t, testkit.Patience, func() bool { return !s.Row(f.runner.ID).Online }, testkit.Is("a dead runner is still online"))
	require.NoError(t, meanwhile(f))
	f.runner.Start()
	s.WaitRunner(f.runner.ID)
	f.awaitTasks("failed")
	for _, agent := range workers {
		f.awaitTold("failed — " + agent + name)
	}
	f.requireReceipts()
	f.requireQuiet()
	for _, agent := range workers {
		require.Equal(t, 1, f.told("failed — "+agent+name))
	}
	require.Len(t, f.noted("ran"), len(workers), "nothing is run again")
}
