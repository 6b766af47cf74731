package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/runner/wire"
)

// patience bounds every wait of these tests: long, for a busy machine.
const patience = 30 * time.Second

// manager makes one with short graces; edit changes the configuration.
func manager(t *testing.T, edit ...func(*Config)) *Manager {
	t.Helper()
	self, err := guard.Self()
	require.NoError(t, err)
	cfg := Config{
		Guard: self, Workspace: t.TempDir(),
		InterruptGrace: 300 * time.Millisecond, TerminateGrace: 300 * time.Millisecond,
	}
	for _, e := range edit {
		e(&cfg)
	}
	m, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, m.Shutdown(ctx))
	})
	return m
}

// shell sets the definition of the default harness.
func shell(edit func(*Definition)) func(*Config) {
	return func(cfg *Config) {
		def := Definition{Adapter: AdapterExec, Command: []string{"bash", "-c", "{message}"}}
		edit(&def)
		cfg.Harnesses = map[string]Definition{Shell: def}
	}
}

func message(turn, text string) wire.TurnStart {
	content, err := json.Marshal([]map[string]string{{"type": "input_text", "text": text}})
	if err != nil {
		panic(err)
	}
	return wire.TurnStart{Session: "session", Turn: turn, Harness: Shell, Inputs: []wire.Input{{ItemID: "i", Content: content}}}
}

// screen collects what a turn writes, and lets a test wait for a text.
type screen struct {
	mu      sync.Mutex
	changed chan struct{}
	deltas  []string
}

func newScreen() *screen { return &screen{changed: make(chan struct{})} }

func (s *screen) emit(e wire.HarnessEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Type != wire.TextDelta {
		return fmt.Errorf("unexpected event %q", e.Type)
	}
	s.deltas = append(s.deltas, e.Delta)
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.deltas, "")
}

// await returns when the turn has written text.
func (s *screen) await(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		changed, have := s.changed, strings.Join(s.deltas, "")
		s.mu.Unlock()
		if strings.Contains(have, text) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			require.FailNow(t, "the turn did not write", "%q; it wrote %q", text, have)
		}
	}
}

// run runs one turn to its end.
func run(t *testing.T, m *Manager, text string) (string, wire.TurnEnd) {
	t.Helper()
	s := newScreen()
	end := m.Turn(t.Context(), message("t", text), s.emit)
	return s.text(), end
}

// begin runs a turn in the background; the channel gives its end.
func begin(t *testing.T, m *Manager, start wire.TurnStart) (*screen, <-chan wire.TurnEnd) {
	t.Helper()
	s, ended := newScreen(), make(chan wire.TurnEnd, 1)
	go func() { ended <- m.Turn(context.Background(), start, s.emit) }()
	return s, ended
}

func await(t *testing.T, ended <-chan wire.TurnEnd) wire.TurnEnd {
	t.Helper()
	select {
	case end := <-ended:
		return end
	case <-time.After(patience):
		require.FailNow(t, "the turn did not end")
		return wire.TurnEnd{}
	}
}

func TestOutputAndExitStatus(t *testing.T) {
	m := manager(t)
	tests := map[string]struct {
		run     string
		writes  string
		outcome wire.Outcome
		note    string
		code    string
		says    string
	}{
		"output":      {run: "echo hello; echo wörld 🙂", writes: "hello\nwörld 🙂\n", outcome: wire.Completed},
		"no output":   {run: "true", outcome: wire.Completed, note: "exit 0"},
		"status":      {run: "echo no >&2; exit 3", writes: "no\n", outcome: wire.Failed, code: wire.CodeExitStatus, says: "bash exited with status 3"},
		"missing":     {run: "no-such-program-here 2>/dev/null", outcome: wire.Failed, code: wire.CodeExitStatus, says: "bash exited with status 127"},
		"crash":       {run: "echo a; kill -SEGV $$", writes: "a\n", outcome: wire.Failed, code: wire.CodeCrashed, says: "bash was ended by SIGSEGV"},
		"killed":      {run: "kill -KILL $$", outcome: wire.Failed, code: wire.CodeCrashed, says: "bash was ended by SIGKILL"},
		"whole group": {run: "kill -KILL 0", outcome: wire.Failed, code: wire.CodeCrashed, says: "bash was ended by SIGKILL"},
		"no input":    {run: "cat; echo end", writes: "end\n", outcome: wire.Completed},
		"background":  {run: "(sleep 1000; echo late) & echo early", writes: "early\n", outcome: wire.Completed},
		"own group":   {run: "trap 'echo term' TERM; kill 0; echo on", writes: "term\non\n", outcome: wire.Completed},
		"latin-1":     {run: `printf '\xe9o\xbc\xa2\0.'`, writes: `\xe9o\xbc\xa2\x00.`, outcome: wire.Completed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text, end := run(t, m, tt.run)
			require.Equal(t, tt.writes, text)
			require.Equal(t, tt.outcome, end.Outcome, end.Error)
			require.Equal(t, tt.note, end.Note)
			if tt.code == "" {
				require.Nil(t, end.Error)
				return
			}
			require.Equal(t, tt.code, end.Error.Code)
			require.Equal(t, tt.says, end.Error.Message)
			require.NotEmpty(t, end.Error.Remediation)
		})
	}
}

func TestStreamsAreMergedInTheOrderWritten(t *testing.T) {
	text, end := run(t, manager(t), "for i in $(seq 500); do echo o$i; echo e$i >&2; done")
	require.Equal(t, wire.Completed, end.Outcome)
	var want strings.Builder
	for i := 1; i <= 500; i++ {
		fmt.Fprintf(&want, "o%d\ne%d\n", i, i)
	}
	require.Equal(t, want.String(), text)
}

func TestOutputComesWhenItIsWritten(t *testing.T) {
	m := manager(t)
	s, ended := begin(t, m, message("t", "echo first; sleep 1000"))
	s.await(t, "first\n")
	select {
	case <-ended:
		require.FailNow(t, "it ended")
	default:
	}
	require.NoError(t, m.Interrupt(t.Context(), "session", "t"))
	await(t, ended)
}
