package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// patience bounds every wait of these tests: long, for a busy machine.
const patience = 30 * time.Second

// stage runs turns of the scripted agent in one session, and sees all of them.
type stage struct {
	t    *testing.T
	pool *Pool
	cfg  turn.Config
	opts Options
	log  *safeBuffer
	// native is what the turns are given, as the core does it.
	native string

	mu      sync.Mutex
	changed chan struct{}
	events  []wire.HarnessEvent
	emit    func(wire.HarnessEvent) error
}

func newStage(t *testing.T, traits ...string) *stage {
	t.Helper()
	self, err := guard.Self()
	require.NoError(t, err)
	s := &stage{t: t, pool: NewPool(), log: &safeBuffer{}, changed: make(chan struct{})}
	s.cfg = turn.Config{
		Harness: "acp:x", Command: append([]string{self[0], "agent"}, traits...), Guard: self, Dir: t.TempDir(),
		Env:         []string{"PATH=" + os.Getenv("PATH"), "OUTRUNNER_TURN_ID=t", "MINE=1"},
		IdleTimeout: patience, TurnTimeout: 2 * patience, MaxOutput: 64 << 20, IdleReap: time.Hour,
		InterruptGrace: 100 * time.Millisecond, TerminateGrace: 300 * time.Millisecond, GuardLimit: 10 * time.Second,
		Log: slog.New(slog.NewTextHandler(s.log, nil)),
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, s.pool.Shutdown(ctx))
		require.Zero(t, s.pool.Size())
	})
	return s
}

func says(text string) wire.TurnStart {
	return with(map[string]any{"type": "input_text", "text": text})
}

func with(blocks ...map[string]any) wire.TurnStart {
	content, err := json.Marshal(blocks)
	if err != nil {
		panic(err)
	}
	return wire.TurnStart{
		Session: "s", Turn: "t", Harness: "acp:x", Agent: "helper", Inputs: []wire.Input{{ItemID: "i", Content: content}},
	}
}

// script is a message that tells the agent what to do.
func script(commands ...string) wire.TurnStart { return says("> " + strings.Join(commands, "\n> ")) }

func (s *stage) begin(start wire.TurnStart) (*Run, <-chan wire.TurnEnd) {
	s.t.Helper()
	if start.Native == "" {
		start.Native = s.native
	}
	r := s.pool.Prepare(s.opts, s.cfg, start)
	ended := make(chan wire.TurnEnd, 1)
	go func() { ended <- r.Do(context.Background(), s.take) }()
	return r, ended
}

// run runs one turn to its end, and returns what it said.
func (s *stage) run(start wire.TurnStart) (string, wire.TurnEnd) {
	s.t.Helper()
	s.forget()
	_, ended := s.begin(start)
	end := s.await(ended)
	return s.text(), end
}

// do runs a turn that completes.
func (s *stage) do(commands ...string) string {
	s.t.Helper()
	text, end := s.run(script(commands...))
	s.completed(end)
	return text
}

func (s *stage) take(e wire.HarnessEvent) error {
	if s.emit != nil {
		if err := s.emit(e); err != nil {
			return err
		}
	}
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

func (s *stage) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = nil
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

func (s *stage) joined(kind string) string {
	var text strings.Builder
	for _, e := range s.all(kind) {
		text.WriteString(e.Delta)
	}
	return text.String()
}

func (s *stage) text() string { return s.joined(wire.TextDelta) }

func (s *stage) items() (items []string) {
	for _, e := range s.all(wire.ItemDone) {
		items = append(items, string(e.Item))
	}
	return items
}

// until waits until the turns' events are as told.
func (s *stage) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			require.FailNow(s.t, "this did not come", "%s; the text is %q, the log: %s", what, s.text(), s.log)
		}
	}
}

func (s *stage) untilText(text string) {
	s.t.Helper()
	s.until(text, func() bool { return strings.Contains(s.text(), text) })
}

// asked waits for so many questions and returns the last.
func (s *stage) asked(n int) *wire.Elicitation {
	s.t.Helper()
	s.until("a question", func() bool { return len(s.all(wire.ElicitationRequest)) >= n })
	return s.all(wire.ElicitationRequest)[n-1].Ask
}

func (s *stage) await(ended <-chan wire.TurnEnd) wire.TurnEnd {
	s.t.Helper()
	select {
	case end := <-ended:
		return end
	case <-time.After(patience):
		require.FailNow(s.t, "the turn did not end", "the text is %q, the log: %s", s.text(), s.log)
		return wire.TurnEnd{}
	}
}

func (s *stage) completed(end wire.TurnEnd) {
	s.t.Helper()
	require.Equal(s.t, wire.Completed, end.Outcome, "%v; the log: %s", end.Error, s.log)
	require.Nil(s.t, end.Error)
}

func (s *stage) failed(end wire.TurnEnd, code, says string) {
	s.t.Helper()
	require.Equal(s.t, wire.Failed, end.Outcome, "the log: %s", s.log)
	require.Equal(s.t, code, end.Error.Code, end.Error.Message)
	require.Contains(s.t, end.Error.Message, says)
}

// turns counts those of the kept process, 0 when there is none.
func (s *stage) turns() int {
	if p := s.pool.Kept("s"); p != nil {
		return p.Turns()
	}
	return 0
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(s.path(name), []byte(text), 0o600))
}

func (s *stage) path(name string) string { return fmt.Sprintf("%s/%s", s.cfg.Dir, name) }

// safeBuffer is a log.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
