//go:build interop

package theirrunner

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/interop/peer"
	"github.com/outrunner/outrunner/test/testkit"
)

const (
	// turnLimit is how long their harness may take to find that it has no key.
	turnLimit = 3 * time.Minute
	// initWithin is how soon a runner is told of a session.
	initWithin = 15 * time.Second
	// silence is how long a runner of theirs waits for a frame.
	silence = 60 * time.Second
	// pingEvery is how often a server pings, give or take slack.
	pingEvery = 30 * time.Second
	slack     = 5 * time.Second
)

// agent is one that their runner has a harness for.
var agent = peer.Agent("helper", "claude-sdk")

func TestTheirRunner(t *testing.T) {
	s := peer.NewServer(t, peer.Ours)
	for _, f := range []struct {
		name string
		play func(*testing.T, *peer.Server)
	}{
		{"online, and a turn without keys fails and is shown", turn},
		{"init when a session is bound", initAtBind},
		{"silent for longer than a runner bears, and pinged", silent},
		{"idle exit is read as idle", idleExit},
	} {
		peer.Flow(t, peer.TheirRunnerOurServer, f.name, func(t *testing.T) { f.play(t, s.For(t)) })
	}
}

func TestOurServerRestarts(t *testing.T) {
	s := peer.NewServer(t, peer.Ours)
	peer.Flow(t, peer.TheirRunnerOurServer, "server stopped (1012), then killed, and back", func(t *testing.T) { restarts(t, s.For(t)) })
}

// start starts their runner behind a tap.
func start(t *testing.T, s *peer.Server) (*peer.TheirRunner, *peer.Tap) {
	t.Helper()
	tap := s.NewTap()
	r := s.NewTheirRunner(tap.URL)
	r.Start()
	s.WaitRunner(r.ID)
	return r, tap
}

// fails sends a message, and waits for the failure that a harness without keys
// ends in.
func fails(t *testing.T, s *peer.Server, w *peer.Watch, session string, turns int) peer.End {
	t.Helper()
	s.Send(session, "hi there")
	ends := w.Settled(turnLimit, turns)
	require.Equal(t, "failed", ends[turns-1].Status)
	return ends[turns-1]
}

func turn(t *testing.T, s *peer.Server) {
	r, _ := start(t, s)
	require.Subset(t, s.Row(r.ID).Harnesses, []string{"claude-sdk", "codex", "openai-agents"})
	session := s.NewSession(agent, r.ID)
	w := s.Watch(session)

	end := fails(t, s, w, session, 1)
	require.Equal(t, "RuntimeError", end.Code, end.Message)
	at, err := s.Session(session)
	require.NoError(t, err)
	require.Equal(t, "failed", at.Status)
	require.NotNil(t, at.LastError)
	require.Equal(t, "RuntimeError", at.LastError.Code)

	// The harness's own words are an answer; its failure is an item.
	require.Contains(t, s.Said(session), "Not logged in")
	require.Equal(t, 1, strings.Count(s.Said(session), "Not logged in"), "stored once")
	var failures []peer.Dict
	for _, row := range s.Rows(session) {
		if row["type"] == "error" {
			failures = append(failures, row)
		}
	}
	require.Len(t, failures, 1)
	require.Equal(t, "harness", failures[0]["source"])
	require.Equal(t, "RuntimeError", failures[0]["code"])
	stored := map[any]bool{}
	for _, row := range s.Rows(session) {
		stored[row["id"]] = true
	}
	for _, ev := range w.Of("response.output_item.done") {
		require.True(t, stored[ev["item"].(peer.Dict)["id"]], "an item is published under the id that it is stored under: %v", ev)
	}
}

// A session that is bound is made known to its runner, before any message.
func initAtBind(t *testing.T, s *peer.Server) {
	r, tap := start(t, s)
	session := s.NewSession(agent, r.ID)
	var init peer.Dict
	testkit.UntilSlow(t, initWithin, func() bool {
		for _, q := range tap.Requests() {
			if q.Method == http.MethodPost && q.Path == "/v1/sessions" {
				init = q.Body
			}
		}
		return init != nil
	}, testkit.Is("the runner is not told of its session"))
	require.Equal(t, session, init["session_id"])
	require.EqualValues(t, 2, init["session_init"].(peer.Dict)["protocol_version"])
}

// A runner of theirs drops a server that says nothing for a minute.
func silent(t *testing.T, s *peer.Server) {
	_, tap := start(t, s)
	begin := tap.Hellos()[0]
	testkit.Hold(time.Until(begin.Add(silence + pingEvery/2)))
	require.Len(t, tap.Hellos(), 1, "the runner has stayed")
	require.GreaterOrEqual(t, len(tap.Pings()), 2)
	last := begin
	for _, at := range tap.Pings() {
		require.Less(t, at.Sub(last), pingEvery+slack, "between two pings")
		last = at
	}
}

func idleExit(t *testing.T, s *peer.Server) {
	r := s.NewTheirRunner("")
	require.NoError(t, os.WriteFile(filepath.Join(r.Home, "config.yaml"), []byte("runner:\n  idle_timeout_s: 8\n"), 0o600))
	r.Start()
	s.WaitRunner(r.ID)
	session := s.NewSession(agent, r.ID)
	w := s.Watch(session)
	require.Zero(t, r.Process.Wait(turnLimit), "it ends by itself")
	testkit.UntilSlow(t, testkit.Patience, func() bool { return !s.Row(r.ID).Online }, testkit.Is("the runner is still online"))
	at, err := s.Session(session)
	require.NoError(t, err)
	require.Equal(t, "idle", at.Status)
	require.Nil(t, at.LastError)

	// A message waits for the next one.
	s.Send(session, "hi there")
	require.NoError(t, os.Remove(filepath.Join(r.Home, "config.yaml")))
	r.Start()
	require.Equal(t, "failed", w.Settled(turnLimit, 1)[0].Status, "it was delivered, and failed for want of keys")
	require.Contains(t, s.Said(session), "Not logged in")
}

func restarts(t *testing.T, s *peer.Server) {
	r, tap := start(t, s)
	session := s.NewSession(agent, r.ID)
	w := s.Watch(session)
	for n, end := range []func(*peer.Server){(*peer.Server).Stop, (*peer.Server).Kill} {
		end(s)
		s.Start()
		testkit.UntilSlow(t, turnLimit, func() bool { return len(tap.Hellos()) == n+2 && s.Row(r.ID).Online }, testkit.Is("the runner comes back"))
		require.False(t, r.Process.Ended())
		fails(t, s, w, session, n+1)
	}
	require.Equal(t, 2, strings.Count(s.Said(session), "Not logged in"))
	r.Process.Signal(syscall.SIGTERM)
	require.Zero(t, r.Process.Wait(testkit.Patience))
	testkit.UntilSlow(t, testkit.Patience, func() bool { return !s.Row(r.ID).Online }, testkit.Is("the runner is still online"))
}
