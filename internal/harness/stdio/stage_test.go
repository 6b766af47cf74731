package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// patience bounds every wait of these tests: long, for a busy machine.
const patience = 30 * time.Second

// stage runs turns of one program in one session, and sees all that they do.
type stage struct {
	t    *testing.T
	pool *Pool
	cfg  turn.Config
	log  *safeBuffer

	mu      sync.Mutex
	changed chan struct{}
	events  []wire.HarnessEvent
	emit    func(wire.HarnessEvent) error
}

// talk is what the scripts of these tests begin with: say prints an event's
// line, text a delta, and finish ends a turn.
const talk = `
say() { printf '%s\n' "$1"; }
text() { say '{"type":"response.output_text.delta","delta":"'"$1"'"}'; }
finish() { say '{"type":"response.completed"}'; }
`

// newStage makes one for a script that begins with talk.
func newStage(t *testing.T, script string) *stage {
	t.Helper()
	return stageFor(t, "sh", "-c", talk+script)
}

func stageFor(t *testing.T, command ...string) *stage {
	t.Helper()
	self, err := guard.Self()
	require.NoError(t, err)
	s := &stage{t: t, pool: NewPool(), log: &safeBuffer{}, changed: make(chan struct{})}
	s.cfg = turn.Config{
		Harness: "acp:x", Command: command, Guard: self, Dir: t.TempDir(), Env: os.Environ(),
		IdleTimeout: patience, TurnTimeout: 2 * patience, MaxOutput: 64 << 20, IdleReap: time.Hour,
		InterruptGrace: 300 * time.Millisecond, TerminateGrace: 300 * time.Millisecond, GuardLimit: 10 * time.Second,
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

func userSays(name, text string) wire.TurnStart {
	content, err := json.Marshal([]map[string]string{{"type": "input_text", "text": text}})
	if err != nil {
		panic(err)
	}
	return wire.TurnStart{
		Session: "s", Turn: name, Harness: "acp:x", Agent: "helper", Inputs: []wire.Input{{ItemID: "i", Content: content}},
	}
}

// begin runs a turn in the background; the channel gives its end.
func (s *stage) begin(start wire.TurnStart) (*Run, <-chan wire.TurnEnd) {
	s.t.Helper()
	r := s.pool.Prepare(s.cfg, start)
	ended := make(chan wire.TurnEnd, 1)
	go func() { ended <- r.Do(context.Background(), s.take) }()
	return r, ended
}

// run runs one turn to its end, and returns what it wrote.
func (s *stage) run(text string) (string, wire.TurnEnd) {
	s.t.Helper()
	s.forget()
	_, ended := s.begin(userSays("t", text))
	end := s.await(ended)
	return s.text(), end
}

func (s *stage) take(e wire.HarnessEvent) error {
	if s.emit != nil {
		if err := s.emit(e); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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

func (s *stage) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	for _, e := range s.events {
		if e.Type == wire.TextDelta {
			text.WriteString(e.Delta)
		}
	}
	return text.String()
}

func (s *stage) items() (items []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Type == wire.ItemDone {
			items = append(items, string(e.Item))
		}
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

// file is what a program wrote there, "" while there is none.
func (s *stage) file(name string) string {
	text, err := os.ReadFile(filepath.Join(s.cfg.Dir, name))
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(s.t, err)
	}
	return strings.TrimSpace(string(text))
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(filepath.Join(s.cfg.Dir, name), []byte(text), 0o600))
}

// process is the one that is kept.
func (s *stage) process() *keep.Process { return s.pool.Kept("s") }

// strays counts what the kept process wrote between turns.
func (s *stage) strays() int { return s.process().Strays() }

// left waits until no process is kept.
func (s *stage) left() {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.process() == nil }, patience, 5*time.Millisecond)
}

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
