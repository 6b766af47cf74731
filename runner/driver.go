package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/outrunner/outrunner/catchup"
	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

// driver carries out the core's effects. execute is called by the loop alone
// and never blocks; its context is the life of what it starts. What takes time runs in goroutines that the driver waits
// for, and answers with an event.
type driver struct {
	r       *Runner
	log     *slog.Logger
	running sync.WaitGroup

	replies replies
	outlets outlets
	timers  timers
	stores  stores
	pumps   pumps
	mail    mail
	trouble complaints

	mu       sync.Mutex
	scanner  *catchup.Scanner // of the connection that is up
	scanning uint64           // its generation
	verdicts map[string]chan catchup.Verdict
}

func newDriver(r *Runner) *driver {
	d := &driver{r: r, log: r.log, trouble: complaints{log: r.log}, verdicts: map[string]chan catchup.Verdict{}}
	d.timers.fire = func(session string, key core.TimerKey) {
		r.loop.answer(core.TimerFired{Session: session, Key: key})
	}
	return d
}

// wait returns when every goroutine has ended; their context is over by then.
func (d *driver) wait() {
	d.timers.stopAll()
	d.outlets.closeAll(endCut)
	d.running.Wait()
}

// execute implements executor.
func (d *driver) execute(ctx context.Context, e core.Effect) {
	switch e := e.(type) {
	case core.Reply:
		d.replies.deliver(e)
	case core.Publish:
		d.outlets.of(e.Session).publish(e.Event, e.Covers)
	case core.Welcome:
		d.outlets.of(e.Session).welcome(e.Reader)
	case core.EndStream:
		d.outlets.of(e.Session).finish()
	case core.Advance:
		d.pumps.advance(e)
	case core.SetTimer:
		d.timers.set(e)
	case core.StopTimer:
		d.timers.stop(e.Session, e.Key)
	case core.Forget:
		d.outlets.forget(e.Session)
		d.stores.forget(e.Session)
		d.trouble.forget(e.Session)
	case core.Verdict:
		d.deliverVerdict(e)
	case core.Log:
		d.logLine(e)
	case core.ReadSnapshot:
		d.running.Go(func() { d.readSnapshot(ctx, e) })
	case core.ReadSpec:
		d.running.Go(func() { d.readSpec(ctx, e) })
	case core.Scan:
		d.addToScan(e)
	case core.Store:
		d.stores.add(ctx, d, e)
	case core.StartTurn:
		d.startTurn(ctx, e.Start)
	case core.Interrupt:
		d.running.Go(func() { d.interrupt(ctx, e) })
	case core.CloseHarness:
		d.running.Go(func() { d.closeHarness(ctx, e) })
	default:
		if !d.ask(ctx, e) {
			panic(fmt.Sprintf("runner: no way to carry out %T", e))
		}
	}
}

func (d *driver) logLine(e core.Log) {
	if e.Level == core.Warn {
		d.trouble.add(e.Session, e.Msg, e.Err)
		return
	}
	attrs := []any{"session", e.Session}
	if e.Err != nil {
		attrs = append(attrs, "error", e.Err)
	}
	d.log.Info(e.Msg, attrs...)
}

func (d *driver) readSnapshot(ctx context.Context, e core.ReadSnapshot) {
	var snap wire.Snapshot
	err := d.try(ctx, func(ctx context.Context) (err error) {
		snap, err = d.r.cfg.Server.Snapshot(ctx, e.Session)
		return err
	})
	d.r.loop.answer(core.SnapshotRead{Session: e.Session, Gen: e.Gen, Snapshot: snap, Err: err})
}

func (d *driver) readSpec(ctx context.Context, e core.ReadSpec) {
	var spec *wire.Spec
	err := d.try(ctx, func(ctx context.Context) (err error) {
		spec, err = d.r.cfg.Specs.Spec(ctx, e.Session, e.AgentID, e.Revision)
		return err
	})
	d.r.loop.answer(core.SpecRead{Session: e.Session, Gen: e.Gen, Spec: spec, Err: err})
}

// identityTries is how often an identity read is tried within Timing.Identity,
// spread over more than half of it: a line that is cut again and again is up in
// between.
const identityTries = 5

