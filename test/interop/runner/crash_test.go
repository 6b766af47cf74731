//go:build interop

package runner

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/journal"
	"github.com/outrunner/outrunner/runner/wire"
	"github.com/outrunner/outrunner/test/interop/peer"
	"github.com/outrunner/outrunner/test/testkit"
)

// The promise of a runner that dies, on each server: every message that was
// answered 202 gets one outcome, no command is begun twice, what the server had
// acknowledged stays, and no session runs for ever.
func crashes() []flow {
	var flows []flow
	for _, point := range []string{"accepted", "replied", "opened", "spawned", "segment", "posted", "acknowledged", "ended", "terminal",
		"accepted:2", "opened:2", "segment:2", "posted:2", "acknowledged:2", "ended:2", "terminal:2"} {
		flows = append(flows, flow{"runner killed at " + point, func(t *testing.T, s *peer.Server, n *peer.Notes) { killedAt(t, s, n, point) }})
	}
	return flows
}

// story is a session with some messages, to a runner that dies of some of them.
type story struct {
	server  *peer.Server
	runner  *peer.Runner
	session string
	watch   *peer.Watch
	printed map[string]string // what the command of each message prints, by its number
	taken   []string          // the numbers of the messages that were accepted
}

// ran is the file to which each command appends its number as its first act.
const ran = "ran"

// say posts a message whose command notes its number, then does the rest, and
// reports whether it was accepted.
func (s *story) say(t *testing.T, rest, printed string) bool {
	t.Helper()
	number := strconv.Itoa(len(s.printed))
	s.printed[number] = fmt.Sprintf("begin %s\n", number) + printed
	item, err := s.server.Post(s.session, fmt.Sprintf("echo %s >> %s; echo begin %s; %s", number, ran, number, rest), "")
	if err != nil {
		t.Logf("message %s was not accepted: %v", number, err)
		return false
	}
	require.NotEmpty(t, item)
	s.taken = append(s.taken, number)
	return true
}

func killedAt(t *testing.T, server *peer.Server, n *peer.Notes, point string) {
	s := &story{server: server, runner: server.NewRunner(""), printed: map[string]string{}}
	s.runner.Start()
	server.WaitRunner(s.runner.ID)
	s.session = server.NewSession(shell, s.runner.ID)
	s.watch = server.Watch(s.session)
	s.runner.Kill()
	testkit.UntilSlow(t, testkit.Patience, func() bool { return !server.Row(s.runner.ID).Online }, testkit.Is("a dead runner is still online"))
	s.runner.StartCrashing(point)
	server.WaitRunner(s.runner.ID)
	var long strings.Builder
	for i := range 8000 {
		fmt.Fprintln(&long, i+1)
	}
	s.say(t, "seq 1 8000", long.String())
	s.say(t, "echo answer", "answer\n")
	require.Negative(t, s.runner.Process.Wait(testkit.Patience), "the crash point is not passed")
	acknowledged, cut := s.bury(t)
	n.Say(fmt.Sprintf("%d accepted before, %d turns cut", len(s.taken), cut))
	s.runner.RequireGone()
	testkit.UntilSlow(t, testkit.Patience, func() bool { return !server.Row(s.runner.ID).Online }, testkit.Is("a dead runner is still online"))
	s.runner.Start()
	server.WaitRunner(s.runner.ID)
	require.True(t, s.say(t, "echo last", "last\n"), "a message after the restart")
	s.requireFair(t, acknowledged, cut)
}

// bury reads the journal of the dead runner: the source ids of what the server
// has acknowledged, and how many turns were open.
func (s *story) bury(t *testing.T) (acknowledged []string, cut int) {
	t.Helper()
	db, err := journal.Open(s.runner.Journal(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	records, err := db.Load()
	require.NoError(t, err)
	require.NoError(t, db.Close())
	open := map[string]bool{}
	for _, r := range records {
		switch r.Kind {
		case wire.RecOpened:
			open[r.Turn] = true
		case wire.RecEnded:
			delete(open, r.Turn)
		case wire.RecStored:
			acknowledged = append(acknowledged, r.Source)
		}
	}
	return acknowledged, len(open)
}

func (s *story) requireFair(t *testing.T, acknowledged []string, cut int) {
	t.Helper()
	testkit.UntilSlow(t, turnLimit, func() bool {
		at, err := s.server.Session(s.session)
		return err == nil && at.Status == "idle" && strings.HasSuffix(s.server.Said(s.session), "last\n")
	}, func() string {
		at, err := s.server.Session(s.session)
		return fmt.Sprintf("the last message is answered and the session at rest: it is %+v %v, the ends are %+v", at, err, s.watch.Ends())
	})
	begun := s.runner.Lines(ran)
	for number := range s.printed {
		require.LessOrEqual(t, count(begun, number), 1, "starts of command %s: %v", number, begun)
	}

	// Each response has one end, and what is stored of it is what one command
	// printed: all of it, or of a cut one the start.
	texts, sources := map[string]string{}, map[string]bool{}
	for _, row := range s.server.Rows(s.session) {
		if row["type"] != "message" || row["role"] != "assistant" {
			continue
		}
		for _, block := range row["content"].([]any) {
			texts[row["response_id"].(string)] += block.(peer.Dict)["text"].(string)
		}
		if id, ok := row["stream_message_id"].(string); ok {
			sources[id] = true
		}
	}
	testkit.UntilSlow(t, turnLimit, func() bool { return len(s.watch.Ends()) >= len(s.taken) },
		func() string {
			return fmt.Sprintf("an outcome of each of %d messages: %+v", len(s.taken), s.watch.Ends())
		})
	answered, restarted := map[string]bool{}, 0
	for _, end := range s.watch.Ends() {
		text := texts[end.Response]
		switch end.Status {
		case "completed":
			number := numberOf(t, text)
			require.Equal(t, s.printed[number], text, "the answer to message %s", number)
			require.False(t, answered[number], "two answers to message %s", number)
			answered[number] = true
		case "failed":
			require.Equal(t, wire.CodeRunnerRestarted, end.Code, end.Message)
			restarted++
			if text != "" {
				number := numberOf(t, text)
				require.True(t, strings.HasPrefix(s.printed[number], text), "what is stored of cut turn %s is not its start: %q", number, text)
			}
		default:
			require.Fail(t, "an end of another kind", "%+v", end)
		}
	}
	require.Equal(t, cut, restarted, "turns that the death has cut")
	require.GreaterOrEqual(t, len(answered)+restarted, len(s.taken), "outcomes of %d accepted messages: %+v", len(s.taken), s.watch.Ends())
	for _, source := range acknowledged {
		require.Contains(t, sources, source, "what the server had acknowledged is stored")
	}
}

// numberOf is the number of the message that a text answers.
func numberOf(t *testing.T, text string) string {
	t.Helper()
	first, _, _ := strings.Cut(text, "\n")
	number, ok := strings.CutPrefix(first, "begin ")
	require.True(t, ok, "no command prints %q", text)
	return number
}

func count(lines []string, line string) int {
	n := 0
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}
