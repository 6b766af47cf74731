package terminal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// A Config says how terminals are made. Its zero value works.
type Config struct {
	// Dir is where terminals have their folders, and where the next runner finds
	// them: give every runner its own. Default: a folder in the temporary
	// directory that is named for the user. A long path is replaced by a short one
	// in the temporary directory, the same for the same path.
	Dir string
	// Tmux is the tmux to use. Default: the one on PATH; where there is none,
	// terminals are plain PTYs, which end with the runner.
	Tmux string
	// Plain makes terminals plain PTYs even where tmux is installed.
	Plain bool
	// Environ is what a terminal's environment is made of, as "name=value".
	// Default: that of this process. The runner's secrets are taken out.
	Environ []string
	// Clipboard lets programs fill the clipboard of whoever typed last, by the
	// escape sequence OSC 52. Default: they may not.
	Clipboard bool
	// Reapable tells the terminals that are closed when nobody and nothing has
	// used them for IdleTimeout. Default: none.
	Reapable func(wire.Terminal) bool
	// Busy tells a terminal that is in use in a way that is not seen on its
	// screen. It is asked right before a terminal would be closed. Default: none.
	Busy func(wire.Terminal) bool
	// IdleTimeout is how long a Reapable terminal may be idle. Default 1 h;
	// negative is for ever.
	IdleTimeout time.Duration
	// Log gets what went wrong without anybody to tell. Default: nothing.
	Log *slog.Logger
}

const defaultIdle = time.Hour

// New makes a Manager and has it take over the terminals that an earlier runner
// left. It fails when the folder of terminals cannot be used; a tmux that is
// missing or too old is told by the first launch.
func New(cfg Config) (*Manager, error) { return newManager(cfg, defaultLimits()) }

func newManager(cfg Config, lim limits) (*Manager, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Environ == nil {
		cfg.Environ = os.Environ()
	}
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = defaultIdle
	}
	if cfg.Dir == "" {
		cfg.Dir = filepath.Join(os.TempDir(), "outrunner-terminals-"+strconv.Itoa(os.Getuid()))
	}
	m := &Manager{
		cfg: cfg, lim: lim, news: newHerald(), stopping: make(chan struct{}),
		sessions: map[string][]*terminal{}, births: map[place]*birth{},
	}
	if err := m.findTmux(); err != nil {
		return nil, err
	}
	if m.tmux == "" {
		return m, nil
	}
	root, err := rootFolder(cfg.Dir)
	if err != nil {
		return nil, err
	}
	m.root = root
	if m.old == nil {
		m.adopt()
	}
	return m, nil
}

// findTmux decides what carries the terminals.
func (m *Manager) findTmux() error {
	if m.cfg.Plain {
		return nil
	}
	name := m.cfg.Tmux
	if name == "" {
		name = "tmux"
	}
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case m.cfg.Tmux == "" && errors.Is(err, exec.ErrNotFound):
		m.cfg.Log.Warn("tmux is not installed: terminals end with the runner")
		return nil
	default:
		return fmt.Errorf("finding tmux: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("finding tmux: %w", err)
	}
	m.tmux = path
	if m.old = checkVersion(context.Background(), path); m.old != nil {
		m.cfg.Log.Warn("tmux cannot be used", "err", m.old)
	}
	return nil
}

// Run closes idle terminals until ctx ends, and then stops.
func (m *Manager) Run(ctx context.Context) error {
	m.reap(ctx)
	m.Stop()
	return nil
}

// Stop lets go of all terminals, which go on without us, and of their viewers,
// and waits until that is done. Terminals that no tmux carries end.
func (m *Manager) Stop() {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	var all []*terminal
	for _, list := range m.sessions {
		all = append(all, list...)
	}
	m.mu.Unlock()
	var leaving sync.WaitGroup
	for _, t := range all {
		leaving.Go(t.back.leave)
	}
	leaving.Wait()
	m.serving.Wait()
	if first {
		for _, t := range all {
			m.clear(t)
		}
		close(m.stopping)
		m.news.close()
	}
}
