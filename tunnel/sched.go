package tunnel

import "time"

// A stream starts interactive. More than burstBytes within burstSpan make it
// bulk, until a span passes with less and its queue is empty.
const (
	burstBytes = 64 << 10
	burstSpan  = 100 * time.Millisecond
	// quantum is how many bytes one stream may send in one turn. A single
	// larger message (a request's body cannot be cut) is a turn too.
	quantum = 32<<10 + 16<<10 // 32 KiB of payload, as base64 in its frame
	// bulkShare: of this many turns, bulk gets at least one.
	bulkShare = 4
)

// class is the rank of a stream. It belongs to the stream, never to a message:
// a stream moves whole, so its messages keep their order.
type class uint8

const (
	interactive class = iota
	bulk
	classes
)

// item is one message of a stream, or a mark in it.
type item struct {
	msg    []byte
	mark   func()          // called when a pong covers what came before it in the stream
	ticket *ticket         // of a message that may be recalled while it waits
	gone   chan<- struct{} // closed when the connection has taken it
}

// ticket tells whether its message has left the queue. It belongs to the
// writer's lock.
type ticket struct{ sent bool }

// outStream is a FIFO of messages of one request's answer, of one channel, or
// of all requests. All its fields belong to the writer's lock.
type outStream struct {
	queue   []item
	bytes   int // of queue
	class   class
	turn    int           // bytes sent in the current turn
	spanAt  time.Duration // begin of the span that is measured
	span    int           // bytes put in since
	aborted bool
	room    chan struct{} // closed when a blocked producer may look again; nil when none is
}

// sched picks the next message: control first, then interactive streams before
// bulk ones, round robin within a class, with a share for bulk. It is plain
// arithmetic under the writer's lock; times are values.
type sched struct {
	control []item
	rings   [classes][]*outStream // streams with a queue; the first has the turn
	bytes   [classes]int
	ahead   int // interactive turns since bulk had one
}

// put queues a message at the end of its stream.
func (s *sched) put(st *outStream, it item, now time.Duration) {
	s.classify(st, len(it.msg), now)
	if len(st.queue) == 0 {
		s.rings[st.class] = append(s.rings[st.class], st)
	}
	st.queue = append(st.queue, it)
	st.bytes += len(it.msg)
	s.bytes[st.class] += len(it.msg)
}

// classify measures the stream's rate and moves it if its class changes.
func (s *sched) classify(st *outStream, n int, now time.Duration) {
	if age := now - st.spanAt; age >= burstSpan {
		last := st.span
		if age >= 2*burstSpan {
			last = 0 // a whole span passed without a byte
		}
		st.spanAt, st.span = now, 0
		if last <= burstBytes && len(st.queue) == 0 {
			st.class = interactive
		}
	}
	st.span += n
	if st.span <= burstBytes || st.class == bulk {
		return
	}
	if len(st.queue) > 0 {
		s.leave(st)
		s.rings[bulk] = append(s.rings[bulk], st)
		s.bytes[interactive] -= st.bytes
		s.bytes[bulk] += st.bytes
	}
	st.class = bulk
}

// leave takes a stream out of its ring.
func (s *sched) leave(st *outStream) {
	ring := s.rings[st.class]
	for i := range ring {
		if ring[i] == st {
			s.rings[st.class] = append(ring[:i], ring[i+1:]...)
			break
		}
	}
	st.turn = 0
}

// recall takes a waiting message out of its stream.
func (s *sched) recall(st *outStream, t *ticket) bool {
	for i, it := range st.queue {
		if it.ticket != t {
			continue
		}
		if len(st.queue) == 1 {
			s.drop(st)
			return true
		}
		st.queue = append(st.queue[:i], st.queue[i+1:]...)
		st.bytes -= len(it.msg)
		s.bytes[st.class] -= len(it.msg)
		return true
	}
	return false
}

// drop empties a stream's queue.
func (s *sched) drop(st *outStream) {
	if len(st.queue) > 0 {
		s.leave(st)
	}
	s.bytes[st.class] -= st.bytes
	st.queue, st.bytes = nil, 0
}

// next returns the message to write now, and its stream (nil for control).
// Bulk takes part only while the window is open.
func (s *sched) next(open bool) (it item, st *outStream, ok bool) {
	if len(s.control) > 0 {
		it, s.control = pop(s.control)
		return it, nil, true
	}
	c, ok := s.pick(open)
	if !ok {
		return item{}, nil, false
	}
	st = s.rings[c][0]
	it, st.queue = pop(st.queue)
	st.bytes -= len(it.msg)
	s.bytes[c] -= len(it.msg)
	st.turn += len(it.msg)
	if len(st.queue) == 0 || st.turn+len(st.queue[0].msg) > quantum {
		s.endTurn(c, st)
	}
	return it, st, true
}

// pop takes the first element, and lets go of what it refers to.
func pop[T any](list []T) (T, []T) {
	var none T
	first := list[0]
	list[0] = none
	return first, list[1:]
}

// pick chooses the class that is served next.
func (s *sched) pick(open bool) (class, bool) {
	quick, slow := len(s.rings[interactive]) > 0, len(s.rings[bulk]) > 0 && open
	switch {
	case slow && (!quick || s.ahead >= bulkShare-1):
		return bulk, true
	case quick:
		return interactive, true
	}
	return 0, false
}

// endTurn moves a stream behind the others of its class.
func (s *sched) endTurn(c class, st *outStream) {
	st.turn = 0
	_, s.rings[c] = pop(s.rings[c])
	if len(st.queue) > 0 {
		s.rings[c] = append(s.rings[c], st)
	}
	if c == bulk {
		s.ahead = 0
	} else {
		s.ahead++
	}
}

// idle reports whether nothing waits.
func (s *sched) idle() bool {
	return len(s.control) == 0 && len(s.rings[interactive]) == 0 && len(s.rings[bulk]) == 0
}
