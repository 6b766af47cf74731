//go:build interop

package runner

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/interop/peer"
	"github.com/outrunner/outrunner/test/testkit"
)

// messages are flows of what one message is made of.
var messages = []flow{
	{"online with its harnesses", online},
	{"upload, create, bind, message, streamed reply, stored once", message},
	{"a message to a cold session", cold},
	{"two and three inits", inits},
	{"parallel turns in 20 sessions", parallel},
	{"a failed turn with its code", failed},
	{"delete in mid-turn", remove},
}

func online(t *testing.T, s *peer.Server, _ *peer.Notes) {
	r := s.NewRunner("")
	r.Configure(`harnesses: {"acp:mine": {adapter: exec, command: [cat]}}`)
	require.False(t, s.Row(r.ID).Online)
	r.Start()
	s.WaitRunner(r.ID)
	require.Subset(t, s.Row(r.ID).Harnesses, []string{"acp:mine", "acp:shell"})
	at := s.Must(http.MethodGet, "/v1/runners/"+r.ID+"/status", nil)
	require.Equal(t, true, at["online"])
	r.Kill()
	testkit.UntilSlow(t, testkit.Patience, func() bool { return !s.Row(r.ID).Online }, testkit.Is("a dead runner is still online"))
}

func message(t *testing.T, s *peer.Server, _ *peer.Notes) {
	r := s.StartRunner()
	session := s.Upload(shell)
	s.Bind(session, r.ID)
	at, err := s.Session(session)
	require.NoError(t, err)
	require.Equal(t, r.ID, at.RunnerID)
	w := s.Watch(session)
	command, printed := counting(3, 700*time.Millisecond)
	item := s.Send(session, command)
	ends := w.Settled(turnLimit, 1)
	require.Equal(t, "completed", ends[0].Status, ends[0].Message)
	at, err = s.Session(session)
	require.NoError(t, err)
	require.Equal(t, "idle", at.Status)

	require.Equal(t, printed, w.Live(), "the reply as it was streamed")
	rows := s.Rows(session)
	require.Equal(t, item, rows[0]["id"])
	require.Equal(t, printed, s.Said(session), "the reply as it is stored")
	var stored, published []string
	for _, row := range rows[1:] {
		require.Equal(t, "message", row["type"])
		require.Equal(t, ends[0].Response, row["response_id"])
		require.NotEmpty(t, row["stream_message_id"])
		stored = append(stored, row["id"].(string))
	}
	require.Greater(t, len(stored), 1, "a reply that took two seconds is stored in more than one segment")
	for _, ev := range w.Of("response.output_item.done") {
		published = append(published, ev["item"].(peer.Dict)["id"].(string))
	}
	require.Equal(t, stored, published, "items are published once, with the ids that they are stored under")
	consumed := w.Of("session.input.consumed")
	require.Len(t, consumed, 1)
	require.Equal(t, item, consumed[0]["data"].(peer.Dict)["item_id"])
	begun := w.Of("response.in_progress")
	require.NotEmpty(t, begun)
	require.Equal(t, ends[0].Response, begun[0]["response"].(peer.Dict)["id"])
}

// A runner that has lost its journal hears of an idle session by its next
// message, and nothing else.
func cold(t *testing.T, s *peer.Server, _ *peer.Notes) {
	r := s.StartRunner()
	session := s.NewSession(shell, r.ID)
	w := s.Watch(session)
	s.Send(session, "echo one >> ran; echo one")
	w.Settled(turnLimit, 1)
	r.Kill()
	testkit.UntilSlow(t, testkit.Patience, func() bool { return !s.Row(r.ID).Online }, testkit.Is("a dead runner is still online"))
	require.NoError(t, r.Forget())
	r.Start()
	s.WaitRunner(r.ID)
	s.Send(session, "echo two >> ran; echo two")
	ends := w.Settled(turnLimit, 2)
	require.Equal(t, "completed", ends[1].Status, ends[1].Message)
	require.Equal(t, "one\ntwo\n", s.Said(session))
	require.Equal(t, []string{"one", "two"}, r.Lines("ran"), "what is history is not run again")
}

