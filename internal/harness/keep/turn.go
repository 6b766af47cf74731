package keep

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

// Voice is how an adapter speaks to its program in one turn. No method may
// block but Hear, which may wait for the turn's reader.
type Voice interface {
	// Hear takes a line of the turn, in a pool whose processes have no peer.
	Hear(p *Process, line []byte)
	// Say begins the turn in a program that runs. It is called once for each
	// process that the turn is given.
	Say(p *Process)
	// Ask asks the program to end the turn, after Say. An error says that it
	// cannot be asked, and the guard takes over.
	Ask(p *Process) error
	// Waits tells whether the program waits for somebody else: then it may be
	// silent for any time.
	Waits() bool
	// Settle is called when Finish has ended the turn, with whether Ask was
	// called. false ends the program: it can serve no other turn.
	Settle(asked bool) bool
}

// Turn is one turn of a kept program. Its fields are set by NewTurn.
type Turn struct {
	Log *slog.Logger
	// Pulse is to be paused while a line waits for the turn's reader.
	Pulse turn.Pulse

	pool    *Pool
	cfg     turn.Config
	session string
	agent   string // its id
	model   string
	voice   Voice
	grace   time.Duration // from Ask to the guard's interrupt

	stopped chan struct{} // closed at the first stop
	wake    chan struct{} // has a token when stop has changed
	done    chan struct{} // closed when the program has ended the turn

	mu       sync.Mutex
	stop     Stop
	finished bool // done is closed

	wrote int64 // bytes; of the goroutine that reads, until done or the process is gone
}

// Stop is why a turn is being ended, and how hard.
type Stop struct {
	Why   turn.Reason // the first reason; later ones change nothing
	Cause error       // of EmitFailed and Broken
	// Step is the hardest that was asked for. An interrupt asks for none: the
	// program is asked by Voice.Ask first.
	Step guard.Step
}

