package stdio

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
)

// process is a program that is kept between turns. It ends when it likes to,
// when it is told to (end), or when it has rested for IdleReap; once it is
// ending no turn can begin in it.
type process struct {
	cfg   turn.Config
	model string
	proc  *guard.Proc
	in    *queue
	log   *stderr

	started chan struct{} // closed when the program runs, or cannot
	ended   chan struct{} // closed at the end of its standard output
	ending  chan struct{} // closed when it is told to end
	gone    chan struct{} // closed when it and all that descends from it are gone

	failure error     // why it could not be started; after started
	exit    guard.End // how it ended; after gone

	taking sync.Mutex // held while a line is taken

	mu     sync.Mutex
	turn   *Run      // whose turn it is; nil between turns
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
func start(cfg turn.Config, model string) (*process, error) {
	proc, err := guard.Start(guard.Command{
		Guard: cfg.Guard, Argv: cfg.Command, Dir: cfg.Dir, Env: cfg.Env, Talk: true,
		InterruptGrace: cfg.InterruptGrace, TerminateGrace: cfg.TerminateGrace,
	})
	if err != nil {
		return nil, err
	}
	return &process{
		cfg: cfg, model: model, proc: proc, in: newQueue(), log: &stderr{log: cfg.Log}, since: time.Now(),
		started: make(chan struct{}), ended: make(chan struct{}), ending: make(chan struct{}), gone: make(chan struct{}),
	}, nil
}

// fits tells whether a turn may use the program, or needs another one.
func (p *process) fits(cfg turn.Config, model string) bool {
	return p.cfg.Harness == cfg.Harness && slices.Equal(p.cfg.Command, cfg.Command) && p.cfg.Dir == cfg.Dir && p.model == model
}

// begin gives the program to a turn, until that calls finish.
func (p *process) begin(r *Run) (first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.turn != nil:
		return false, errBusy
	case p.spent:
		return false, errSpent
	}
	p.turn = r
	p.turns++
	p.log.renew()
	return p.turns == 1, nil
}

// finish takes the program away from its turn. It may be called twice.
func (p *process) finish(r *Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn == r {
		p.turn, p.since = nil, time.Now()
	}
}

// leave is finish for whoever does not read: no line is being taken for the
// turn when it returns.
func (p *process) leave(r *Run) {
	p.finish(r)
	p.taking.Lock()
	defer p.taking.Unlock()
}

// dismiss ends the program unless a turn has it, or it has rested for less
// than the time given; then it returns when to ask again, else 0.
func (p *process) dismiss(rested time.Duration) (again time.Duration) {
	p.mu.Lock()
	if p.turn != nil {
		again = p.cfg.IdleReap
	} else {
		again = max(0, rested-time.Since(p.since))
	}
	p.spent = p.spent || again == 0
	p.mu.Unlock()
	if again == 0 {
		p.end(guard.Terminate)
	}
	return again
}

// end takes the program down the ladder of its guard, and ends what it reads.
// It returns at once; a harder step may follow.
func (p *process) end(step guard.Step) {
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

// isEnding tells whether end was called.
func (p *process) isEnding() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}
