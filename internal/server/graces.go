package server

import (
	"context"
	"sync"
	"time"
)

// graces has, per runner that is away, what ends the wait for it.
type graces struct {
	mu  sync.Mutex
	all map[string]grace
}

type grace struct {
	cancel context.CancelFunc
	until  time.Time
}

func (g *graces) begin(runner string, until time.Time, cancel context.CancelFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = make(map[string]grace)
	}
	if was, ok := g.all[runner]; ok {
		was.cancel()
	}
	g.all[runner] = grace{cancel, until}
}

// waiting says whether a runner that is away may still come back.
func (g *graces) waiting(runner string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	is, ok := g.all[runner]
	return ok && time.Now().Before(is.until)
}

func (g *graces) end(runner string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if is, ok := g.all[runner]; ok {
		is.cancel()
		delete(g.all, runner)
	}
}