func inits(t *testing.T, s *peer.Server, _ *peer.Notes) {
	r := s.StartRunner()
	session := s.Upload(shell)
	w := s.Watch(session)
	for n := range 3 {
		for range n + 1 {
			s.Bind(session, r.ID)
		}
		s.Send(session, fmt.Sprintf("echo %d >> ran; echo %d", n, n))
		ends := w.Settled(turnLimit, n+1)
		require.Equal(t, "completed", ends[n].Status, ends[n].Message)
	}
	s.Bind(session, r.ID)
	s.Bind(session, r.ID)
	require.Equal(t, "0\n1\n2\n", s.Said(session))
	require.Equal(t, []string{"0", "1", "2"}, r.Lines("ran"))
}

func parallel(t *testing.T, s *peer.Server, _ *peer.Notes) {
	const sessions = 20
	r := s.StartRunner()
	var ids []string
	var watches []*peer.Watch
	for range sessions {
		id := s.NewSession(shell, r.ID)
		ids, watches = append(ids, id), append(watches, s.Watch(id))
	}
	// Each waits until all have begun: only turns that run at once can end.
	command := fmt.Sprintf("echo x >> begun; while [ $(wc -l < begun) -lt %d ]; do sleep 0.1; done; echo all of us", sessions)
	for _, id := range ids {
		s.Send(id, command)
	}
	for n, w := range watches {
		ends := w.Settled(turnLimit, 1)
		require.Equal(t, "completed", ends[0].Status, ends[0].Message)
		require.Equal(t, "all of us\n", s.Said(ids[n]))
	}
	require.Len(t, r.Lines("begun"), sessions)
}

func failed(t *testing.T, s *peer.Server, _ *peer.Notes) {
	r := s.StartRunner()
	session := s.NewSession(shell, r.ID)
	w := s.Watch(session)
	s.Send(session, "echo before; exit 3")
	end := w.Settled(turnLimit, 1)[0]
	require.Equal(t, "failed", end.Status)
	require.Equal(t, "exit_status", end.Code)
	at, err := s.Session(session)
	require.NoError(t, err)
	require.Equal(t, "failed", at.Status)
	require.NotNil(t, at.LastError)
	require.Equal(t, "exit_status", at.LastError.Code)
	require.Equal(t, "before\n", s.Said(session))
	items, err := s.Items(session)
	require.NoError(t, err)
	require.Equal(t, 1, countItems(items, func(i testkit.Item) bool { return i.Type == "error" && i.Code == "exit_status" }), "stored errors: %+v", items)

	s.Send(session, "echo after")
	require.Equal(t, "completed", w.Settled(turnLimit, 2)[1].Status)
	at, err = s.Session(session)
	require.NoError(t, err)
	require.Equal(t, "idle", at.Status, "the next turn heals it")
	require.Nil(t, at.LastError)
}

func remove(t *testing.T, s *peer.Server, _ *peer.Notes) {
	r := s.StartRunner()
	session := s.NewSession(shell, r.ID)
	w := s.Watch(session)
	s.Send(session, "echo begun; sleep 300")
	testkit.UntilSlow(t, turnLimit, func() bool { return strings.Contains(w.Live(), "begun") }, testkit.Is("the turn has not begun"))
	gone := s.Must(http.MethodDelete, "/v1/sessions/"+session, nil)
	require.Equal(t, true, gone["deleted"])
	status, _, err := s.Do(http.MethodGet, "/v1/sessions/"+session, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, status)
	status, _, err = s.Do(http.MethodDelete, "/v1/sessions/"+session, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, status)
	testkit.RequireNone(t, r.Home, r.Process)
	other := s.NewSession(shell, r.ID)
	w = s.Watch(other)
	s.Send(other, "echo alive")
	require.Equal(t, "completed", w.Settled(turnLimit, 1)[0].Status)
}

func countItems(items []testkit.Item, is func(testkit.Item) bool) int {
	return len(slices.DeleteFunc(slices.Clone(items), func(i testkit.Item) bool { return !is(i) }))
}
