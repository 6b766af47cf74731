package exec

import (
	"context"
	"sync"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// Run is one turn of a command.
type Run struct {
	cfg     turn.Config
	inputs  []wire.Input
	stopped chan struct{} // closed at the first stop
	pulse   turn.Pulse

	mu   sync.Mutex
	stop stop
	proc *guard.Proc // nil until there is one to signal
}

// stop is why a turn is being ended, and how hard.
type stop struct {
	why   turn.Reason // the first reason; later ones change nothing
	cause error       // of EmitFailed
	step  guard.Step  // the hardest that was asked for
}

// New prepares a turn; {message} is replaced in all of cfg.Command but the
// first. Stop may be called from now on.
func New(cfg turn.Config, start wire.TurnStart) *Run {
	cfg.Log = cfg.Log.With("session", start.Session, "turn", start.Turn)
	return &Run{cfg: cfg, inputs: start.Inputs, stopped: make(chan struct{})}
}

// Stop ends the turn. It returns at once, also while nothing runs yet: the
// order then waits for the program. A second reason can only make it harder.
func (r *Run) Stop(why turn.Reason) { r.end(why, nil) }

func (r *Run) end(why turn.Reason, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop.why == turn.Running {
		r.stop.why, r.stop.cause = why, cause
		close(r.stopped)
	}
	r.stop.step = max(r.stop.step, why.Step())
	r.signal()
}

// signal passes on what was asked for. The caller holds mu.
func (r *Run) signal() {
	if r.proc == nil || r.stop.step == guard.Running {
		return
	}
	if err := r.proc.Signal(r.stop.step); err != nil {
		r.cfg.Log.Warn("a harness could not be signalled", "err", err)
	}
}

func (r *Run) stopping() stop {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop
}

// Send has nothing to say to a command: it never asks for a tool.
func (r *Run) Send(wire.ToHarness) error { return nil }

// Do runs the turn, and returns when the program and all that descends from it
// are gone. It is called once.
func (r *Run) Do(ctx context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
	text, err := message(r.inputs)
	if err != nil {
		return noMessage(r.cfg, err)
	}
	if ctx.Err() != nil {
		r.Stop(turn.Cancelled)
	}
	if s := r.stopping(); s.why != turn.Running {
		return outcome(r.cfg, s, guard.End{Step: s.step}, 0)
	}
	argv, stdin := commandLine(r.cfg.Command, text)
	proc, err := guard.Start(guard.Command{
		Guard: r.cfg.Guard, Argv: argv, Dir: r.cfg.Dir, Env: r.cfg.Env, Stdin: stdin,
		InterruptGrace: r.cfg.InterruptGrace, TerminateGrace: r.cfg.TerminateGrace,
	})
	if err != nil {
		return turn.NotStarted(r.cfg, err)
	}
	r.mu.Lock()
	r.proc = proc
	r.signal() // what came while there was nobody to tell
	r.mu.Unlock()

	var watchdog sync.WaitGroup
	over := make(chan struct{})
	watchdog.Go(func() { r.watch(ctx, proc, over) })
	err = proc.Started()
	r.pulse.Beat() // a slow start is not silence
	if err == nil && r.cfg.OnSpawn != nil {
		r.cfg.OnSpawn()
	}
	wrote := r.pump(proc, emit)
	exit := proc.Wait()
	close(over)
	watchdog.Wait()

	if exit.Left > 0 {
		r.cfg.Log.Warn("processes of a turn could not be killed", "left", exit.Left)
	}
	s := r.stopping()
	if err != nil && s.why == turn.Running {
		return turn.NotStarted(r.cfg, err)
	}
	if err != nil {
		exit = guard.End{Step: s.step}
	}
	return outcome(r.cfg, s, exit, wrote)
}

// pump passes the output on to its end, and returns how much the program
// wrote. Once a turn's reader is gone or has had enough it reads on and passes
// nothing, so that a program that is asked to end never blocks in a write.
func (r *Run) pump(proc *guard.Proc, emit func(wire.HarnessEvent) error) (wrote int64) {
	buf := make([]byte, turn.DeltaSize)
	var dec decoder
	for {
		n, err := proc.Output.Read(buf)
		room := max(0, r.cfg.MaxOutput-wrote)
		wrote += int64(n)
		text := dec.decode(buf[:min(int64(n), room)])
		if err != nil {
			text += dec.rest()
		}
		r.pulse.Pause()
		r.pass(text, emit)
		r.pulse.Beat()
		if wrote > r.cfg.MaxOutput {
			r.Stop(turn.TooMuch)
		}
		if err != nil {
			return wrote // io.EOF; or the deadline after the guard was lost
		}
	}
}

func (r *Run) pass(text string, emit func(wire.HarnessEvent) error) {
	for _, piece := range turn.Pieces(text, turn.DeltaSize) {
		if r.stopping().why.Deaf() {
			return
		}
		if err := turn.Safely(emit, wire.HarnessEvent{Type: wire.TextDelta, Delta: piece}); err != nil {
			r.end(turn.EmitFailed, err)
		}
	}
}
