package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/outrunner/outrunner/runner/wire"
)

// A Manager has all terminals of one runner. It is a runner.Terminals.
type Manager struct {
	cfg  Config
	lim  limits
	root string
	tmux string // "" serves plain PTYs
	old  error  // why the tmux that is there does not do
	news *herald

	mu       sync.Mutex
	sessions map[string][]*terminal // in the order of their launch
	births   map[place]*birth
	closed   bool
	stopping chan struct{}
	serving  sync.WaitGroup // counts the terminals' goroutines
}

// A place is where a terminal is found.
type place struct{ session, id string }

// A birth is a launch under way.
type birth struct{ done chan struct{} }

var errStopping = errors.New("the runner is stopping")

// OnNews has fn called with what happens to terminals, one call at a time, in
// order. It is set once; what happened before is told first.
func (m *Manager) OnNews(fn func(wire.TerminalNews)) { m.news.to(fn) }

// find needs the lock.
func (m *Manager) find(at place) *terminal {
	for _, t := range m.sessions[at.session] {
		if t.describe().ID() == at.id {
			return t
		}
	}
	return nil
}

// drop needs the lock. It takes this terminal out and no later one of the same
// id (T20).
func (m *Manager) drop(session string, t *terminal) {
	rest := slices.DeleteFunc(m.sessions[session], func(o *terminal) bool { return o == t })
	if len(rest) == 0 {
		delete(m.sessions, session)
		return
	}
	m.sessions[session] = rest
}

// running finds a terminal whose program runs, as far as we know.
func (m *Manager) running(session, id string) (*terminal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.find(place{session, id})
	if t == nil || !t.isRunning() {
		return nil, missing(id)
	}
	return t, nil
}

// List returns the terminals of a session that run, in the order of their
// launch.
func (m *Manager) List(session string) []wire.Terminal {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []wire.Terminal
	for _, t := range m.sessions[session] {
		if d := t.describe(); d.Running {
			list = append(list, d)
		}
	}
	return list
}

// Get returns a terminal that runs, and makes sure that it does.
func (m *Manager) Get(ctx context.Context, session, id string) (wire.Terminal, error) {
	t, err := m.running(session, id)
	if err != nil {
		return wire.Terminal{}, err
	}
	// A question that fails is no death (T33).
	if alive, err := t.back.alive(ctx); err == nil && !alive {
		return wire.Terminal{}, missing(id)
	}
	return t.describe(), nil
}

// Launch starts a terminal, or returns the one that runs under its session,
// name and key.
func (m *Manager) Launch(ctx context.Context, spec wire.TerminalSpec) (wire.Terminal, error) {
	spec, path, err := m.check(spec)
	if err != nil {
		return wire.Terminal{}, err
	}
	at := place{spec.Session, wire.Terminal{Name: spec.Name, Key: spec.Key}.ID()}
	for {
		there, other, own, err := m.claim(at, spec)
		var waitFor <-chan struct{}
		switch {
		case err != nil:
			return wire.Terminal{}, err
		case own != nil:
			return m.bear(ctx, at, own, spec, path)
		case other != nil:
			waitFor = other.done
		default:
			if alive, err := there.back.alive(ctx); alive || err != nil {
				return there.describe(), ctx.Err()
			}
			m.retire(there)
			waitFor = there.gone
		}
		select {
		case <-waitFor:
		case <-ctx.Done():
			return wire.Terminal{}, fmt.Errorf("waiting for the terminal %s before this one: %w", at.id, context.Cause(ctx))
		}
	}
}

// bear starts a terminal whose birth was claimed, and enters it.
func (m *Manager) bear(ctx context.Context, at place, own *birth, spec wire.TerminalSpec, path string) (wire.Terminal, error) {
	t, err := m.start(ctx, spec, path)
	m.mu.Lock()
	delete(m.births, at)
	closed := m.closed
	entered := err == nil && !closed && m.enter(t)
	m.mu.Unlock()
	close(own.done)
	switch {
	case err != nil:
		return wire.Terminal{}, err
	case entered:
		return t.describe(), nil
	case closed:
		return wire.Terminal{}, errors.Join(errStopping, m.discard(context.WithoutCancel(ctx), t)) // it has its own limit
	}
	return wire.Terminal{}, m.stillborn(ctx, t)
}

// claim finds the terminal of a place, or a launch of it, or begins one.
func (m *Manager) claim(at place, spec wire.TerminalSpec) (there *terminal, other, own *birth, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, nil, nil, errStopping
	}
	if other = m.births[at]; other != nil {
		return nil, other, nil, nil
	}
	if there = m.find(at); there != nil {
		if there.spec.Name != spec.Name || there.spec.Key != spec.Key {
			if there.isRunning() {
				return nil, nil, nil, conflict("the id %s is that of the terminal %s:%s: choose another key", at.id, there.spec.Name, there.spec.Key)
			}
		}
		return there, nil, nil, nil
	}
	own = &birth{done: make(chan struct{})}
	m.births[at] = own
	return nil, nil, own, nil
}

