package harness

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/outrunner/outrunner/internal/harness/turn"
)

// earlyLimit bounds how many interrupts wait for turns that have not begun. A
// turn's id is never used again, so one that never begins only takes a place.
const earlyLimit = 256

var (
	errStopping = errors.New("the runner is stopping")
	errTwice    = errors.New("this turn is running already")
)

// key names a turn.
type key struct{ session, turn string }

// registry knows the turns that run.
type registry struct {
	mu      sync.Mutex
	live    map[key]entry
	early   []key // interrupts that came before their turns, oldest first
	refused bool
}

type entry struct {
	turn running
	gone chan struct{} // closed when the turn has ended
}

func newRegistry() *registry { return &registry{live: make(map[key]entry)} }

// enter adds a turn; leave must be called when it has ended.
func (r *registry) enter(k key, t running) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused {
		return nil, errStopping
	}
	if _, ok := r.live[k]; ok {
		return nil, errTwice
	}
	e := entry{turn: t, gone: make(chan struct{})}
	r.live[k] = e
	if i := slices.Index(r.early, k); i >= 0 {
		r.early = slices.Delete(r.early, i, i+1)
		t.Stop(turn.Interrupted)
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.live, k)
		close(e.gone)
	}, nil
}

// interrupt stops a turn now, or when it enters.
func (r *registry) interrupt(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.live[k]; ok {
		e.turn.Stop(turn.Interrupted)
		return
	}
	if len(r.early) == earlyLimit {
		r.early = slices.Delete(r.early, 0, 1)
	}
	r.early = append(r.early, k)
}

// find returns a turn that runs.
func (r *registry) find(k key) (running, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.live[k]
	return e.turn, ok
}

// end stops the turns that match and waits until they have ended.
func (r *registry) end(ctx context.Context, why turn.Reason, match func(key) bool) error {
	var ending []entry
	r.mu.Lock()
	for k, e := range r.live {
		if match(k) {
			ending = append(ending, e)
			e.turn.Stop(why)
		}
	}
	r.mu.Unlock()
	for _, e := range ending {
		select {
		case <-e.gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// refuse lets no more turns in.
func (r *registry) refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = true
}
