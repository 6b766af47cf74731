package exec

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/outrunner/outrunner/internal/harness/guard"
)

// watch stops the turn when its context or its time ends, until over is closed.
func (r *Run) watch(ctx context.Context, proc *guard.Proc, over <-chan struct{}) {
	idle, deadline, hung := time.NewTimer(r.cfg.IdleTimeout), time.NewTimer(r.cfg.TurnTimeout), time.NewTimer(0)
	defer idle.Stop()
	defer deadline.Stop()
	defer hung.Stop()
	hung.Stop()
	done, stopped := ctx.Done(), r.stopped
	for {
		select {
		case <-over:
			return
		case <-done:
			done = nil
			r.Stop(cancelled)
		case <-deadline.C:
			r.Stop(tooLong)
		case <-idle.C:
			if left := r.cfg.IdleTimeout - r.pulse.quiet(); left > 0 {
				idle.Reset(left)
			} else {
				r.Stop(silent)
			}
		case <-stopped:
			stopped = nil
			hung.Reset(r.cfg.InterruptGrace + r.cfg.TerminateGrace + r.cfg.GuardLimit)
		case <-hung.C:
			r.cfg.Log.Error("a guard did not answer and is killed")
			proc.Abandon()
		}
	}
}

// pulse knows how long a program has been silent. While its output waits for
// a slow reader, nobody can say that it is.
type pulse struct {
	last atomic.Pointer[time.Time] // nil: paused
}

func (p *pulse) beat() {
	now := time.Now()
	p.last.Store(&now)
}

func (p *pulse) pause() { p.last.Store(nil) }

func (p *pulse) quiet() time.Duration {
	last := p.last.Load()
	if last == nil {
		return 0
	}
	return time.Since(*last)
}
