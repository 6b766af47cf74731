package tunnel

import (
	"context"
	"time"
)

// The queues before the writer. Only push and pushRequest wait, for room, and
// only goroutines that produce data call them; the reader calls the others.

// push queues frames at the end of a stream, once its queue and its class have
// room. It fails with errDead, errAborted or the context's cause.
func (w *writer) push(ctx context.Context, st *outStream, frames ...Frame) error {
	items := make([]item, len(frames))
	for i, f := range frames {
		items[i].msg = w.encode(f)
	}
	return w.pushItems(ctx, st, items)
}

func (w *writer) pushItems(ctx context.Context, st *outStream, items []item) error {
	for {
		room, err := w.tryPush(st, items)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-w.dead:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tryPush queues the items, or returns a channel that closes when it is worth
// to try again.
func (w *writer) tryPush(st *outStream, items []item) (room chan struct{}, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.isDead:
		return nil, errDead
	case st.aborted:
		return nil, errAborted
	case st.bytes >= w.limits.StreamQueue || w.s.bytes[st.class] >= w.limits.SendTotal:
		if st.room == nil {
			st.room = make(chan struct{})
			w.waiting[st] = struct{}{}
		}
		return st.room, nil
	}
	w.putLocked(st, items)
	return nil, nil
}

// put queues frames whatever waits already. It is for the few bytes that end a
// stream: they must not wait, and there is one set of them for each.
func (w *writer) put(st *outStream, frames ...Frame) {
	items := make([]item, len(frames))
	for i, f := range frames {
		items[i].msg = w.encode(f)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isDead && !st.aborted {
		w.putLocked(st, items)
	}
}

// putMark queues a callback behind what the stream has queued.
func (w *writer) putMark(st *outStream, fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isDead && !st.aborted {
		w.putLocked(st, []item{{mark: fn}})
	}
}

func (w *writer) putLocked(st *outStream, items []item) {
	now := w.now()
	for _, it := range items {
		w.s.put(st, it, now)
	}
	w.highWater = max(w.highWater, w.s.bytes[interactive]+w.s.bytes[bulk])
	w.wakeUp()
}

// makeRoom wakes the producers that may go on after n bytes of st left.
func (w *writer) makeRoom(st *outStream, n int) {
	if total := w.s.bytes[st.class]; total < w.limits.SendTotal && total+n >= w.limits.SendTotal {
		for other := range w.waiting {
			w.wakeProducer(other)
		}
	}
	if st.bytes <= w.limits.StreamQueue/2 {
		w.wakeProducer(st)
	}
}

func (w *writer) wakeProducer(st *outStream) {
	if st.room != nil {
		close(st.room)
		st.room = nil
		delete(w.waiting, st)
	}
}

// abort drops what a stream still has to send; later frames for it are refused.
func (w *writer) abort(st *outStream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.s.drop(st)
	st.aborted = true
	w.wakeProducer(st)
	w.wakeUp() // the class may have room now
}

// recall takes a queued message back; false means that it was sent.
func (w *writer) recall(st *outStream, t *ticket) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.s.recall(st, t)
}

// control queues a frame before everything else. Its callers are bounded: one
// cancel for each open request.
func (w *writer) control(f Frame) {
	msg := Append(nil, f)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.s.control = append(w.s.control, item{msg: msg})
	w.wakeUp()
}

// greet queues the hello and returns a channel that closes when it is written.
func (w *writer) greet(f Frame) <-chan struct{} {
	gone := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.s.control = append(w.s.control, item{msg: Append(nil, f), gone: gone})
	w.wakeUp()
	return gone
}

// owePong answers an application ping; only the newest is answered.
func (w *writer) owePong(ts Int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.appPong = owedPong{ts: ts, owed: true}
	w.wakeUp()
}

// pingApp sends an application ping with the time of its writing.
func (w *writer) pingApp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.appPing = true
	w.wakeUp()
}

// owePing has a WebSocket ping sent soon, as a sign of life.
func (w *writer) owePing() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.win.want = true
	w.wakeUp()
}

// needs returns how long n more bytes of requests would take to leave behind
// what waits already; 0 when the link's rate is not known.
func (w *writer) needs(n int) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rate.need(n + w.s.bytes[interactive] + w.s.bytes[bulk])
}

// whenDrained returns a channel that closes once everything queued is written.
func (w *writer) whenDrained() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.drained == nil {
		w.drained = make(chan struct{})
	}
	w.wakeUp()
	return w.drained
}

// status reports the queues.
func (w *writer) status() QueueStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return QueueStatus{
		Bytes:     w.s.bytes[interactive] + w.s.bytes[bulk],
		HighWater: w.highWater,
		Window:    int(w.win.size),
		InFlight:  int(w.win.inFlight()),
	}
}

// encode writes a frame into a buffer that was used before, if one is free.
func (w *writer) encode(f Frame) []byte {
	w.mu.Lock()
	var buf []byte
	if n := len(w.free); n > 0 {
		buf, w.free = w.free[n-1], w.free[:n-1]
	}
	w.mu.Unlock()
	return Append(buf, f)
}
