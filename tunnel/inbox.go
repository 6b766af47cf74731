package tunnel

import (
	"context"
	"sync"
	"sync/atomic"
)

// budget counts the bytes that all inboxes of a link hold. When it is spent,
// the one that holds most pays: its reader is the slow one.
type budget struct {
	used  atomic.Int64
	limit int64
}

// receiver is a stream with an inbox.
type receiver interface {
	held() int // bytes that wait for its reader
	overflow() // ends it, and frees them
}

// relieve ends the heaviest of the receivers.
func relieve(all []receiver) {
	var heaviest receiver
	for _, r := range all {
		if heaviest == nil || r.held() > heaviest.held() {
			heaviest = r
		}
	}
	if heaviest != nil {
		heaviest.overflow()
	}
}

// fit is whether a value fits into an inbox.
type fit int

const (
	fits      fit = iota
	overOwn       // the inbox is full
	overTotal     // the budget is spent
)

// inbox is a bounded queue between the reader, which never waits, and one
// consumer, which may.
type inbox[T any] struct {
	limit int
	total *budget
	ready chan struct{} // capacity 1

	mu    sync.Mutex
	queue []letter[T]
	bytes int
	err   error // what take answers once the queue is empty
}

type letter[T any] struct {
	value T
	size  int
}

func newInbox[T any](limit int, total *budget) *inbox[T] {
	return &inbox[T]{limit: limit, total: total, ready: make(chan struct{}, 1)}
}

// put adds a value of n bytes, if it fits. After end it does nothing.
func (b *inbox[T]) put(v T, n int) fit {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return fits
	case len(b.queue) > 0 && b.bytes+n > b.limit:
		return overOwn
	case b.total.used.Load()+int64(n) > b.total.limit:
		return overTotal
	}
	b.queue = append(b.queue, letter[T]{v, n})
	b.count(n)
	b.signal()
	return fits
}

// held returns how many bytes wait.
func (b *inbox[T]) held() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

// end makes take answer err behind what is queued. Only the first end counts.
func (b *inbox[T]) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.signal()
}

// drop is end, and throws away what is queued.
func (b *inbox[T]) drop(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.count(-b.bytes)
	b.queue = nil
	b.signal()
}

// take returns the oldest value, and waits for one if there is none.
func (b *inbox[T]) take(ctx context.Context) (v T, err error) {
	for {
		b.mu.Lock()
		if len(b.queue) > 0 {
			var first letter[T]
			first, b.queue = pop(b.queue)
			b.count(-first.size)
			b.signal() // for another consumer, or the end
			b.mu.Unlock()
			return first.value, nil
		}
		err = b.err
		b.mu.Unlock()
		if err != nil {
			b.signal()
			return v, err
		}
		select {
		case <-b.ready:
		case <-ctx.Done():
			return v, context.Cause(ctx)
		}
	}
}

func (b *inbox[T]) count(n int) {
	b.bytes += n
	b.total.used.Add(int64(n))
}

func (b *inbox[T]) signal() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}
