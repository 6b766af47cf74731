package tunnel

import (
	"context"
	"sync"
	"sync/atomic"
)

// budget counts the bytes that all inboxes of a link hold.
type budget struct {
	used  atomic.Int64
	limit int64
}

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

// put adds a value of n bytes. It reports false if that is over a bound; then
// nothing was added. After end it adds nothing and reports true.
func (b *inbox[T]) put(v T, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return true
	}
	if len(b.queue) > 0 && b.bytes+n > b.limit || b.total.used.Load()+int64(n) > b.total.limit {
		return false
	}
	b.queue = append(b.queue, letter[T]{v, n})
	b.count(n)
	b.signal()
	return true
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
