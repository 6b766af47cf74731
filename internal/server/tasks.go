package server

import (
	"context"
	"sync"
)

// tasks owns the server's background goroutines: each has a context that ends
// when its own cancel is called or everything stops, and stop waits for all.
type tasks struct {
	mu      sync.Mutex
	stopped bool
	next    int
	cancels map[int]context.CancelFunc
	wg      sync.WaitGroup
}

// start runs fn in the background. After stop it runs nothing and answers
// false.
func (t *tasks) start(fn func(ctx context.Context)) (cancel context.CancelFunc, ok bool) {
	ctx, cancel, leave := t.join(context.Background())
	if leave == nil {
		return func() {}, false
	}
	go func() {
		defer leave()
		fn(ctx)
	}()
	return cancel, true
}

// join makes the caller's goroutine a task until it calls leave. After stop
// there is no leave.
func (t *tasks) join(parent context.Context) (ctx context.Context, cancel context.CancelFunc, leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return nil, nil, nil
	}
	if t.cancels == nil {
		t.cancels = make(map[int]context.CancelFunc)
	}
	ctx, cancel = context.WithCancel(parent)
	id := t.next
	t.next++
	t.cancels[id] = cancel
	t.wg.Add(1)
	return ctx, cancel, func() {
		defer t.wg.Done()
		cancel()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.cancels, id)
	}
}

// stop cancels every task and waits for them, or for ctx.
func (t *tasks) stop(ctx context.Context) error {
	t.mu.Lock()
	t.stopped = true
	for _, cancel := range t.cancels {
		cancel()
	}
	t.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.wg.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
