package terminal

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errEnded = errors.New("the terminal has ended")

// typing is what waits to be typed into one terminal, by all who type, in order
// (terminals.md T13). A size is not in the line: the newest one wins, and it is
// applied before the next key.
type typing struct {
	mu     sync.Mutex
	items  []keystroke
	bytes  int
	size   *wanted
	buffer string // tmux's, whose text is to be read for a clipboard; the newest
	closed bool
	wake   chan struct{} // something is there
	space  chan struct{} // closed and made anew when there is room again
}

// A keystroke is bytes, or keys by name, or the signal for a waiting program.
type keystroke struct {
	data   []byte
	keys   []string
	start  bool
	buffer string     // not typed, but read; in the same goroutine because it is rare
	done   chan error // gets one result; may be nil
}

// wanted is a size that the terminal shall have.
type wanted struct {
	cols, rows int
	done       chan struct{} // closed when it has it, or never will
}

func newTyping() *typing {
	return &typing{wake: make(chan struct{}, 1), space: make(chan struct{})}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // a signal is owed already
	}
}

// put waits for room and gets in line.
func (q *typing) put(ctx context.Context, k keystroke) error {
	for {
		done, closed, space := q.offer(k)
		if closed {
			return errEnded
		}
		if done {
			return nil
		}
		select {
		case <-space:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// offer gets in line if there is room; else space is closed when there is.
func (q *typing) offer(k keystroke) (done, closed bool, space <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, true, nil
	}
	if q.bytes > 0 && q.bytes+len(k.data) > maxInput {
		return false, false, q.space
	}
	q.items = append(q.items, k)
	q.bytes += len(k.data)
	signal(q.wake)
	return true, false, nil
}

// want asks for a size. The channel is closed when the terminal has it, when a
// newer one took its place, or when the terminal ended.
func (q *typing) want(cols, rows int) <-chan struct{} {
	w := &wanted{cols: cols, rows: rows, done: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		close(w.done)
		return w.done
	}
	if q.size != nil {
		close(q.size.done)
	}
	q.size = w
	signal(q.wake)
	return w.done
}

// copy asks for the text of a buffer.
func (q *typing) copy(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.buffer = name
	signal(q.wake)
}

// take returns what to do next: a size, or keys, or neither, and then how long to
// wait for the size to become due; zero is until something comes.
func (q *typing) take(sized time.Time, every time.Duration) (*wanted, *keystroke, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size != nil {
		since := time.Since(sized)
		if since >= every || len(q.items) > 0 {
			w := q.size
			q.size = nil
			return w, nil, 0
		}
		return nil, nil, every - since
	}
	if len(q.items) == 0 {
		if name := q.buffer; name != "" {
			q.buffer = ""
			return nil, &keystroke{buffer: name}, 0
		}
		return nil, nil, 0
	}
	first := q.items[0]
	n := 1
	if first.data != nil && first.done == nil {
		// What was typed meanwhile goes along; a paste comes in many messages.
		for n < len(q.items) && q.items[n].data != nil && q.items[n].done == nil && len(first.data)+len(q.items[n].data) <= maxInput {
			first.data = append(first.data[:len(first.data):len(first.data)], q.items[n].data...)
			n++
		}
	}
	q.items = q.items[n:]
	if q.bytes -= len(first.data); len(first.data) > 0 {
		close(q.space)
		q.space = make(chan struct{})
	}
	return nil, &first, 0
}

// close fails all that waits.
func (q *typing) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, k := range q.items {
		k.finish(errEnded)
	}
	if q.size != nil {
		close(q.size.done)
	}
	close(q.space)
	q.items, q.size, q.space = nil, nil, make(chan struct{})
}

func (k keystroke) finish(err error) {
	if k.done != nil {
		k.done <- err // there is room for one
	}
}

// typeOut is the one goroutine that types into the program.
func (t *terminal) typeOut() {
	var sized time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		size, keys, wait := t.typing.take(sized, t.lim.resizeEvery)
		switch {
		case size != nil:
			t.applySize(size)
			sized = time.Now()
		case keys != nil:
			keys.finish(t.applyKeys(keys))
		default:
			var due <-chan time.Time
			if wait > 0 {
				timer.Reset(wait)
				due = timer.C
			}
			select {
			case <-t.over:
				t.typing.close()
				return
			case <-t.typing.wake:
			case <-due:
			}
			continue
		}
		select {
		case <-t.over:
			t.typing.close()
			return
		default:
		}
	}
}

// applyKeys types. While tmux has let go of us and not taken us back yet, it
// waits: nothing of a command that was not sent whole has an effect.
func (t *terminal) applyKeys(k *keystroke) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	for {
		err := t.applyOnce(ctx, k)
		if !errors.Is(err, errGone) {
			return err
		}
		retry := time.NewTimer(retryEvery)
		select {
		case <-t.over:
			retry.Stop()
			return err
		case <-ctx.Done():
			retry.Stop()
			return err
		case <-retry.C:
		}
	}
}

func (t *terminal) applyOnce(ctx context.Context, k *keystroke) error {
	var err error
	switch {
	case k.start:
		err = t.back.start(ctx)
	case k.buffer != "":
		var text []byte
		if text, err = t.back.copied(ctx, k.buffer); err == nil {
			t.mu.Lock()
			t.offer(text)
			t.mu.Unlock()
		}
	case k.keys != nil:
		err = t.back.press(ctx, k.keys)
	default:
		err = t.back.write(ctx, k.data)
	}
	if err != nil && !errors.Is(err, errGone) {
		t.log.Warn("typing failed", "err", err)
	}
	return err
}

func (t *terminal) applySize(w *wanted) {
	defer close(w.done)
	t.mu.Lock()
	same := t.model.Cols() == w.cols && t.model.Rows() == w.rows
	t.mu.Unlock()
	if same {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	err := t.back.resize(ctx, w.cols, w.rows, func() { t.resized(w.cols, w.rows) })
	if err != nil && !errors.Is(err, errGone) {
		t.log.Warn("resize failed", "cols", w.cols, "rows", w.rows, "err", err)
	}
}
