//go:build interop

package agents

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness"
	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/runner/wire"
	"github.com/outrunner/outrunner/test/testkit/modelmock"
)

// patience bounds every wait: the first start of the program takes its time.
const patience = 90 * time.Second

const id = "acp:opencode"

// stage is one session of opencode.
type stage struct {
	t         *testing.T
	model     *modelmock.Server
	home, dir string
	manager   *harness.Manager
	native    string
	turns     int

	mu      sync.Mutex
	changed chan struct{}
	events  []wire.HarnessEvent
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, model: modelmock.New(t), home: t.TempDir(), dir: t.TempDir(), changed: make(chan struct{})}
	s.restart()
	t.Cleanup(s.shutdown)
	return s
}

// restart takes another manager, as a runner does that starts again.
func (s *stage) restart() {
	s.t.Helper()
	program := os.Getenv("OUTRUNNER_INTEROP_OPENCODE")
	require.NotEmpty(s.t, program, "set OUTRUNNER_INTEROP_OPENCODE to the path of opencode 1.18.33")
	self, err := guard.Self()
	require.NoError(s.t, err)
	s.manager, err = harness.New(harness.Config{
		Guard: self, Workspace: s.dir,
		Harnesses: map[string]harness.Definition{id: {Adapter: harness.AdapterACP, Command: []string{program, "acp"}, Env: s.model.OpenCode(s.home)}},
	})
	require.NoError(s.t, err)
}

func (s *stage) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(s.t, s.manager.Shutdown(ctx))
}

// begin starts a turn.
func (s *stage) begin(text string) (name string, ended <-chan wire.TurnEnd) {
	s.t.Helper()
	content, err := json.Marshal([]map[string]string{{"type": "input_text", "text": text}})
	require.NoError(s.t, err)
	s.mu.Lock()
	s.events = nil
	s.turns++
	s.mu.Unlock()
	start := wire.TurnStart{
		Session: "s", Turn: strings.Repeat("t", s.turns), Harness: id, Agent: "opencode", Native: s.native,
		Inputs: []wire.Input{{ItemID: "i", Content: content}},
	}
	end := make(chan wire.TurnEnd, 1)
	go func() { end <- s.manager.Turn(context.Background(), start, s.take) }()
	return start.Turn, end
}

func (s *stage) take(e wire.HarnessEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Type == wire.NativeSession {
		s.native = e.Native
	}
	s.events = append(s.events, e)
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

func (s *stage) all(kind string) (found []wire.HarnessEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

func (s *stage) text() string {
	var text strings.Builder
	for _, e := range s.all(wire.TextDelta) {
		text.WriteString(e.Delta)
	}
	return text.String()
}

func (s *stage) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.After(patience)
	for !ok() {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			require.FailNow(s.t, "this did not come", "%s; the text is %q", what, s.text())
		}
	}
}

func (s *stage) await(ended <-chan wire.TurnEnd) wire.TurnEnd {
	s.t.Helper()
	select {
	case end := <-ended:
		return end
	case <-time.After(patience):
		require.FailNow(s.t, "the turn did not end", "the text is %q", s.text())
		return wire.TurnEnd{}
	}
}

// do runs a turn that completes and returns its text.
func (s *stage) do(text string) string {
	s.t.Helper()
	_, ended := s.begin(text)
	end := s.await(ended)
	require.Equal(s.t, wire.Completed, end.Outcome, "%v", end.Error)
	return s.text()
}

// decide answers a turn's question.
func (s *stage) decide(turn, action, answer string) *wire.Elicitation {
	s.t.Helper()
	s.until("a question", func() bool { return len(s.all(wire.ElicitationRequest)) == 1 })
	q := s.all(wire.ElicitationRequest)[0].Ask
	msg := wire.ToHarness{Type: wire.Approval, ElicitationID: q.ID, Action: action}
	if answer != "" {
		raw, err := json.Marshal(map[string]string{"answer": answer})
		require.NoError(s.t, err)
		msg.Content = raw
	}
	require.NoError(s.t, s.manager.Send(s.t.Context(), "s", turn, msg))
	return q
}

