package exec

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/runner/wire"
)

// Config is what one turn needs to know about its command. Every field but
// OnSpawn must be set.
type Config struct {
	Harness string   // its id in the config file, for sentences
	Command []string // argv; {message} is replaced in all but the first
	Guard   []string // argv of the guard
	Dir     string
	Env     []string

	IdleTimeout time.Duration // silence that ends the turn
	TurnTimeout time.Duration // time that ends the turn
	MaxOutput   int64         // bytes of output after which the turn ends

	InterruptGrace time.Duration // from interrupt to terminate
	TerminateGrace time.Duration // from terminate to kill
	GuardLimit     time.Duration // how much longer a guard may take before it is killed

	// OnSpawn is called when the program runs and nothing of its output has
	// been read.
	OnSpawn func()
	Log     *slog.Logger
}

// Run is one turn of a command.
type Run struct {
	cfg     Config
	inputs  []wire.Input
	stopped chan struct{} // closed at the first stop
	pulse   pulse

	mu   sync.Mutex
	stop stop
	proc *guard.Proc // nil until there is one to signal
}

// stop is why a turn is being ended, and how hard.
type stop struct {
	why   Reason     // the first reason; later ones change nothing
	cause error      // of emitFailed
	step  guard.Step // the hardest that was asked for
}

// New prepares a turn. Stop may be called from now on.
func New(cfg Config, start wire.TurnStart) *Run {
	cfg.Log = cfg.Log.With("session", start.Session, "turn", start.Turn)
	return &Run{cfg: cfg, inputs: start.Inputs, stopped: make(chan struct{})}
}

// Stop ends the turn. It returns at once, also while nothing runs yet: the
// order then waits for the program. A second reason can only make it harder.
func (r *Run) Stop(why Reason) { r.end(why, nil) }

func (r *Run) end(why Reason, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop.why == running {
		r.stop.why, r.stop.cause = why, cause
		close(r.stopped)
	}
	r.stop.step = max(r.stop.step, why.step())
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

// Do runs the turn, and returns when the program and all that descends from it
// are gone. It is called once.
func (r *Run) Do(ctx context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
	text, err := message(r.inputs)
	if err != nil {
		return noMessage(r.cfg, err)
	}
	if ctx.Err() != nil {
		r.Stop(cancelled)
	}
	if s := r.stopping(); s.why != running {
		return outcome(r.cfg, s, guard.End{Step: s.step}, 0)
	}
	argv, stdin := commandLine(r.cfg.Command, text)
	proc, err := guard.Start(guard.Command{
		Guard: r.cfg.Guard, Argv: argv, Dir: r.cfg.Dir, Env: r.cfg.Env, Stdin: stdin,
		InterruptGrace: r.cfg.InterruptGrace, TerminateGrace: r.cfg.TerminateGrace,
	})
	if err != nil {
		return notStarted(r.cfg, err)
	}
	r.mu.Lock()
	r.proc = proc
	r.signal() // what came while there was nobody to tell
	r.mu.Unlock()

	var watchdog sync.WaitGroup
	over := make(chan struct{})
	watchdog.Go(func() { r.watch(ctx, proc, over) })
	err = proc.Started()
	r.pulse.beat() // a slow start is not silence
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
	if err != nil && s.why == running {
		return notStarted(r.cfg, err)
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
	buf := make([]byte, deltaSize)
	var dec decoder
	for {
		n, err := proc.Output.Read(buf)
		room := max(0, r.cfg.MaxOutput-wrote)
		wrote += int64(n)
		text := dec.decode(buf[:min(int64(n), room)])
		if err != nil {
			text += dec.rest()
		}
		r.pulse.pause()
		r.pass(text, emit)
		r.pulse.beat()
		if wrote > r.cfg.MaxOutput {
			r.Stop(tooMuch)
		}
		if err != nil {
			return wrote // io.EOF; or the deadline after the guard was lost
		}
	}
}

func (r *Run) pass(text string, emit func(wire.HarnessEvent) error) {
	for _, piece := range pieces(text, deltaSize) {
		if r.stopping().why.deaf() {
			return
		}
		if err := safely(emit, wire.HarnessEvent{Type: wire.TextDelta, Delta: piece}); err != nil {
			r.end(emitFailed, err)
		}
	}
}

// safely calls emit; a panic in it ends the turn, not the runner.
func safely(emit func(wire.HarnessEvent) error, e wire.HarnessEvent) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return emit(e)
}
