package tunnel

import (
	"context"
	"net/http"
	"sync"
)

// dispatcher starts handlers so that the requests of one order key start in the
// order in which they came. The next of a key starts once the one before is
// admitted: it said so, wrote its head, or returned. A request without a key
// is admitted at birth. At most Limits.Starting handlers are between start and
// admission; waiting keys and admitted handlers hold no slot, so neither a
// slow key nor a long stream keeps others from starting.
//
// The reader calls add and cancel; neither waits.
type dispatcher struct {
	limits Limits
	start  func(*call) // runs the handler in a goroutine of its own, then calls finished

	mu       sync.Mutex
	calls    map[string]*call
	keys     map[string]*keyQueue
	ready    []*keyQueue // their first may start as soon as a slot is free
	starting int
	queued   int
	bytes    int
	closed   bool
	idle     chan struct{} // asked for by close
	wasIdle  bool
}

// keyQueue is the line of one order key. It exists while it is not empty.
type keyQueue struct {
	key      string
	line     []*call
	starting *call // started and not admitted; the first of line waits for it
}

// call is one request on its way through the dispatcher.
type call struct {
	id     string
	key    string
	frame  Request
	req    *http.Request // without its body, which is decoded when it starts
	cancel context.CancelCauseFunc
	out    outStream

	state callState // of the dispatcher's lock
}

// size is how many bytes the request holds while it waits.
func (c *call) size() int {
	n := len(c.frame.Path) + len(c.frame.QueryString) + callOverhead
	for _, h := range c.frame.Headers {
		n += len(h[0]) + len(h[1])
	}
	if c.frame.Body != nil {
		n += len(*c.frame.Body)
	}
	return n
}

// callOverhead is about what a waiting request costs beside its strings.
const callOverhead = 1 << 10

type callState uint8

const (
	callWaiting callState = iota
	callStarting
	callAdmitted
	callDone
)

func newDispatcher(l Limits, start func(*call)) *dispatcher {
	return &dispatcher{limits: l, start: start, calls: map[string]*call{}, keys: map[string]*keyQueue{}}
}

// verdict is what add did with a request.
type verdict int

const (
	accepted   verdict = iota
	overloaded         // a limit is reached: refuse this one
	stopping           // nothing new is taken any more
	duplicate          // the id is in use: it cannot be answered without harm to the other
)

// add takes a request, and starts it if it is its turn.
func (d *dispatcher) add(c *call) verdict {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, taken := d.calls[c.id]; taken {
		return duplicate
	}
	if d.closed {
		return stopping
	}
	if len(d.calls) >= d.limits.Open {
		return overloaded
	}
	if c.key == "" {
		d.calls[c.id] = c
		c.state = callAdmitted
		d.start(c)
		return accepted
	}
	q := d.keys[c.key]
	if d.queued >= d.limits.Queued || d.bytes+c.size() > d.limits.QueuedBytes ||
		q != nil && len(q.line) >= d.limits.QueuedPerKey {
		return overloaded
	}
	if q == nil {
		q = &keyQueue{key: c.key}
		d.keys[c.key] = q
	}
	d.calls[c.id] = c
	q.line = append(q.line, c)
	d.queued++
	d.bytes += c.size()
	if len(q.line) == 1 && q.starting == nil {
		d.ready = append(d.ready, q)
		d.fill()
	}
	return accepted
}

// has reports whether a request with this id exists.
func (d *dispatcher) has(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[id] != nil
}

// fill starts what may start.
func (d *dispatcher) fill() {
	for d.starting < d.limits.Starting && len(d.ready) > 0 {
		var q *keyQueue
		var c *call
		q, d.ready = pop(d.ready)
		c, q.line = pop(q.line)
		d.unqueue(c)
		c.state = callStarting
		q.starting = c
		d.starting++
		d.start(c)
	}
}

func (d *dispatcher) unqueue(c *call) {
	d.queued--
	d.bytes -= c.size()
}

// admit lets the next of the same key start.
func (d *dispatcher) admit(c *call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.admitLocked(c)
}

func (d *dispatcher) admitLocked(c *call) {
	if c.state != callStarting {
		return
	}
	c.state = callAdmitted
	d.starting--
	q := d.keys[c.key]
	if q == nil { // closed meanwhile
		return
	}
	q.starting = nil
	if len(q.line) > 0 {
		d.ready = append(d.ready, q)
	} else {
		delete(d.keys, c.key)
	}
	d.fill()
}

// finished takes a call out whose handler returned.
func (d *dispatcher) finished(c *call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.admitLocked(c)
	c.state = callDone
	delete(d.calls, c.id)
	d.noteIdle()
}

// stop ends one call: a waiting one never starts, a running one gets cause as
// its context's. It returns nil for an unknown id.
func (d *dispatcher) stop(id string, cause error) *call {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.calls[id]
	if c == nil {
		return nil
	}
	if c.state == callWaiting {
		d.removeLocked(c)
	}
	c.cancel(cause)
	return c
}

// removeLocked takes a waiting call out of its line.
func (d *dispatcher) removeLocked(c *call) {
	d.unqueue(c)
	delete(d.calls, c.id)
	c.state = callDone
	q := d.keys[c.key]
	for i := range q.line {
		if q.line[i] == c {
			q.line = append(q.line[:i:i], q.line[i+1:]...)
			break
		}
	}
	if len(q.line) > 0 || q.starting != nil {
		return
	}
	delete(d.keys, c.key)
	for i := range d.ready {
		if d.ready[i] == q {
			d.ready = append(d.ready[:i:i], d.ready[i+1:]...)
			break
		}
	}
}

// close refuses everything new and returns the ids of what waited, which will
// never start. idle closes once the last handler has returned.
func (d *dispatcher) close(cause error) (dropped []string, idle <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, c := range d.calls {
		if c.state == callWaiting {
			c.state = callDone
			c.cancel(cause)
			delete(d.calls, c.id)
			dropped = append(dropped, c.id)
		}
	}
	d.ready, d.keys, d.queued, d.bytes = nil, map[string]*keyQueue{}, 0, 0
	if d.idle == nil {
		d.idle = make(chan struct{})
		d.noteIdle()
	}
	return dropped, d.idle
}

// noteIdle closes idle when it is asked for and nothing runs.
func (d *dispatcher) noteIdle() {
	if d.idle != nil && len(d.calls) == 0 && !d.wasIdle {
		d.wasIdle = true
		close(d.idle)
	}
}