type card struct{ Type, Status, Name, Arguments, Output, CallID string }

func (s *stage) cards() (cards []card) {
	for _, e := range s.all(wire.ItemDone) {
		var c struct {
			card
			CallID string `json:"call_id"`
		}
		require.NoError(s.t, json.Unmarshal(e.Item, &c))
		c.card.CallID = c.CallID
		cards = append(cards, c.card)
	}
	return cards
}

func TestOpenCodeAnswers(t *testing.T) {
	s := newStage(t)
	_, ended := s.begin("SAY one two three")
	end := s.await(ended)
	require.Equal(t, wire.Completed, end.Outcome, "%v", end.Error)
	require.Equal(t, "one two three", s.text())
	require.NotEmpty(t, s.native)
	require.JSONEq(t, `{"input_tokens":10,"output_tokens":5,"total_tokens":15,"model":"mock/mock-model"}`, string(end.Usage))
	require.Equal(t, modelmock.Greeting, s.do("hi"))
	_, ended = s.begin("FAIL")
	end = s.await(ended)
	require.Equal(t, wire.Failed, end.Outcome)
	require.Equal(t, "-32603", end.Error.Code)
	require.Contains(t, end.Error.Message, "the model is broken")
}

func TestOpenCodeRunsACommandWhenItMay(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(s.dir, "made")
	turn, ended := s.begin("SHELL echo made > made && echo done")
	q := s.decide(turn, wire.Accept, "")
	require.Equal(t, "bash", q.Tool.Name)
	require.Contains(t, string(q.Tool.Args), "echo made > made")
	require.Contains(t, string(q.Params), `"requestedSchema"`)
	end := s.await(ended)
	require.Equal(t, wire.Completed, end.Outcome, "%v", end.Error)
	require.FileExists(t, file)
	require.Contains(t, s.text(), "The tool said: done")
	cards := s.cards()
	require.Len(t, cards, 3, "%+v", cards)
	require.Equal(t, []string{"in_progress", "completed", "completed"}, []string{cards[0].Status, cards[1].Status, cards[2].Status})
	require.Equal(t, "bash", cards[1].Name)
	require.Contains(t, cards[1].Arguments, "echo made > made")
	require.Contains(t, cards[2].Output, "done")
	require.Equal(t, cards[0].CallID, cards[2].CallID)
}

func TestOpenCodeRunsNoCommandWhenItMayNot(t *testing.T) {
	s := newStage(t)
	turn, ended := s.begin("SHELL echo made > made")
	s.decide(turn, wire.Decline, "")
	end := s.await(ended)
	require.Equal(t, wire.Completed, end.Outcome, "%v", end.Error)
	require.NoFileExists(t, filepath.Join(s.dir, "made"))
	cards := s.cards()
	require.Len(t, cards, 3, "%+v", cards)
	require.Equal(t, "function_call_output", cards[2].Type)
	require.Contains(t, cards[2].Output, "rejected permission")
	require.Equal(t, "hello", s.do("SAY hello"), "it goes on")
}

func TestOpenCodeIsInterrupted(t *testing.T) {
	s := newStage(t)
	turn, ended := s.begin("SLOW")
	s.until("the beginning of a slow answer", func() bool { return strings.Contains(s.text(), "3 ") })
	require.NoError(t, s.manager.Interrupt(t.Context(), "s", turn))
	require.Equal(t, wire.Cancelled, s.await(ended).Outcome)
	require.Eventually(t, func() bool { return s.model.Cuts() == 1 }, patience, 10*time.Millisecond)
	require.Equal(t, "again", s.do("SAY again"))
}

func TestOpenCodeGoesOnInANewProcess(t *testing.T) {
	s := newStage(t)
	require.Equal(t, "noted", s.do("SAY noted"))
	native := s.native
	s.shutdown()
	s.restart()
	said := s.do("RECALL")
	require.Contains(t, said, "You said: SAY noted | ")
	require.NotContains(t, said, "noted noted", "nothing of before is told again")
	require.Equal(t, native, s.native)
	require.Empty(t, s.all(wire.NativeSession))
}
