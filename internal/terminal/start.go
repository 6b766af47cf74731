package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/outrunner/outrunner/internal/terminal/screen"
	"github.com/outrunner/outrunner/runner/wire"
)

// place finds the program and the folder of a spec, or says what is wrong.
func (m *Manager) place(spec wire.TerminalSpec) (wire.TerminalSpec, string, error) {
	if spec.Cwd == "" {
		dir, err := os.Getwd()
		if err != nil {
			return spec, "", fmt.Errorf("finding the folder of a terminal: %w", err)
		}
		spec.Cwd = dir
	}
	if !filepath.IsAbs(spec.Cwd) {
		return spec, "", refuse("the folder of a terminal must be absolute, and %q is not", spec.Cwd)
	}
	if info, err := os.Stat(spec.Cwd); err != nil || !info.IsDir() {
		return spec, "", refuse("the folder %s of a terminal is not there: make it, or choose another", spec.Cwd)
	}
	path, err := findProgram(spec.Command, spec.Cwd, lookup(environment(m.cfg.Environ, spec, ""), "PATH"))
	if err != nil {
		return spec, "", err
	}
	return spec, path, nil
}

// start makes a terminal and starts its program. The terminal is not in the
// books yet.
func (m *Manager) start(ctx context.Context, spec wire.TerminalSpec, path string) (*terminal, error) {
	t := m.newTerminal(spec, newGeneration(), time.Now())
	env := environment(m.cfg.Environ, spec, t.generation)
	var err error
	if m.tmux == "" {
		t.back, err = startPTY(spec, path, env)
	} else {
		err = m.startTmux(ctx, t, path, env)
	}
	if err != nil {
		return nil, fmt.Errorf("starting the terminal %s:%s: %w", spec.Name, spec.Key, err)
	}
	m.serving.Go(func() { m.serve(t) })
	if alive, err := t.back.alive(ctx); err == nil && alive {
		return t, nil
	} else if err != nil {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("starting the terminal %s:%s: %w", spec.Name, spec.Key, err), m.discard(limited, t))
	}
	return nil, m.stillborn(ctx, t)
}

// stillborn says how a program ended that ended at once.
func (m *Manager) stillborn(ctx context.Context, t *terminal) error {
	select {
	case <-t.over:
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	err := m.discard(limited, t)
	t.mu.Lock()
	exit := t.exit
	t.mu.Unlock()
	how := fmt.Sprintf("status %d", exit.Status)
	if exit.Signal != 0 {
		how = fmt.Sprintf("signal %d", exit.Signal)
	}
	text := fmt.Errorf("the program %s of the terminal %s:%s ended at once with %s: %s",
		t.spec.Command, t.spec.Name, t.spec.Key, how, strings.TrimSpace(exit.Tail))
	return errors.Join(text, err)
}

func (m *Manager) newTerminal(spec wire.TerminalSpec, generation string, made time.Time) *terminal {
	return &terminal{
		spec: spec, generation: generation, made: made, lim: m.lim, now: time.Now, news: m.news.tell,
		log:    m.cfg.Log.With("terminal", generation),
		typing: newTyping(), over: make(chan struct{}), gone: make(chan struct{}), viewerLeft: make(chan struct{}, 1),
		session: spec.Session, model: screen.New(startCols, startRows, spec.Scrollback), filter: screen.Filter{Clipboard: m.cfg.Clipboard},
		owner: owner{quiet: m.lim.resizeQuiet}, touched: time.Now(), changed: time.Now(),
	}
}

func (m *Manager) newPane(t *terminal, env []string) *tmuxPane {
	return &tmuxPane{
		tmux: m.tmux, env: env, socket: t.folder.socket(), history: t.spec.Scrollback, pastes: "outrunner-" + t.generation + "-",
		log: t.log, look: make(chan struct{}, 1), quit: make(chan struct{}),
	}
}

// startTmux starts a terminal's tmux. On an error nothing of it is left.
func (m *Manager) startTmux(ctx context.Context, t *terminal, path string, env []string) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	var err error
	if t.folder, err = makeFolder(m.root, t.generation); err != nil {
		return err
	}
	pane := m.newPane(t, env)
	t.back = pane
	if err = t.save(); err == nil {
		cmd := pane.control(launchArgs(m.tmux, pane.socket, t.spec, program(m.tmux, pane.socket, t.spec, path)))
		cmd.Dir = t.spec.Cwd
		if pane.client, err = startControl(cmd); err == nil {
			err = pane.greet(ctx, pane.client)
		}
	}
	if err == nil {
		return nil
	}
	limited, stop := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer stop()
	if pane.client == nil {
		return errors.Join(err, t.folder.remove())
	}
	return errors.Join(err, pane.kill(limited), t.folder.remove())
}

// save writes down what the next runner must know.
func (t *terminal) save() error {
	return t.folder.save(record{Generation: t.generation, Session: t.session, Created: t.made, Spec: t.spec, Owner: ownClaim()})
}

// moveTo gives the terminal to another session.
func (t *terminal) moveTo(session string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.session
	t.session = session
	if t.folder == nil {
		return nil
	}
	if err := t.save(); err != nil {
		t.session = before
		return err
	}
	return nil
}

// serve carries a terminal to its end, and tells it.
func (m *Manager) serve(t *terminal) {
	defer close(t.gone)
	typed := make(chan struct{})
	go func() {
		defer close(typed)
		t.typeOut()
	}()
	end := t.back.run(t)
	t.finish(end)
	<-typed
	t.awaitViewers()
	if end.left {
		t.keepScreen()
		return
	}
	m.mu.Lock()
	told := t.registered && !t.isClosing()
	kept := told && t.spec.KeepAfterExit && !m.closed
	if !kept && t.registered {
		m.drop(t.describe().Session, t)
	}
	m.mu.Unlock()
	if !kept {
		ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()
		if err := t.bury(ctx); err != nil {
			t.log.Warn("terminal not cleared away", "err", err)
		}
	}
	if told {
		m.news.tell(wire.TerminalNews{Kind: wire.TerminalExited, Terminal: t.describe(), Exit: end.exit})
	}
}

// discard ends a terminal that is not in the books any more, and clears it away.
// Its end is no news.
func (m *Manager) discard(ctx context.Context, t *terminal) error {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	t.mu.Lock()
	t.closing = true
	t.mu.Unlock()
	err := t.back.kill(ctx)
	select {
	case <-t.gone:
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("closing the terminal %s:%s: %w", t.spec.Name, t.spec.Key, ctx.Err()))
	}
	return errors.Join(err, t.bury(ctx))
}

// retire makes room for a launch: a terminal that is kept after its program's
// end is cleared away; the end of one that has just ended is on its way.
func (m *Manager) retire(t *terminal) {
	if t.isRunning() {
		return
	}
	<-t.gone
	m.mu.Lock()
	m.drop(t.describe().Session, t)
	m.mu.Unlock()
	m.clear(t)
}

// clear clears away what is kept of a terminal whose program has ended.
func (m *Manager) clear(t *terminal) {
	t.mu.Lock()
	over := t.state == ended
	t.mu.Unlock()
	if !over {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if err := m.discard(ctx, t); err != nil {
		t.log.Warn("terminal not cleared away", "err", err)
	}
}
