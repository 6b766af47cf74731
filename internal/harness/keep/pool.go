package keep

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
)

var errStopped = errors.New("the turn was stopped before it began")

// Peer hears all that one process writes, in its turns and between them. One
// goroutine calls it.
type Peer interface {
	// Hear takes a line, which is valid during the call.
	Hear(line []byte)
	// End comes after the last line.
	End()
}

// Pool has one process per session. Make it with NewPool.
type Pool struct {
	maxLine int
	attach  func(*Process) Peer

	mu      sync.Mutex
	procs   map[string]*Process // by session; until they are gone
	refused bool
}

// NewPool returns a pool that runs nothing yet. maxLine bounds a line of a
// program, in bytes, without its line feed. attach makes a process its peer
// before anything is read; without one, lines go to the turn that has the
// process, and those that come between turns are skipped.
func NewPool(maxLine int, attach func(*Process) Peer) *Pool {
	return &Pool{maxLine: maxLine, attach: attach, procs: make(map[string]*Process)}
}

// take gives a turn the process of its session: the one that there is, or
// another when that is ending or does not fit. There are never two at once.
// first tells that no turn has had it before.
func (pool *Pool) take(ctx context.Context, t *Turn) (p *Process, first bool, err error) {
	for {
		if ctx.Err() != nil {
			t.Stop(turn.Cancelled)
		}
		if t.Stopping().Why != turn.Running {
			return nil, false, errStopped
		}
		p, err := pool.current(t)
		if err != nil {
			return nil, false, err
		}
		if p.fits(t) {
			if first, err = p.begin(t); err == nil {
				return p, first, nil
			}
		}
		if p.dismiss(0) > 0 {
			return nil, false, errBusy
		}
		select {
		case <-p.gone:
		case <-t.stopped:
		case <-ctx.Done():
		}
	}
}

// current is the process of a session, started if there is none.
func (pool *Pool) current(t *Turn) (*Process, error) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if p := pool.procs[t.session]; p != nil {
		return p, nil
	}
	if pool.refused {
		t.Stop(turn.RunnerStopping)
		return nil, errStopped
	}
	p, err := start(pool, t)
	if err != nil {
		return nil, err
	}
	pool.procs[t.session] = p
	go p.tend(func() { // whoever ends it waits for p.gone
		pool.mu.Lock()
		defer pool.mu.Unlock()
		delete(pool.procs, t.session)
	})
	return p, nil
}

// Kept is the process of a session, or nil.
func (pool *Pool) Kept(session string) *Process {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	return pool.procs[session]
}

// Size counts the processes that are kept, or not gone yet.
func (pool *Pool) Size() int {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	return len(pool.procs)
}

// Close ends the process that is kept for a session, unless a turn has it, and
// waits until it is gone, or ctx ends.
func (pool *Pool) Close(ctx context.Context, session string) error {
	p := pool.Kept(session)
	if p == nil || p.dismiss(0) > 0 {
		return nil
	}
	return p.await(ctx)
}

// Shutdown ends all processes, starts no more, and waits until all are gone,
// or ctx ends.
func (pool *Pool) Shutdown(ctx context.Context) error {
	pool.mu.Lock()
	pool.refused = true
	var all []*Process
	for _, p := range pool.procs {
		all = append(all, p)
	}
	pool.mu.Unlock()
	for _, p := range all {
		p.End(guard.Terminate)
	}
	for _, p := range all {
		if err := p.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// withoutTurn: a program that outlives its turn must not be told one.
func withoutTurn(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, "OUTRUNNER_TURN_ID=") })
}

func (p *Process) await(ctx context.Context) error {
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
