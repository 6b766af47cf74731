package server

import (
	"context"
	"sync"
)

// graces has, per runner that is away, what ends the wait for it.
type graces struct {
	mu  sync.Mutex
	all map[string]context.CancelFunc
}

func (g *graces) begin(runner string, cancel context.CancelFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = make(map[string]context.CancelFunc)
	}
	if was := g.all[runner]; was != nil {
		was()
	}
	g.all[runner] = cancel
}

func (g *graces) end(runner string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if cancel := g.all[runner]; cancel != nil {
		cancel()
		delete(g.all, runner)
	}
}
