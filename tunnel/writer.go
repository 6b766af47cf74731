package tunnel

import (
	"context"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// batchBytes is how much is gathered before the connection gets it: few
	// system calls under load, yet what is urgent never stands behind more.
	batchBytes = 64 << 10
	// keptBuffers is how many message buffers of at most keptBytes are reused.
	keptBuffers = 64
	keptBytes   = 64 << 10
)

// writer is the one goroutine that writes to a link's connection, and the
// queues before it (queue.go has those). It gathers a batch in order of rank,
// passes it through the library into the pipe, adds what pings and pongs are
// due, and flushes once.
type writer struct {
	limits Limits
	masked bool // the runner's side masks what it sends
	since  time.Time
	pongs  debt          // to the peer's WebSocket pings
	wake   chan struct{} // capacity 1
	dead   chan struct{} // closed when nothing will be written any more

	mu        sync.Mutex
	s         sched
	win       window
	rate      linkRate
	marks     []mark // in the order of their pings
	appPong   owedPong
	appPing   bool // one is due
	refusals  []refusal
	waiting   map[*outStream]struct{} // with a blocked producer
	highWater int
	drained   chan struct{} // closed when all is written; nil when nobody asked
	free      [][]byte
	isDead    bool
}

// mark is a callback that waits for the pong of a ping.
type mark struct {
	seq uint64
	fn  func()
}

// owedPong is the newest application ping that is not answered yet.
type owedPong struct {
	ts   Int
	owed bool
}

func newWriter(l Limits, masked bool) *writer {
	w := &writer{
		limits: l, masked: masked, since: time.Now(), win: newWindow(l),
		wake: make(chan struct{}, 1), dead: make(chan struct{}),
		waiting: map[*outStream]struct{}{},
	}
	// The first ping goes out at once, while the path is idle: it shows that
	// the peer answers pings, and how far away it is.
	w.win.want = true
	return w
}

// now is the time on the connection's own clock.
func (w *writer) now() time.Duration { return time.Since(w.since) }

// run writes until the pipe is gone.
func (w *writer) run(ws *websocket.Conn, p *pipe) {
	defer w.kill()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var batch []item
	for {
		var next time.Duration
		batch, next = w.gather(batch[:0])
		w.write(ws, p, batch)
		if p.flush(w.flushed) != nil {
			return // the reader sees the same end, and says why
		}
		w.written(batch)
		if len(batch) > 0 {
			continue
		}
		timer.Stop()
		if next >= 0 {
			timer.Reset(next)
		}
		select {
		case <-w.wake:
		case <-p.touched:
		case <-timer.C:
		case <-p.gone:
			return
		}
	}
}

// gather takes the next batch of messages off the queues. next is how long it
// may be until something is due by the clock; negative when nothing is.
func (w *writer) gather(batch []item) (_ []item, next time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	size := 0
	if w.appPong.owed {
		batch = append(batch, item{msg: Append(nil, Pong{TS: w.appPong.ts})})
		w.appPong = owedPong{}
	}
	if w.appPing {
		batch = append(batch, item{msg: Append(nil, Ping{TS: IntOf(time.Now().UnixMilli())})})
		w.appPing = false
	}
	for size < batchBytes {
		refuse := len(w.s.control) == 0 && len(w.refusals) > 0
		it, st, ok := w.s.next(w.win.open(now))
		if !ok && !refuse {
			break
		}
		if ok {
			size += len(it.msg)
			w.took(it, st)
		}
		if it.msg != nil {
			batch = append(batch, it)
		}
		if refuse { // one beside each message, so that a flood starves nobody
			batch = append(batch, w.takeRefusal()...)
			size += refusalBytes
		}
	}
	if len(batch) == 0 && w.drained != nil && w.s.idle() && len(w.refusals) == 0 {
		close(w.drained)
		w.drained = nil
	}
	return batch, w.nextWake(now)
}

// nextWake returns when the writer must look again without being woken.
func (w *writer) nextWake(now time.Duration) time.Duration {
	next := w.win.pingAfter(now)
	if next < 0 && len(w.s.rings[bulk]) > 0 && !w.win.open(now) && !w.win.ponged && len(w.win.pings) > 0 {
		return max(0, w.win.pings[0].at+blindAfter-now)
	}
	return next
}

// took keeps the accounts of a message that left its queue.
func (w *writer) took(it item, st *outStream) {
	if it.mark != nil {
		w.marks = append(w.marks, mark{seq: w.win.seq + 1, fn: it.mark})
		w.win.want = true
	}
	if it.ticket != nil {
		it.ticket.sent = true
	}
	if st == nil {
		return
	}
	if st.class == bulk {
		w.win.took(len(it.msg), w.now())
	}
	w.makeRoom(st, len(it.msg))
}

// write passes a batch to the library, and behind it the pings and pongs that
// are due. An error is left to the reader, which sees the same end.
func (w *writer) write(ws *websocket.Conn, p *pipe, batch []item) {
	for _, it := range batch {
		// A context that can end would close the connection when it does.
		if err := ws.Write(context.Background(), websocket.MessageText, it.msg); err != nil {
			return
		}
	}
	if payload, ok := w.pongs.take(); ok {
		p.control(appendControl(nil, opPong, payload, w.masked))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.now(); w.win.pingAfter(now) == 0 {
		p.control(appendControl(nil, opPing, w.win.ping(now), w.masked))
	}
}

// flushed takes note of a write to the connection.
func (w *writer) flushed(n int, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rate.add(n, took)
}

// written keeps the accounts of a batch that the connection took.
func (w *writer) written(batch []item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, it := range batch {
		if it.gone != nil {
			close(it.gone)
		}
		if len(w.free) < keptBuffers && cap(it.msg) <= keptBytes {
			w.free = append(w.free, it.msg[:0])
		}
	}
}

// ponged is called by the reader for each pong of the peer.
func (w *writer) ponged(payload []byte) {
	w.mu.Lock()
	seq, ok := w.win.pong(payload, w.now())
	var covered []mark
	if ok {
		n := 0
		for n < len(w.marks) && w.marks[n].seq <= seq {
			n++
		}
		covered, w.marks = w.marks[:n:n], w.marks[n:]
	}
	w.mu.Unlock()
	for _, m := range covered {
		m.fn()
	}
	w.wakeUp()
}

// kill makes all queues answer errDead.
func (w *writer) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isDead {
		w.isDead = true
		close(w.dead)
	}
}

func (w *writer) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
