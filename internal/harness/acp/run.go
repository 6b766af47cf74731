package acp

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

const (
	// maxLine bounds one line of an agent. The library's own limit is 10 MiB.
	maxLine = 8 << 20
	// cancelPatience is how many times longer than a signal's an agent's grace
	// is to end a turn that was cancelled: it has a model to stop, and a process
	// that is lost costs the next turn its start.
	cancelPatience = 4
)

// Options are what a definition may say about an agent.
type Options struct {
	// Model is the agent's model when neither the session nor the agent's
	// definition names one. "" leaves it to the agent.
	Model string
	// ClientSessionID: the session's id is made here, and not by the agent.
	ClientSessionID bool
	// SendModel: session/new names the model.
	SendModel bool
	// NoTools: the agent is not lent the runner's tools.
	NoTools bool
	// KeepSystemPrompt: the agent has instructions of its own, and is not given
	// those of the definition.
	KeepSystemPrompt bool
}

// Pool has one process per session. Make it with NewPool.
type Pool struct{ *keep.Pool }

// NewPool returns a pool that runs nothing yet.
func NewPool() *Pool {
	return &Pool{keep.NewPool(maxLine, func(p *keep.Process) keep.Peer { return newPeer(p) })}
}

// Traits are those of every agent.
func (*Pool) Traits() wire.Traits { return wire.Traits{Resume: true, History: true} }

// Run is one turn of an agent.
type Run struct {
	*keep.Turn
	cfg   turn.Config
	opts  Options
	start wire.TurnStart

	talking sync.WaitGroup // converse

	emitting sync.Mutex // held while an event is passed on, and by whom closes it
	emit     func(wire.HarnessEvent) error
	closed   bool // nothing is passed on any more

	mu        sync.Mutex
	peer      *peer           // of the process that has the turn
	hush      func()          // ends converse
	prompting bool            // session/prompt is on its way, or was
	cancelled bool            // session/cancel was sent
	asks      map[string]*ask // questions to a human
	files     int             // requests for files that are being served
	end       *wire.TurnEnd   // once the agent has ended the turn
	spoiled   bool            // the process can serve no other turn
	closing   bool            // nobody is asked any more
	tools     map[string]*tool
	order     []*tool    // the tools, as they came
	running   int        // tools that have not ended
	usage     *acp.Usage // of the answer to the prompt

	output // of the goroutine that reads, until the turn's end
}

// Prepare prepares a turn. Stop and Send may be called from now on.
func (pool *Pool) Prepare(opts Options, cfg turn.Config, start wire.TurnStart) *Run {
	r := &Run{cfg: cfg, opts: opts, start: start, asks: make(map[string]*ask), tools: make(map[string]*tool)}
	r.Turn = pool.NewTurn(cfg, start, "", cancelPatience*cfg.InterruptGrace, r)
	return r
}

// Do runs the turn. It returns when the agent has ended it, or is gone; an
// agent that was told to end is gone in any case. It is called once.
func (r *Run) Do(ctx context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
	if _, err := blocksOf(r.start.Inputs, capabilities{}); err != nil {
		return turn.Failed(turn.CodeInvalidInput, fmt.Sprintf("%v, so there is nothing to tell %s", err, r.cfg.Command[0]),
			"Send the message again.")
	}
	r.emit = emit
	p, early := r.Turn.Do(ctx)
	r.leave()
	var end wire.TurnEnd
	if early != nil {
		end = *early
	} else {
		end = r.outcome(p)
	}
	r.emitting.Lock()
	defer r.emitting.Unlock()
	r.closed = true
	return end
}

// leave ends what still goes on for the turn.
func (r *Run) leave() {
	r.mu.Lock()
	s, hush := r.peer, r.hush
	r.mu.Unlock()
	if s == nil {
		return
	}
	s.release(r)
	hush()
	r.dropAsks()
	r.talking.Wait()
}

// tell passes an event on; events come from more than one goroutine.
func (r *Run) tell(e wire.HarnessEvent) {
	r.emitting.Lock()
	defer r.emitting.Unlock()
	if !r.closed {
		r.Tell(r.emit, e)
	}
}

// Hear is not called: the process has a peer.
func (*Run) Hear(*keep.Process, []byte) {}

// Say begins the turn.
func (r *Run) Say(p *keep.Process) {
	s := p.Peer().(*peer) // attach made it
	ctx, cancel := context.WithCancel(context.Background())
	r.mu.Lock()
	if r.hush != nil {
		r.hush() // of a process that had left before its turn
	}
	r.peer, r.hush = s, cancel
	r.mu.Unlock()
	s.take(r)
	r.talking.Go(func() {
		defer cancel()
		r.converse(ctx, s)
	})
}

// Ask asks the agent to end the turn. Before its prompt there is none that it
// could end.
func (r *Run) Ask(*keep.Process) error {
	r.mu.Lock()
	s, prompting := r.peer, r.prompting
	r.cancelled = true
	r.mu.Unlock()
	if !prompting {
		return fmt.Errorf("the agent has no turn yet")
	}
	// Twice, as the upstream runner does: some agents lose the first one.
	for range 2 {
		err := s.conn.SendNotification(context.Background(), acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(s.sessionID())})
		if err != nil {
			return err
		}
	}
	r.dropAsks()
	return nil
}

// Waits tells whether the agent waits for a human, or for a tool of its own:
// how long that takes is not its fault.
func (r *Run) Waits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asks) > 0 || r.files > 0 || r.running > 0
}

// Settle tells whether the process may serve another turn. The answer to a
// prompt is known by its id, so that an interrupt in between does no harm.
func (r *Run) Settle(bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.spoiled
}

// Send hands the answer of a human to the agent. A question that does not wait
// for one any more is no error.
func (r *Run) Send(msg wire.ToHarness) error {
	if msg.Type != wire.Approval {
		return fmt.Errorf("telling %s: there is no message of type %q", r.cfg.Command[0], msg.Type)
	}
	r.answer(msg)
	return nil
}

// name is what the agent is called in sentences.
func (r *Run) name() string {
	if r.start.Agent != "" {
		return r.start.Agent
	}
	return strings.TrimPrefix(r.cfg.Harness, "acp:")
}
