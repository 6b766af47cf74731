package runner

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/outrunner/outrunner/runner/core"
)

// activity tells how long nobody has asked for anything.
type activity struct {
	mu   sync.Mutex
	open int // requests
	last time.Time
}

// enter notes that somebody asks for something, until the function is called.
func (a *activity) enter() (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.open--
		a.last = time.Now()
	}
}

func (a *activity) quiet() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open > 0 {
		return 0
	}
	return time.Since(a.last)
}

// RetireAfter waits until no request has come for so long, nothing is under way
// and no terminal runs, and then ends all session streams with the done marker (sessions.md 6.8).
// From then on the runner takes nothing on: end its connection and its process.
// Without a connection it waits on: it cannot know what waits for it.
// It returns early, with ctx's error, when ctx ends.
func (r *Runner) RetireAfter(ctx context.Context, limit time.Duration) error {
	look := time.NewTicker(min(time.Minute, max(limit/30, time.Millisecond)))
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
		if r.active.quiet() >= limit && !r.terminals.running() && r.retire(ctx) {
			break
		}
	}
	drain, cancel := context.WithTimeout(ctx, r.timing.Retire)
	defer cancel()
	r.driver.outlets.closeAll(endDone)
	r.driver.outlets.drained(drain)
	return ctx.Err()
}

// retire asks the core to take nothing on.
func (r *Runner) retire(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, r.timing.Request)
	defer cancel()
	id, reply := r.driver.replies.open()
	defer r.driver.replies.close(id)
	if r.loop.request(ctx, core.Retire{Req: id}) != nil {
		return false
	}
	select {
	case rep := <-reply:
		return rep.Status == http.StatusOK
	case <-ctx.Done():
		return false
	}
}
