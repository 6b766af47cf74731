package terminal

import (
	"sync"

	"github.com/outrunner/outrunner/runner/wire"
)

// maxNews is where news of activity is dropped while somebody is slow to hear
// it; what is created and what ends is always told.
const maxNews = 256

// A herald tells the news, one at a time and in order, and keeps it until there
// is somebody to tell.
type herald struct {
	mu    sync.Mutex
	queue []wire.TerminalNews
	wake  chan struct{}
	stop  chan struct{}
	done  sync.WaitGroup
}

func newHerald() *herald {
	return &herald{wake: make(chan struct{}, 1), stop: make(chan struct{})}
}

func (h *herald) tell(n wire.TerminalNews) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.Kind == wire.TerminalActive && len(h.queue) >= maxNews {
		return
	}
	h.queue = append(h.queue, n)
	signal(h.wake)
}

// to starts telling.
func (h *herald) to(fn func(wire.TerminalNews)) {
	h.done.Go(func() {
		for {
			h.mu.Lock()
			queue := h.queue
			h.queue = nil
			h.mu.Unlock()
			for _, n := range queue {
				fn(n)
			}
			if len(queue) > 0 {
				continue
			}
			select {
			case <-h.wake:
			case <-h.stop:
				return
			}
		}
	})
}

// close waits until all that was told has been heard.
func (h *herald) close() {
	close(h.stop)
	h.done.Wait()
}
