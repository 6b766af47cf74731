package stdio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// Run is one turn of a program.
type Run struct {
	pool    *Pool
	cfg     turn.Config
	start   wire.TurnStart
	log     *slog.Logger
	emit    func(wire.HarnessEvent) error
	pulse   turn.Pulse
	stopped chan struct{} // closed at the first stop
	wake    chan struct{} // has a token when stop has changed
	done    chan struct{} // closed when the program has ended the turn

	mu    sync.Mutex
	stop  stop
	end   *heard              // the terminal, once it has come
	proc  *process            // once the message was said
	calls map[string]struct{} // tool calls that wait for their results

	tally // of the goroutine that reads, until done or the process is gone
}

// stop is why a turn is being ended, and how hard.
type stop struct {
	why   turn.Reason // the first reason; later ones change nothing
	cause error       // of EmitFailed and Broken
	// step is the hardest that was asked for. An interrupt asks for none: the
	// program is asked by a line first.
	step guard.Step
}

// tally counts what a program wrote in a turn.
type tally struct {
	wrote  int64  // bytes
	events int    // lines that are events
	noise  int    // lines that are not
	quote  string // the first of these
}

// Stop ends the turn. It returns at once, also while nothing runs yet. A
// second reason can only make it harder.
func (r *Run) Stop(why turn.Reason) { r.halt(stop{why: why}) }

func brokenBy(cause error) stop { return stop{why: turn.Broken, cause: cause} }

func (r *Run) halt(s stop) {
	if s.why != turn.Interrupted {
		s.step = s.why.Step()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop.why == turn.Running {
		r.stop.why, r.stop.cause = s.why, s.cause
		close(r.stopped)
	}
	r.stop.step = max(r.stop.step, s.step)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Run) stopping() stop {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop
}

// Send hands the result of a tool to the program. A call that it does not wait
// for any more is no error.
func (r *Run) Send(msg wire.ToHarness) error {
	if msg.Type != wire.ToolResult {
		return fmt.Errorf("telling %s: there is no message of type %q", r.cfg.Command[0], msg.Type)
	}
	text, err := line(msg)
	if err != nil {
		return fmt.Errorf("telling %s the result of a tool: %w", r.cfg.Command[0], err)
	}
	r.mu.Lock()
	_, waits := r.calls[msg.CallID]
	delete(r.calls, msg.CallID)
	p := r.proc
	r.mu.Unlock()
	if !waits {
		return nil
	}
	r.pulse.Nudge()
	if err := p.in.put(text); err != nil {
		r.halt(brokenBy(err))
		return fmt.Errorf("telling %s the result of a tool: it %w", r.cfg.Command[0], err)
	}
	return nil
}

// Do runs the turn. It returns when the program has ended it, or is gone; a
// program that was told to end is gone in any case. It is called once.
func (r *Run) Do(ctx context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
	message, err := opening(r.start)
	if err != nil {
		return turn.Failed(turn.CodeInvalidInput, fmt.Sprintf("%v, so there is nothing to tell %s", err, r.cfg.Command[0]),
			"Send the message again.")
	}
	r.emit = emit
	deadline := time.NewTimer(r.cfg.TurnTimeout)
	defer deadline.Stop()
	for {
		p, first, err := r.pool.take(ctx, r)
		switch {
		case errors.Is(err, errStopped):
			s := r.stopping()
			return turn.Stopped(r.cfg, s.why, s.cause)
		case errors.Is(err, errBusy):
			return turn.Failed(wire.CodeInternal, fmt.Sprintf("cannot tell %s: %v", r.cfg.Command[0], err), "")
		case err != nil:
			return turn.NotStarted(r.cfg, err)
		}
		r.talk(ctx, p, message, deadline.C)
		if first || !r.missed(p) {
			return r.outcome(p)
		}
		r.log.Info("a harness had left before its turn and is started again")
	}
}

// missed tells whether a program that served earlier turns had left, as it may
// between turns, when this one began: it exited in peace and said nothing.
func (r *Run) missed(p *process) bool {
	select {
	case <-p.gone:
	default:
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop.why == turn.Running && r.end == nil && r.wrote == 0 && p.exit == guard.End{}
}

// talk says the message and waits for the end of the turn, or of the process.
func (r *Run) talk(ctx context.Context, p *process, message []byte, deadline <-chan time.Time) {
	defer p.leave(r)
	idle, grace := time.NewTimer(r.cfg.IdleTimeout), time.NewTimer(0)
	defer idle.Stop()
	defer grace.Stop()
	grace.Stop()
	canceled, started, done := ctx.Done(), p.started, r.done
	said, asked := false, false
	for {
		select {
		case <-started:
			started = nil
			if p.failure == nil && r.stopping().why == turn.Running {
				r.say(p, message)
				said = true
			}
		case <-done:
			done = nil
			if asked && r.end.end != cancelled {
				// Whether it has read the interrupt nobody knows, and an answer
				// to that must not end the next turn.
				p.end(guard.Terminate)
			}
			if !p.isEnding() {
				return
			}
		case <-p.gone:
			return
		case <-canceled:
			canceled = nil
			r.Stop(turn.Cancelled)
		case <-deadline:
			r.Stop(turn.TooLong)
		case <-idle.C:
			if left := r.patience(); left > 0 {
				idle.Reset(left)
			} else {
				r.Stop(turn.Silent)
			}
		case <-r.wake:
			switch step := r.stopping().step; {
			case step != guard.Running:
				p.end(step)
			case !said:
				return // interrupted, and the program has nothing to do with it yet
			case !asked:
				asked = true
				grace.Reset(r.cfg.InterruptGrace)
				if p.in.put(interruptLine()) != nil {
					p.end(guard.Interrupt) // it does not read
				}
			}
		case <-grace.C:
			p.end(guard.Interrupt)
		}
	}
}

func (r *Run) say(p *process, message []byte) {
	if r.cfg.OnSpawn != nil {
		r.cfg.OnSpawn()
	}
	r.mu.Lock()
	r.proc = p
	r.mu.Unlock()
	r.pulse.Beat()
	p.in.open(message)
}

// patience is how much longer the program may be silent. While it waits for a
// tool it may be so for any time.
func (r *Run) patience() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) > 0 {
		return r.cfg.IdleTimeout
	}
	return r.cfg.IdleTimeout - r.pulse.Quiet()
}