// try makes a few attempts; a settled answer ends it early.
func (d *driver) try(ctx context.Context, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.r.timing.Identity)
	defer cancel()
	pause := d.r.timing.Identity / 25
	var err error
	for n := range identityTries {
		if n > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return err
			}
		}
		if err = read(ctx); err == nil || errors.Is(err, wire.ErrNotFound) || errors.Is(err, wire.ErrRejected) {
			return err
		}
		pause *= 2
	}
	return err
}

func (d *driver) interrupt(ctx context.Context, e core.Interrupt) {
	if d.pumps.get(e.Turn) == nil {
		return // it has ended by itself
	}
	if err := d.r.cfg.Harness.Interrupt(ctx, e.Session, e.Turn); err != nil {
		d.log.Warn("interrupting the turn", "session", e.Session, "turn", e.Turn, "error", err)
	}
}

// closeHarness ends whatever runs for a session.
func (d *driver) closeHarness(ctx context.Context, e core.CloseHarness) {
	d.pumps.kill(e.Session)
	var closing sync.WaitGroup
	if e.Terminals {
		closing.Go(func() { d.r.terminals.closeAll(ctx, e.Session, e.Tell) })
	}
	err := d.r.cfg.Harness.Close(ctx, e.Session)
	closing.Wait()
	d.r.loop.answer(core.HarnessClosed{Session: e.Session, Err: err})
}

// scan serves one connection: it announces it to the core, reads what the core
// orders, and returns when the connection is over.
func (d *driver) scan(ctx context.Context, gen uint64) {
	s := &catchup.Scanner{
		Source: d.r.cfg.Server,
		Merge:  func(ctx context.Context, f catchup.Found) catchup.Verdict { return d.merge(ctx, gen, f) },
		Done: func(r catchup.Report) {
			d.log.Info("caught up", "tunnel_gen", gen, "sessions", r.Sessions, "items", r.Items,
				"turns", r.Turns, "deferred", r.Deferred, "took", r.Took.Round(time.Millisecond))
		},
	}
	d.mu.Lock()
	d.scanner, d.scanning = s, gen
	d.mu.Unlock()
	d.r.loop.answer(core.TunnelUp{Gen: gen})
	var sweeping sync.WaitGroup
	sweeping.Go(func() { d.r.terminals.sweep(ctx, d.known) })
	s.Run(ctx)
	sweeping.Wait()
}

// known tells whether the server knows a session.
func (d *driver) known(ctx context.Context, session string) error {
	return d.try(ctx, func(ctx context.Context) error {
		_, err := d.r.cfg.Server.Snapshot(ctx, session)
		return err
	})
}

func (d *driver) addToScan(e core.Scan) {
	d.mu.Lock()
	s, gen := d.scanner, d.scanning
	d.mu.Unlock()
	if s == nil || gen != e.Tunnel {
		return // that connection is gone; the next one scans anew
	}
	orders := make([]catchup.Order, 0, len(e.Sessions))
	for _, o := range e.Sessions {
		orders = append(orders, catchup.Order{Session: o.Session, After: o.After, Gen: o.Gen})
	}
	s.Add(orders...)
}

// merge hands a finding to the core and waits for what became of it.
func (d *driver) merge(ctx context.Context, tunnel uint64, f catchup.Found) catchup.Verdict {
	ch := make(chan catchup.Verdict, 1)
	d.mu.Lock()
	d.verdicts[f.Session] = ch
	d.mu.Unlock()
	d.r.loop.answer(core.Scanned{
		Session: f.Session, Tunnel: tunnel, Gen: f.Gen, Snapshot: f.Snapshot, SnapshotErr: f.SnapshotErr,
		After: f.After, Items: f.Items, ItemsErr: f.ItemsErr, Restarted: f.Restarted,
	})
	select {
	case v := <-ch:
		return v
	case <-ctx.Done():
		return catchup.Verdict{Deferred: true}
	}
}

func (d *driver) deliverVerdict(v core.Verdict) {
	d.mu.Lock()
	ch := d.verdicts[v.Session]
	delete(d.verdicts, v.Session)
	d.mu.Unlock()
	if ch != nil {
		ch <- catchup.Verdict{Items: v.Items, Turns: v.Turns, Deferred: v.Deferred}
	}
}
