//go:build unix

package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/terminal/screen"
	"github.com/outrunner/outrunner/runner/wire"
)

const (
	// patience is for whatever must happen; a busy machine needs some.
	patience = 30 * time.Second
	tick     = 5 * time.Millisecond
)

// shortDir is a folder whose sockets' paths are not too long.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "ort")
	require.NoError(t, err)
	t.Cleanup(func() {
		killTmux(dir)
		require.NoError(t, os.RemoveAll(dir))
	})
	return dir
}

// killTmux ends every tmux below a folder, however a test ended.
func killTmux(dir string) {
	sockets, _ := filepath.Glob(filepath.Join(dir, "*", socketFile))
	for _, socket := range sockets {
		_ = exec.Command("tmux", "-S", socket, "kill-server").Run()
	}
}

type newsBook struct {
	mu   sync.Mutex
	list []wire.TerminalNews
}

func (b *newsBook) hear(n wire.TerminalNews) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, n)
}

func (b *newsBook) of(kind wire.TerminalNewsKind) []wire.TerminalNews {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []wire.TerminalNews
	for _, n := range b.list {
		if n.Kind == kind {
			out = append(out, n)
		}
	}
	return out
}

func startManager(t *testing.T, cfg Config) (*Manager, *newsBook) {
	return startLimited(t, cfg, defaultLimits())
}

func startLimited(t *testing.T, cfg Config, lim limits) (*Manager, *newsBook) {
	if cfg.Dir == "" {
		cfg.Dir = shortDir(t)
	}
	cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	m, err := newManager(cfg, lim)
	require.NoError(t, err)
	book := &newsBook{}
	m.OnNews(book.hear)
	t.Cleanup(m.Stop)
	return m, book
}

func shell(key, script string, args ...string) wire.TerminalSpec {
	return wire.TerminalSpec{Session: "s1", Name: "sh", Key: key, Command: "/bin/sh", Args: append([]string{"-c", script, "sh"}, args...), Cwd: "/tmp"}
}

func launch(t *testing.T, m *Manager, spec wire.TerminalSpec) wire.Terminal {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	made, err := m.Launch(ctx, spec)
	require.NoError(t, err)
	return made
}

// A browser is a viewer with a screen, as xterm.js is one.
type browser struct {
	in     chan message
	cancel context.CancelFunc
	done   chan wire.Detached
	rate   int // bytes a second that it takes; 0 is any

	mu      sync.Mutex
	screen  *screen.Screen
	raw     bytes.Buffer
	texts   []string
	blocked chan struct{} // not nil: takes nothing until it is closed
}

func (b *browser) Read(ctx context.Context) ([]byte, bool, error) {
	select {
	case m, ok := <-b.in:
		if !ok {
			return nil, false, io.EOF
		}
		return m.data, m.text, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

func (b *browser) Write(ctx context.Context, data []byte, text bool) error {
	if b.blocked != nil {
		select {
		case <-b.blocked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if b.rate > 0 {
		timer := time.NewTimer(time.Duration(len(data)) * time.Second / time.Duration(b.rate))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !text {
		b.screen.Write(data)
		b.raw.Write(data)
		return nil
	}
	b.texts = append(b.texts, string(data))
	var size struct {
		Type       string
		Cols, Rows int
	}
	if json.Unmarshal(data, &size) == nil && size.Type == "size" {
		b.screen.Resize(size.Cols, size.Rows)
	}
	return nil
}

func (b *browser) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.screen.Text(0)
}

func (b *browser) all() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.screen.Text(100_000)
}

func (b *browser) rawText() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.raw.String()
}

func (b *browser) size() [2]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return [2]int{b.screen.Cols(), b.screen.Rows()}
}

func (b *browser) resize(cols, rows int) {
	text, _ := json.Marshal(map[string]any{"type": "resize", "cols": cols, "rows": rows})
	b.in <- message{data: text, text: true}
}

func (b *browser) keys(text string) { b.in <- message{data: []byte(text)} }

// leave ends the viewer from its side.
func (b *browser) leave(t *testing.T) {
	close(b.in)
	b.detached(t)
}

func (b *browser) detached(t *testing.T) wire.Detached {
	t.Helper()
	select {
	case d := <-b.done:
		b.done <- d
		return d
	case <-time.After(patience):
		require.Fail(t, "the viewer is still attached")
	}
	return wire.Detached{}
}

func (b *browser) shows(t *testing.T, text string) {
	t.Helper()
	if !assert.Eventually(t, func() bool { return strings.Contains(b.text(), text) }, patience, tick) {
		require.Failf(t, "not shown", "want %q in:\n%s", text, b.text())
	}
}

type option func(*browser)

func reading(rate int) option { return func(b *browser) { b.rate = rate } }

func look(t *testing.T, m *Manager, made wire.Terminal, cols, rows int, options ...option) *browser {
	return lookAs(t, m, made, cols, rows, false, options...)
}

// lookAs attaches a viewer of a size; 0 tells none.
func lookAs(t *testing.T, m *Manager, made wire.Terminal, cols, rows int, readOnly bool, options ...option) *browser {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b := &browser{in: make(chan message, 4096), cancel: cancel, done: make(chan wire.Detached, 1), screen: screen.New(max(cols, startCols), max(rows, startRows), 20000)}
	for _, o := range options {
		o(b)
	}
	if cols > 0 {
		b.resize(cols, rows)
	}
	go func() { b.done <- m.Attach(ctx, made.Session, made.ID(), b, readOnly) }()
	t.Cleanup(func() {
		cancel()
		b.detached(t)
	})
	return b
}

// tmuxSays runs a tmux command of a terminal, as its user could.
func tmuxSays(t *testing.T, made wire.Terminal, args ...string) string {
	t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", made.Socket}, args...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		require.NoError(t, err, string(exit.Stderr))
	}
	require.NoError(t, err)
	return strings.TrimRight(string(out), "\n")
}

// serverPID is the process of a terminal's tmux.
func serverPID(t *testing.T, made wire.Terminal) int {
	t.Helper()
	pid, err := strconv.Atoi(tmuxSays(t, made, "display-message", "-p", "#{pid}"))
	require.NoError(t, err)
	return pid
}

func eventually(t *testing.T, condition func() bool, what ...any) {
	t.Helper()
	require.Eventually(t, condition, patience, tick, what...)
}
