package keep

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
)

// Process is a program that is kept between turns. It ends when it likes to,
// when it is told to (End), or when it has rested for IdleReap; once it is
// ending no turn can begin in it.
type Process struct {
	cfg     turn.Config
	agent   string // the id of the one it was started for
	model   string
	maxLine int
	proc    *guard.Proc
	in      *queue
	log     *stderr
	peer    Peer // nil: lines go to the turn

	started chan struct{} // closed when the program runs, or cannot
	ended   chan struct{} // closed at the end of its standard output
	ending  chan struct{} // closed when it is told to end
	gone    chan struct{} // closed when it and all that descends from it are gone

	failure error     // why it could not be started; after started
	exit    guard.End // how it ended; after gone

	taking sync.Mutex // held while a line is taken

	mu     sync.Mutex
	turn   *Turn     // whose turn it is; nil between turns
	turns  int       // that have begun
	since  time.Time // when the last one ended
	spent  bool      // no turn may begin any more
	told   bool      // ending is closed
	strays int       // lines between turns
}

var (
	errSpent = errors.New("the program is ending")
	errBusy  = errors.New("another turn of this session is running")
)

// start starts a program. The caller runs tend.
func start(pool *Pool, t *Turn) (*Process, error) {
	cfg := t.cfg
	proc, err := guard.Start(guard.Command{
		Guard: cfg.Guard, Argv: cfg.Command, Dir: cfg.Dir, Env: cfg.Env, Talk: true,
		InterruptGrace: cfg.InterruptGrace, TerminateGrace: cfg.TerminateGrace,
	})
	if err != nil {
		return nil, err
	}
	p := &Process{
		cfg: cfg, agent: t.agent, model: t.model, maxLine: pool.maxLine, proc: proc, in: newQueue(), log: &stderr{log: cfg.Log}, since: time.Now(),
		started: make(chan struct{}), ended: make(chan struct{}), ending: make(chan struct{}), gone: make(chan struct{}),
	}
	if pool.attach != nil {
		p.peer = pool.attach(p)
	}
	return p, nil
}

// Peer is what the pool's attach made.
func (p *Process) Peer() Peer { return p.peer }

// Config is that of the turn that the process was started for.
func (p *Process) Config() turn.Config { return p.cfg }

// Turns counts those that have begun.
func (p *Process) Turns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turns
}

// Strays counts the lines that were written between turns.
func (p *Process) Strays() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.strays
}

// Exit is how the program ended. It may be asked when it is gone.
func (p *Process) Exit() guard.End { return p.exit }

// LastWords is the last line of this turn on standard error, cut, or "".
func (p *Process) LastWords() string { return p.log.lastWords() }

// IsGone tells whether the process and all that descends from it are gone.
func (p *Process) IsGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// WasKilled tells whether the program is gone because it heard nothing else.
func (p *Process) WasKilled() bool {
	return p.IsGone() && (p.exit.Lost || p.exit.Step == guard.Kill)
}

// Open has the program read the line that begins a turn. What waits still is of
// an earlier one and of no use to anybody: it is dropped.
func (p *Process) Open(line []byte) { p.in.open(line) }

// Put has the program read a line. An error means that it does not read.
func (p *Process) Put(line []byte) error { return p.in.put(line) }

// Write is Put for a line of any length: it fails only when too much waits
// already. It makes a Process an io.Writer of whole lines.
func (p *Process) Write(line []byte) (int, error) {
	if err := p.in.append(slices.Clone(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// fits tells whether a turn may use the program, or needs another one.
func (p *Process) fits(t *Turn) bool {
	return p.cfg.Harness == t.cfg.Harness && slices.Equal(p.cfg.Command, t.cfg.Command) && p.cfg.Dir == t.cfg.Dir &&
		p.agent == t.agent && p.model == t.model
}

// begin gives the program to a turn, until that calls Release.
func (p *Process) begin(t *Turn) (first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.turn != nil:
		return false, errBusy
	case p.spent:
		return false, errSpent
	}
	p.turn = t
	p.turns++
	p.log.renew()
	return p.turns == 1, nil
}

// Release takes the program away from its turn. It may be called twice.
func (p *Process) Release(t *Turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn == t {
		p.turn, p.since = nil, time.Now()
	}
}

// leave is Release for whoever does not read: no line is being taken for the
// turn when it returns.
func (p *Process) leave(t *Turn) {
	p.Release(t)
	p.taking.Lock()
	defer p.taking.Unlock()
}

// dismiss ends the program unless a turn has it, or it has rested for less
// than the time given; then it returns when to ask again, else 0.
func (p *Process) dismiss(rested time.Duration) (again time.Duration) {
	p.mu.Lock()
	if p.turn != nil {
		again = p.cfg.IdleReap
	} else {
		again = max(0, rested-time.Since(p.since))
	}
	p.spent = p.spent || again == 0
	p.mu.Unlock()
	if again == 0 {
		p.End(guard.Terminate)
	}
	return again
}

// End takes the program down the ladder of its guard, and ends what it reads.
// It returns at once; a harder step may follow.
func (p *Process) End(step guard.Step) {
	p.mu.Lock()
	p.spent = true
	if !p.told {
		p.told = true
		close(p.ending)
	}
	p.mu.Unlock()
	p.in.close()
	if err := p.proc.Signal(step); err != nil {
		p.cfg.Log.Warn("a harness could not be signalled", "err", err)
	}
}

// isEnding tells whether End was called.
func (p *Process) isEnding() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}
