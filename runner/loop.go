package runner

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

const (
	// requestQueue is how many requests wait for the loop before their
	// handlers, and through them the tunnel, are held back.
	requestQueue = 256
	// batchEvents is how many events share one commit at most.
	batchEvents = 256
	// checkpointAfter is how many records are journaled before the journal is
	// replaced by a checkpoint.
	checkpointAfter = 20_000
)

// executor carries out effects. Its calls must not block; what they start
// lives as long as the context.
type executor interface {
	execute(context.Context, core.Effect)
}

// loop owns the core. It takes what has come, answers before requests, steps
// each, and releases the effects of a batch after its records are durable, in
// step order. One batch may be stepped while one commits; beyond that it takes
// nothing, which is the back-pressure on requests.
type loop struct {
	core      *core.Core
	committer *committer
	log       *slog.Logger
	requests  chan core.Event

	mu      sync.Mutex
	answers []core.Event // bounded by the number of open questions
	notify  chan struct{}

	inflight *batch // being committed
	next     *batch // stepped, waits for inflight
	since    int    // records since the last checkpoint
}

// batch is some steps whose records are committed together.
type batch struct {
	events  int
	records []wire.Record
	effects []core.Effect
}

func newLoop(state *core.Core, j Journal, log *slog.Logger, loaded int) *loop {
	return &loop{
		core: state, log: log, since: loaded,
		committer: &committer{journal: j, log: log, in: make(chan commit, 1), done: make(chan struct{})},
		requests:  make(chan core.Event, requestQueue),
		notify:    make(chan struct{}, 1),
	}
}

// answer posts what an effect learnt, or what the world did. It never blocks.
func (l *loop) answer(ev core.Event) {
	l.mu.Lock()
	l.answers = append(l.answers, ev)
	l.mu.Unlock()
	select {
	case l.notify <- struct{}{}:
	default:
	}
}

// offer posts a request if there is room for it at once.
func (l *loop) offer(ev core.Event) bool {
	select {
	case l.requests <- ev:
		return true
	default:
		return false
	}
}

// request posts a request, waiting for room.
func (l *loop) request(ctx context.Context, ev core.Event) error {
	select {
	case l.requests <- ev:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run drives the core until ctx ends; what effects start lives as long as
// work. A batch that is not durable by then is as if it had not been: nothing
// of it was told to anybody.
func (l *loop) run(ctx, work context.Context, ex executor) {
	var wg sync.WaitGroup
	commits, cancel := context.WithCancel(ctx)
	wg.Go(func() { l.committer.run(commits) })
	defer wg.Wait()
	defer cancel()
	for {
		if !l.full() {
			l.takeAnswers()
		}
		l.flush(work, ex)
		var requests <-chan core.Event
		if !l.full() {
			requests = l.requests
		}
		select {
		case <-ctx.Done():
			return
		case <-l.committer.done:
			b := l.inflight
			l.inflight = nil
			l.release(work, b, ex)
		case <-l.notify:
		case ev := <-requests:
			l.step(ev)
		}
	}
}

func (l *loop) full() bool {
	return l.inflight != nil && l.next != nil && l.next.events >= batchEvents
}

func (l *loop) takeAnswers() {
	for {
		l.mu.Lock()
		n := min(len(l.answers), batchEvents)
		answers := l.answers[:n:n]
		if l.answers = l.answers[n:]; len(l.answers) == 0 {
			l.answers = nil // lets go of what was answered
		}
		l.mu.Unlock()
		for _, ev := range answers {
			l.step(ev)
		}
		if n == 0 || l.full() {
			return
		}
	}
}

func (l *loop) step(ev core.Event) {
	out := l.core.Step(core.Time(time.Now().UnixMilli()), ev)
	if l.next == nil {
		l.next = &batch{}
	}
	l.next.events++
	l.next.records = append(l.next.records, out.Records...)
	l.next.effects = append(l.next.effects, out.Effects...)
}

// flush sends the next batch on its way if nothing is.
func (l *loop) flush(work context.Context, ex executor) {
	if l.next == nil || l.inflight != nil {
		return
	}
	b := l.next
	l.next = nil
	if len(b.records) == 0 {
		l.release(work, b, ex)
		return
	}
	l.inflight = b
	l.since += len(b.records)
	if l.since >= checkpointAfter {
		// The state is that after this very batch: nothing beyond was stepped.
		full := l.core.Checkpoint()
		l.since = 0
		l.committer.in <- commit{records: full, replace: true}
		return
	}
	l.committer.in <- commit{records: b.records}
}

func (l *loop) release(work context.Context, b *batch, ex executor) {
	for _, r := range b.records {
		crashAfterRecord(r)
	}
	for _, e := range b.effects {
		ex.execute(work, e)
	}
}

// committer makes batches durable, one at a time. It never gives one up: what
// it holds was decided, and nothing may overtake it.
type committer struct {
	journal Journal
	log     *slog.Logger
	in      chan commit
	done    chan struct{}
	failing atomic.Pointer[error] // why the journal takes nothing, if so
}

type commit struct {
	records []wire.Record
	replace bool
}

const (
	commitRetryBase = 50 * time.Millisecond
	commitRetryCap  = 2 * time.Second
)

func (c *committer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case work := <-c.in:
			if !c.commit(ctx, work) {
				return
			}
			select {
			case c.done <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (c *committer) commit(ctx context.Context, work commit) bool {
	for wait := commitRetryBase; ; wait = min(2*wait, commitRetryCap) {
		err := c.write(work)
		if err == nil {
			if c.failing.Swap(nil) != nil {
				c.log.Info("the journal takes records again")
			}
			return true
		}
		if c.failing.Swap(&err) == nil {
			c.log.Error("the journal takes no records; nothing is accepted until it does", "error", err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

func (c *committer) write(work commit) error {
	if work.replace {
		return c.journal.Replace(work.records)
	}
	return c.journal.Commit(work.records)
}

// trouble returns why the journal takes nothing, or nil.
func (c *committer) trouble() error {
	if p := c.failing.Load(); p != nil {
		return *p
	}
	return nil
}