// enter needs the lock. It puts a terminal into the books, unless it has ended
// already. The news is told only now, so that whoever hears it finds the terminal
// (T19).
func (m *Manager) enter(t *terminal) bool {
	d := t.describe()
	if !d.Running || m.find(place{d.Session, d.ID()}) != nil {
		return false
	}
	t.registered = true
	m.sessions[d.Session] = append(m.sessions[d.Session], t)
	m.news.tell(wire.TerminalNews{Kind: wire.TerminalCreated, Terminal: d})
	return true
}

// Transfer gives a terminal to another session; viewers stay attached.
func (m *Manager) Transfer(_ context.Context, session, id, target string) (wire.Terminal, error) {
	if err := checkText("session", target); err != nil {
		return wire.Terminal{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.find(place{session, id})
	if t == nil || !t.isRunning() {
		return wire.Terminal{}, missing(id)
	}
	if target == session {
		return t.describe(), nil
	}
	at := place{target, id}
	if held := m.find(at); held != nil && held.isRunning() || m.births[at] != nil {
		return wire.Terminal{}, conflict("session %s has a terminal %s already", target, id)
	}
	if err := t.moveTo(target); err != nil {
		return wire.Terminal{}, err
	}
	m.drop(session, t)
	m.sessions[target] = append(m.sessions[target], t)
	return t.describe(), nil
}

// Close ends a terminal and what runs in it.
func (m *Manager) Close(ctx context.Context, session, id string) error {
	m.mu.Lock()
	t := m.find(place{session, id})
	if t != nil {
		m.drop(session, t)
	}
	m.mu.Unlock()
	if t == nil {
		return missing(id)
	}
	return m.discard(ctx, t)
}

// CloseAll ends all terminals of a session.
func (m *Manager) CloseAll(ctx context.Context, session string) error {
	m.mu.Lock()
	all := m.sessions[session]
	delete(m.sessions, session)
	m.mu.Unlock()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, t := range all {
		closing.Go(func() { errs[i] = m.discard(ctx, t) })
	}
	closing.Wait()
	return errors.Join(errs...)
}

// Type types text as it is, and then presses keys by tmux's names of them.
func (m *Manager) Type(ctx context.Context, session, id, text string, keys []string) error {
	t, err := m.running(session, id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, typedLimit)
	defer cancel()
	if text != "" {
		if err := t.typeAndWait(ctx, keystroke{data: []byte(text)}); err != nil {
			return err
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return t.typeAndWait(ctx, keystroke{keys: keys})
}

// Screen returns what a terminal shows as plain text, with up to so many lines
// of its history. One whose program ended still shows its last screen while it
// is kept.
func (m *Manager) Screen(_ context.Context, session, id string, history int) (string, error) {
	m.mu.Lock()
	t := m.find(place{session, id})
	m.mu.Unlock()
	if t == nil {
		return "", missing(id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.model.Text(min(max(history, 0), maxBack)), nil
}

// check makes a spec complete, or refuses it.
func (m *Manager) check(spec wire.TerminalSpec) (wire.TerminalSpec, string, error) {
	if m.old != nil {
		return spec, "", m.old
	}
	for _, word := range []struct{ what, text string }{
		{"session", spec.Session}, {"name", spec.Name}, {"key", spec.Key}, {"command", spec.Command}, {"folder", spec.Cwd},
	} {
		if word.text == "" && word.what != "folder" {
			return spec, "", refuse("a terminal needs a %s", word.what)
		}
		if err := checkText(word.what, word.text); err != nil {
			return spec, "", err
		}
	}
	size := len(spec.Command)
	for _, arg := range spec.Args {
		if strings.ContainsRune(arg, 0) {
			return spec, "", refuse("an argument of a terminal's command has a NUL byte")
		}
		size += len(arg) + 1
	}
	if size > maxArgs {
		return spec, "", refuse("the command of a terminal has %d bytes of arguments, and %d are the limit: put them into a file", size, maxArgs)
	}
	if spec.Scrollback == 0 {
		spec.Scrollback = defaultBack
	}
	spec.Scrollback = min(max(spec.Scrollback, 0), maxBack)
	return m.place(spec)
}

// checkText refuses what no name can be (T28).
func checkText(what, text string) error {
	if strings.ContainsAny(text, "\x00\n\r") {
		return refuse("the %s of a terminal has a NUL byte or a line break", what)
	}
	return nil
}
