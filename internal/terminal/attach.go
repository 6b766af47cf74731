package terminal

import (
	"context"
	"slices"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// Attach joins a viewer to a terminal until either ends. A terminal whose
// program has ended and that is kept shows its last screen.
func (m *Manager) Attach(ctx context.Context, session, id string, port wire.Viewer, readOnly bool) wire.Detached {
	t := m.await(ctx, place{session, id})
	if t == nil {
		return detachedMissing
	}
	return t.attach(ctx, port, readOnly)
}

// await finds a terminal, and waits a moment for one that is being launched: a
// browser may be faster than we are (T19).
func (m *Manager) await(ctx context.Context, at place) *terminal {
	limit := time.NewTimer(m.lim.launchWait)
	defer limit.Stop()
	for {
		m.mu.Lock()
		t, b := m.find(at), m.births[at]
		m.mu.Unlock()
		if t != nil || b == nil {
			return t
		}
		select {
		case <-b.done:
		case <-limit.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

func (t *terminal) attach(ctx context.Context, port wire.Viewer, readOnly bool) wire.Detached {
	v := &viewer{
		t: t, port: port, readOnly: readOnly, speed: maxSpeed,
		wake: make(chan struct{}, 1), told: make(chan struct{}), active: t.now(),
	}
	t.mu.Lock()
	switch {
	case t.state == left:
		t.mu.Unlock()
		return detachedStop
	case t.state == ended && !t.spec.KeepAfterExit:
		t.mu.Unlock()
		return detachedMissing
	}
	t.viewers = append(t.viewers, v)
	t.touched = t.now()
	first := t.spec.StartOnAttach && !t.started
	t.started = true
	t.mu.Unlock()
	if first {
		_ = t.typing.put(ctx, keystroke{start: true}) // the terminal, or the viewer, has ended
	}
	defer t.detach(v)
	return v.serve(ctx)
}

// detach takes a viewer out, and gives its size to another.
func (t *terminal) detach(v *viewer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.viewers = slices.DeleteFunc(t.viewers, func(o *viewer) bool { return o == v })
	t.touched = t.now()
	if t.typist == v {
		t.typist = nil
	}
	if next := t.owner.left(v, t.viewers); next != nil && t.state == running {
		t.typing.want(next.cols, next.rows)
	}
	signal(t.viewerLeft)
}
