package stdio

import (
	"context"
	"fmt"
	"sync"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// Pool has one process per session. Make it with NewPool.
type Pool struct{ *keep.Pool }

// NewPool returns a pool that runs nothing yet.
func NewPool() *Pool { return &Pool{keep.NewPool(maxLine, nil)} }

// Traits are those of every program of this adapter.
func (*Pool) Traits() wire.Traits { return wire.Traits{History: true} }

// Run is one turn of a program.
type Run struct {
	*keep.Turn
	cfg     turn.Config
	start   wire.TurnStart
	message []byte
	emit    func(wire.HarnessEvent) error

	mu    sync.Mutex
	end   *heard              // the terminal, once it has come
	proc  *keep.Process       // once the message was said
	waits map[waiting]waiting // what the program waits for, by the id that the runner knows
	steer []steer             // messages that the program was told, and has not taken

	tally // of the goroutine that reads, until the turn's end
}

// tally counts what a program wrote in a turn.
type tally struct {
	events int    // lines that are events
	noise  int    // lines that are not
	quote  string // the first of these
}

// Prepare prepares a turn. Stop and Send may be called from now on.
func (pool *Pool) Prepare(cfg turn.Config, start wire.TurnStart) *Run {
	r := &Run{cfg: cfg, start: start, waits: make(map[waiting]waiting)}
	r.Turn = pool.NewTurn(cfg, start, start.Model, cfg.InterruptGrace, r)
	return r
}

// Send tells the program a message that came during the turn, or an answer. One
// that it does not wait for any more is no error.
func (r *Run) Send(msg wire.ToHarness) error {
	switch msg.Type {
	case wire.Steer:
		return r.tell(msg)
	case wire.ToolResult:
		_, waits := r.answered(waiting{msg.Type, msg.CallID})
		if !waits {
			return nil
		}
	case wire.PolicyVerdict:
		_, waits := r.answered(waiting{msg.Type, msg.EvaluationID})
		if !waits {
			return nil
		}
	case wire.Approval:
		id, waits := r.answered(waiting{msg.Type, msg.ElicitationID})
		if !waits {
			return nil
		}
		msg.ElicitationID = id
	default:
		return fmt.Errorf("telling %s: there is no message of type %q", r.cfg.Command[0], msg.Type)
	}
	text, err := line(msg)
	if err != nil {
		return fmt.Errorf("telling %s a %s: %w", r.cfg.Command[0], msg.Type, err)
	}
	r.Pulse.Nudge() // it was not silent, it waited
	r.mu.Lock()
	p := r.proc
	r.mu.Unlock()
	return r.put(p, text, msg.Type)
}

// put has the program read a line. One that does not read has its turn ended.
func (r *Run) put(p *keep.Process, text []byte, what string) error {
	if err := p.Put(text); err != nil {
		r.Break(err)
		return fmt.Errorf("telling %s a %s: it %w", r.cfg.Command[0], what, err)
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
	r.emit, r.message = emit, message
	p, early := r.Turn.Do(ctx)
	if early != nil {
		return *early
	}
	return r.outcome(p)
}

// Say begins the turn.
func (r *Run) Say(p *keep.Process) {
	if err := r.open(p); err != nil {
		r.Break(err) // not with mu: the end of the turn takes it
	}
}

func (r *Run) open(p *keep.Process) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proc = p
	p.Open(r.message)
	for _, m := range r.steer { // they came while the program was started
		if err := p.Put(m.line); err != nil {
			return err
		}
	}
	return nil
}

// Ask asks the program to end the turn.
func (r *Run) Ask(p *keep.Process) error { return p.Put(interruptLine()) }

// Waits tells whether the program waits for a tool, a human or a policy.
func (r *Run) Waits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waits) > 0
}

// Settle tells whether the program may serve another turn. Whether one that
// ended the turn by itself has read the interrupt nobody knows, and an answer
// to that must not end the next turn.
func (r *Run) Settle(asked bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !asked || r.end.end == cancelled
}
