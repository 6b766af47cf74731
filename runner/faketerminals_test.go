package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/outrunner/outrunner/runner/wire"
)

// fakeTerminals keeps terminals in memory. What is typed into one is what it
// shows; a viewer gets it back.
type fakeTerminals struct {
	mu    sync.Mutex
	list  []wire.Terminal
	specs []wire.TerminalSpec
	typed map[string]string // by id
	calls int
	news  func(wire.TerminalNews)
	late  bool          // the news of a launch come when the test says
	hold  chan struct{} // a launch waits for it
	began chan struct{} // and says so
	fail  error
	stuck string // the id of one that does not end
}

func newFakeTerminals() *fakeTerminals { return &fakeTerminals{typed: map[string]string{}} }

func (f *fakeTerminals) Launch(ctx context.Context, spec wire.TerminalSpec) (wire.Terminal, error) {
	f.mu.Lock()
	if f.fail != nil {
		defer f.mu.Unlock()
		return wire.Terminal{}, f.fail
	}
	hold := f.hold
	f.mu.Unlock()
	if hold != nil {
		f.began <- struct{}{}
		select {
		case <-hold:
		case <-ctx.Done():
			return wire.Terminal{}, ctx.Err()
		}
	}
	f.mu.Lock()
	f.specs = append(f.specs, spec)
	made := wire.Terminal{
		Session: spec.Session, Name: spec.Name, Key: spec.Key, Cwd: spec.Cwd, Running: true, Socket: "/tmp/x/tmux.sock", Target: "main",
	}
	for _, t := range f.list {
		if t.Session == spec.Session && t.ID() == made.ID() {
			f.mu.Unlock()
			if t.Name != made.Name || t.Key != made.Key {
				return wire.Terminal{}, wire.ErrConflict
			}
			return t, nil
		}
	}
	f.calls++
	made.Generation = fmt.Sprint("g", f.calls)
	f.list = append(f.list, made)
	late := f.late
	f.mu.Unlock()
	if !late {
		f.news(wire.TerminalNews{Kind: wire.TerminalCreated, Terminal: made})
	}
	return made, nil
}

// adopt is a terminal that was there before.
func (f *fakeTerminals) adopt(t wire.Terminal) {
	f.mu.Lock()
	f.list = append(f.list, t)
	f.mu.Unlock()
	f.news(wire.TerminalNews{Kind: wire.TerminalCreated, Terminal: t})
}

// exit is the end of a program.
func (f *fakeTerminals) exit(session, id string) {
	t, _ := f.drop(session, id)
	f.news(wire.TerminalNews{Kind: wire.TerminalExited, Terminal: t, Exit: wire.TerminalExit{Status: 3}})
}

func (f *fakeTerminals) drop(session, id string) (wire.Terminal, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n, t := range f.list {
		if t.Session == session && t.ID() == id {
			f.list = slices.Delete(f.list, n, n+1)
			return t, nil
		}
	}
	return wire.Terminal{}, wire.ErrNotFound
}

func (f *fakeTerminals) List(session string) []wire.Terminal {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.list), func(t wire.Terminal) bool { return t.Session != session })
}

func (f *fakeTerminals) Get(_ context.Context, session, id string) (wire.Terminal, error) {
	for _, t := range f.List(session) {
		if t.ID() == id {
			return t, nil
		}
	}
	return wire.Terminal{}, wire.ErrNotFound
}

func (f *fakeTerminals) Transfer(ctx context.Context, session, id, target string) (wire.Terminal, error) {
	if _, err := f.Get(ctx, target, id); err == nil {
		return wire.Terminal{}, wire.ErrConflict
	}
	t, err := f.drop(session, id)
	if err != nil {
		return t, err
	}
	t.Session = target
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, t)
	return t, nil
}

func (f *fakeTerminals) Close(_ context.Context, session, id string) error {
	_, err := f.drop(session, id)
	return err
}

func (f *fakeTerminals) CloseAll(ctx context.Context, session string) error {
	for _, t := range f.List(session) {
		if t.ID() != f.stuck {
			_ = f.Close(ctx, session, t.ID()) // it was there
		}
	}
	if f.stuck != "" {
		return errors.New("it does not end")
	}
	return nil
}

func (f *fakeTerminals) Attach(ctx context.Context, session, id string, viewer wire.Viewer, readOnly bool) wire.Detached {
	if _, err := f.Get(ctx, session, id); err != nil {
		return wire.Detached{Code: 4404, Reason: "terminal resource not found or not running"}
	}
	for {
		data, text, err := viewer.Read(ctx)
		if err != nil {
			return wire.Detached{Code: 1000}
		}
		if string(data) == "panic" {
			panic("at the disco")
		}
		if err := viewer.Write(ctx, fmt.Appendf(nil, "%s text=%v ro=%v", data, text, readOnly), false); err != nil {
			return wire.Detached{Code: 1000}
		}
	}
}

func (f *fakeTerminals) Type(_ context.Context, session, id, text string, keys []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	f.typed[session+"/"+id] += text + strings.Join(keys, "+")
	return nil
}

func (f *fakeTerminals) Screen(_ context.Context, session, id string, history int) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return "", f.fail
	}
	return fmt.Sprint(f.typed[session+"/"+id], "|", history), nil
}

func (f *fakeTerminals) OnNews(fn func(wire.TerminalNews)) { f.news = fn }

func (f *fakeTerminals) started() []wire.TerminalSpec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.specs)
}

func (f *fakeTerminals) failing(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = err
}
