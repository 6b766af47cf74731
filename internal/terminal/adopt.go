package terminal

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// adopt takes over the terminals of runners that have ended. Whatever of them
// does not live any more is cleared away; what another runner holds, or another
// container, is left alone.
func (m *Manager) adopt() {
	entries, err := os.ReadDir(m.root)
	if err != nil {
		m.cfg.Log.Warn("terminals of earlier runners not looked for", "dir", m.root, "err", err)
		return
	}
	found := make([]*terminal, len(entries))
	var looking sync.WaitGroup
	for i, entry := range entries {
		if !entry.IsDir() || !isGeneration(entry.Name()) {
			continue
		}
		looking.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
			defer cancel()
			t, err := m.adoptOne(ctx, filepath.Join(m.root, entry.Name()))
			switch {
			case errors.Is(err, errHeld):
				m.cfg.Log.Info("terminal left to another runner", "terminal", entry.Name())
			case err != nil:
				m.cfg.Log.Warn("terminal of an earlier runner not taken over", "folder", entry.Name(), "err", err)
			}
			found[i] = t
		})
	}
	looking.Wait()
	found = slices.DeleteFunc(found, func(t *terminal) bool { return t == nil })
	slices.SortFunc(found, func(a, b *terminal) int { return a.made.Compare(b.made) })
	m.mu.Lock()
	entered := slices.DeleteFunc(slices.Clone(found), func(t *terminal) bool { return !m.enter(t) })
	m.mu.Unlock()
	for _, t := range found {
		if slices.Contains(entered, t) {
			continue
		}
		// It has ended meanwhile, or there is an older one of its id.
		if err := m.discard(context.Background(), t); err != nil {
			m.cfg.Log.Warn("terminal of an earlier runner not cleared away", "terminal", t.generation, "err", err)
		}
	}
}

// adoptOne takes one folder over; nil is that there is nothing to take.
func (m *Manager) adoptOne(ctx context.Context, path string) (*terminal, error) {
	f, err := holdFolder(path)
	if err != nil {
		return nil, err
	}
	known, err := f.load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.remove() // its runner died before it started anything
	}
	if err != nil {
		f.release()
		return nil, err
	}
	own := ownClaim()
	switch {
	case known.Owner.Boot != own.Boot:
		return nil, f.remove()
	case known.Owner.Namespace != own.Namespace:
		f.release()
		return nil, nil // another container's: its processes are not ours to judge
	}
	spec := known.Spec
	spec.Session = known.Session
	t := m.newTerminal(spec, known.Generation, known.Created)
	t.folder = f
	t.started = true // by its first viewer, or by the one who attaches now, who says so again
	pane := m.newPane(t, environment(m.cfg.Environ, spec, t.generation))
	t.back = pane
	pane.awaitOthers(ctx)
	if err := pane.reconnect(t); err != nil {
		if errors.Is(err, errGone) {
			m.cfg.Log.Info("terminal has ended meanwhile", "terminal", known.Generation, "err", err)
			return nil, f.remove()
		}
		f.release()
		return nil, err
	}
	shot, _ := os.ReadFile(filepath.Join(path, screenFile)) // a runner that was killed has left none
	m.serving.Go(func() { m.serve(t) })
	if alive, err := pane.alive(ctx); err == nil && !alive {
		m.cfg.Log.Info("program has ended meanwhile", "terminal", known.Generation)
		return nil, m.discard(ctx, t)
	}
	if len(shot) > 0 {
		t.recallScreen(shot)
		_ = os.Remove(filepath.Join(path, screenFile)) // it is of no use a second time, and does no harm
	}
	return t, t.save()
}
