package stdio

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

var errStopped = errors.New("the turn was stopped before it began")

// Pool has one process per session. Make it with NewPool.
type Pool struct {
	mu      sync.Mutex
	procs   map[string]*process // by session; until they are gone
	refused bool
}

// NewPool returns a pool that runs nothing yet.
func NewPool() *Pool { return &Pool{procs: make(map[string]*process)} }

// Traits are those of every program of this adapter.
func (*Pool) Traits() wire.Traits { return wire.Traits{History: true} }

// Prepare prepares a turn. Stop and Send may be called from now on.
func (pool *Pool) Prepare(cfg turn.Config, start wire.TurnStart) *Run {
	cfg.Env = withoutTurn(cfg.Env)
	cfg.Log = cfg.Log.With("session", start.Session, "harness", start.Harness)
	return &Run{
		pool: pool, cfg: cfg, log: cfg.Log.With("turn", start.Turn), start: start, calls: make(map[string]struct{}),
		stopped: make(chan struct{}), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// take gives a turn the process of its session: the one that there is, or
// another when that is ending or does not fit. There are never two at once.
// first tells that no turn has had it before.
func (pool *Pool) take(ctx context.Context, r *Run) (p *process, first bool, err error) {
	for {
		if ctx.Err() != nil {
			r.Stop(turn.Cancelled)
		}
		if r.stopping().why != turn.Running {
			return nil, false, errStopped
		}
		p, err := pool.current(r)
		if err != nil {
			return nil, false, err
		}
		if p.fits(r.cfg, r.start.Model) {
			if first, err = p.begin(r); err == nil {
				return p, first, nil
			}
		}
		if p.dismiss(0) > 0 {
			return nil, false, errBusy
		}
		select {
		case <-p.gone:
		case <-r.stopped:
		case <-ctx.Done():
		}
	}
}

// current is the process of a session, started if there is none.
func (pool *Pool) current(r *Run) (*process, error) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	session := r.start.Session
	if p := pool.procs[session]; p != nil {
		return p, nil
	}
	if pool.refused {
		r.Stop(turn.RunnerStopping)
		return nil, errStopped
	}
	p, err := start(r.cfg, r.start.Model)
	if err != nil {
		return nil, err
	}
	pool.procs[session] = p
	go p.tend(func() { // whoever ends it waits for p.gone
		pool.mu.Lock()
		defer pool.mu.Unlock()
		delete(pool.procs, session)
	})
	return p, nil
}

// Close ends the process that is kept for a session, unless a turn has it, and
// waits until it is gone, or ctx ends.
func (pool *Pool) Close(ctx context.Context, session string) error {
	pool.mu.Lock()
	p := pool.procs[session]
	pool.mu.Unlock()
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
	var all []*process
	for _, p := range pool.procs {
		all = append(all, p)
	}
	pool.mu.Unlock()
	for _, p := range all {
		p.end(guard.Terminate)
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

func (p *process) await(ctx context.Context) error {
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