// NewTurn prepares a turn. A process fits it that was started for the same agent
// and model; an adapter that can change a program's model gives none. grace is
// the time that an interrupted program has to end the turn before its guard
// insists.
func (pool *Pool) NewTurn(cfg turn.Config, start wire.TurnStart, model string, grace time.Duration, voice Voice) *Turn {
	cfg.Env = withoutTurn(cfg.Env)
	cfg.Log = cfg.Log.With("session", start.Session, "harness", start.Harness)
	return &Turn{
		Log: cfg.Log.With("turn", start.Turn), pool: pool, cfg: cfg, voice: voice, grace: grace,
		session: start.Session, agent: start.AgentID, model: model,
		stopped: make(chan struct{}), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// Stop ends the turn. It returns at once, also while nothing runs yet. A
// second reason can only make it harder.
func (t *Turn) Stop(why turn.Reason) { t.halt(Stop{Why: why}) }

// Break ends the turn because going on is senseless. The cause goes on a
// sentence that begins with the program's name.
func (t *Turn) Break(cause error) { t.halt(Stop{Why: turn.Broken, Cause: cause}) }

func (t *Turn) halt(s Stop) {
	if s.Why != turn.Interrupted {
		s.Step = s.Why.Step()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop.Why == turn.Running {
		t.stop.Why, t.stop.Cause = s.Why, s.Cause
		close(t.stopped)
	}
	t.stop.Step = max(t.stop.Step, s.Step)
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Stopping tells why the turn is being ended, if it is.
func (t *Turn) Stopping() Stop {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stop
}

// Finish ends the turn as the program said, unless it is being ended for a
// harder reason than an interrupt, or has been finished. keep keeps what was
// said.
func (t *Turn) Finish(keep func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop.Step == guard.Running && !t.finished {
		keep()
		t.finished = true
		close(t.done)
	}
}

// Finished tells whether the program has ended the turn.
func (t *Turn) Finished() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.finished
}

// Count counts a line. false means that it was one too many, and the turn is
// being ended.
func (t *Turn) Count(line []byte) bool {
	t.wrote += int64(len(line)) + 1
	if t.wrote > t.cfg.MaxOutput {
		t.Stop(turn.TooMuch)
		return false
	}
	return true
}

// Tell passes an event on, a text in pieces. Once the turn's reader is gone or
// has had enough nothing is passed, so that a program that is asked to end never
// blocks in a write.
func (t *Turn) Tell(emit func(wire.HarnessEvent) error, e wire.HarnessEvent) {
	if e.Type != wire.TextDelta && e.Type != wire.ReasoningDelta {
		t.tell(emit, e)
		return
	}
	for _, piece := range turn.Pieces(e.Delta, turn.DeltaSize) {
		t.tell(emit, wire.HarnessEvent{Type: e.Type, Delta: piece})
	}
}

func (t *Turn) tell(emit func(wire.HarnessEvent) error, e wire.HarnessEvent) {
	if t.Stopping().Why.Deaf() {
		return
	}
	if err := turn.Safely(emit, e); err != nil {
		t.halt(Stop{Why: turn.EmitFailed, Cause: err})
	}
}

// Do runs the turn. It returns when the program has ended it, or is gone; a
// program that was told to end is gone in any case. early is the end of a turn
// that no program had, else nil. It is called once.
func (t *Turn) Do(ctx context.Context) (p *Process, early *wire.TurnEnd) {
	deadline := time.NewTimer(t.cfg.TurnTimeout)
	defer deadline.Stop()
	for {
		p, first, err := t.pool.take(ctx, t)
		if err != nil {
			end := t.notBegun(err)
			return nil, &end
		}
		t.talk(ctx, p, deadline.C)
		if first || !t.missed(p) {
			return p, nil
		}
		t.Log.Info("a harness had left before its turn and is started again")
	}
}

func (t *Turn) notBegun(err error) wire.TurnEnd {
	switch {
	case errors.Is(err, errStopped):
		s := t.Stopping()
		return turn.Stopped(t.cfg, s.Why, s.Cause)
	case errors.Is(err, errBusy):
		return turn.Failed(wire.CodeInternal, fmt.Sprintf("cannot tell %s: %v", t.cfg.Command[0], err), "")
	}
	return turn.NotStarted(t.cfg, err)
}

// missed tells whether a program that served earlier turns had left, as it may
// between turns, when this one began: it exited in peace and said nothing.
func (t *Turn) missed(p *Process) bool {
	if !p.IsGone() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stop.Why == turn.Running && !t.finished && t.wrote == 0 && p.exit == guard.End{}
}

// talk has the message said and waits for the end of the turn, or of the
// process.
func (t *Turn) talk(ctx context.Context, p *Process, deadline <-chan time.Time) {
	defer p.leave(t)
	idle, grace := time.NewTimer(t.cfg.IdleTimeout), time.NewTimer(0)
	defer idle.Stop()
	defer grace.Stop()
	grace.Stop()
	canceled, started, done := ctx.Done(), p.started, t.done
	said, asked := false, false
	for {
		select {
		case <-started:
			started = nil
			if p.failure == nil && t.Stopping().Why == turn.Running {
				said = true
				if t.cfg.OnSpawn != nil {
					t.cfg.OnSpawn()
				}
				t.Pulse.Beat()
				t.voice.Say(p)
			}
		case <-done:
			done = nil
			if !t.voice.Settle(asked) {
				p.End(guard.Terminate)
			}
			if !p.isEnding() {
				return
			}
		case <-p.gone:
			return
		case <-canceled:
			canceled = nil
			t.Stop(turn.Cancelled)
		case <-deadline:
			t.Stop(turn.TooLong)
		case <-idle.C:
			if left := t.patience(); left > 0 {
				idle.Reset(left)
			} else {
				t.Stop(turn.Silent)
			}
		case <-t.wake:
			switch step := t.Stopping().Step; {
			case step != guard.Running:
				p.End(step)
			case !said:
				return // interrupted, and the program has nothing to do with it yet
			case !asked:
				asked = true
				grace.Reset(t.grace)
				if t.voice.Ask(p) != nil {
					p.End(guard.Interrupt)
				}
			}
		case <-grace.C:
			p.End(guard.Interrupt)
		}
	}
}

// patience is how much longer the program may be silent.
func (t *Turn) patience() time.Duration {
	if t.voice.Waits() {
		return t.cfg.IdleTimeout
	}
	return t.cfg.IdleTimeout - t.Pulse.Quiet()
}
