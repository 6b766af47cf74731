package exec

import (
	"context"
	"time"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
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
			r.Stop(turn.Cancelled)
		case <-deadline.C:
			r.Stop(turn.TooLong)
		case <-idle.C:
			if left := r.cfg.IdleTimeout - r.pulse.Quiet(); left > 0 {
				idle.Reset(left)
			} else {
				r.Stop(turn.Silent)
			}
		case <-stopped:
			stopped = nil
			hung.Reset(r.cfg.Hung())
		case <-hung.C:
			r.cfg.Log.Error("a guard did not answer and is killed")
			proc.Abandon()
		}
	}
}
