package turn

import (
	"sync/atomic"
	"time"
)

// Pulse knows how long a program has been silent. While its output waits for
// a slow reader, nobody can say that it is. The zero Pulse is paused.
type Pulse struct {
	last atomic.Pointer[time.Time] // nil: paused
}

// Beat: the program has written something, or is about to be listened to.
func (p *Pulse) Beat() {
	now := time.Now()
	p.last.Store(&now)
}

// Nudge is a beat that does not end a pause.
func (p *Pulse) Nudge() {
	if last := p.last.Load(); last != nil {
		now := time.Now()
		p.last.CompareAndSwap(last, &now)
	}
}

// Pause holds the pulse until the next beat.
func (p *Pulse) Pause() { p.last.Store(nil) }

// Quiet is the time since the last beat, 0 while paused.
func (p *Pulse) Quiet() time.Duration {
	last := p.last.Load()
	if last == nil {
		return 0
	}
	return time.Since(*last)
}
