package terminal

import (
	"context"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// reap closes idle terminals until ctx ends or the manager stops.
func (m *Manager) reap(ctx context.Context) {
	tick := time.NewTicker(m.lim.reapInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.stopping:
			return
		case <-tick.C:
		}
		m.reapOnce(ctx)
	}
}

func (m *Manager) reapOnce(ctx context.Context) {
	if m.cfg.Reapable == nil || m.cfg.IdleTimeout < 0 {
		return
	}
	m.mu.Lock()
	var all []*terminal
	for _, list := range m.sessions {
		all = append(all, list...)
	}
	m.mu.Unlock()
	for _, t := range all {
		if !m.idle(ctx, t) {
			continue
		}
		d := t.describe()
		if err := m.Close(ctx, d.Session, d.ID()); err != nil {
			t.log.Warn("idle terminal not closed", "err", err)
			continue
		}
		d.Running = false
		m.cfg.Log.Info("idle terminal closed", "session", d.Session, "terminal", d.ID())
		m.news.tell(wire.TerminalNews{Kind: wire.TerminalExited, Terminal: d})
	}
}

// idle tells whether nothing was printed, no viewer did anything, nobody typed by
// another client, and nobody says that it is in use.
func (m *Manager) idle(ctx context.Context, t *terminal) bool {
	d := t.describe()
	if !d.Running || !m.cfg.Reapable(d) {
		return false
	}
	t.mu.Lock()
	last := t.touched
	if t.changed.After(last) {
		last = t.changed
	}
	t.mu.Unlock()
	if t.now().Sub(last) < m.cfg.IdleTimeout {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	if quiet, ok := t.back.touched(ctx); ok && time.Duration(quiet)*time.Second < m.cfg.IdleTimeout {
		return false
	}
	return m.cfg.Busy == nil || !m.cfg.Busy(d)
}
