package runner

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
)

// The bounds of a stream that is not read, in bytes: above the first, deltas
// are dropped; above the second the reader is cut, and its successor is told
// the state anew.
const (
	outletDeltas = 1 << 20
	outletFull   = 8 << 20
)

// outlet is a session's stream as its reader sees it. It has one reader at
// most, the newest; without one, what is published is dropped, because the core
// tells each new reader how things stand.
type outlet struct {
	mu     sync.Mutex
	reader *reader
	taps   []*reader // of requests that stream their own turn
	turn   string    // whose deltas may pass
}

// outlets are the outlets of all sessions.
type outlets struct {
	mu      sync.Mutex
	byID    map[string]*outlet
	closed  streamEnd     // how streams end that are opened now; endNone: they do not
	readers uint64        // that were attached so far
	open    int           // of these
	empty   chan struct{} // closed when none is open; nil while nobody asks
}

func (o *outlets) of(session string) *outlet {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byID == nil {
		o.byID = map[string]*outlet{}
	}
	out := o.byID[session]
	if out == nil {
		out = &outlet{}
		o.byID[session] = out
	}
	return out
}

func (o *outlets) forget(session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byID, session)
}

// attach makes a reader the session's only one. It hears nothing until it is
// welcome.
func (o *outlets) attach(session string) *reader {
	out := o.of(session)
	r := newReader()
	o.mu.Lock()
	closed := o.closed
	o.readers++
	o.open++
	r.id, r.deaf = o.readers, true
	o.mu.Unlock()
	if closed != endNone {
		r.end(closed)
		return r
	}
	out.mu.Lock()
	old := out.reader
	out.reader = r
	out.mu.Unlock()
	if old != nil {
		old.end(endCut)
	}
	return r
}

func (o *outlets) detach(session string, r *reader) {
	out := o.of(session)
	out.mu.Lock()
	if out.reader == r {
		out.reader = nil
	}
	out.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open--; o.open == 0 && o.empty != nil {
		close(o.empty)
		o.empty = nil
	}
}

// drained returns when no stream is open, or ctx has ended.
func (o *outlets) drained(ctx context.Context) {
	o.mu.Lock()
	if o.open == 0 {
		o.mu.Unlock()
		return
	}
	if o.empty == nil {
		o.empty = make(chan struct{})
	}
	empty := o.empty
	o.mu.Unlock()
	select {
	case <-empty:
	case <-ctx.Done():
	}
}

// closeAll ends all streams, and those that are opened from now on, like that.
func (o *outlets) closeAll(how streamEnd) {
	o.mu.Lock()
	o.closed = how
	all := make([]*outlet, 0, len(o.byID))
	for _, out := range o.byID {
		all = append(all, out)
	}
	o.mu.Unlock()
	for _, out := range all {
		for _, r := range out.all() {
			r.end(how)
		}
	}
}

// welcome lets the reader hear from now on.
func (o *outlet) welcome(id uint64) {
	o.mu.Lock()
	r := o.reader
	o.mu.Unlock()
	if r != nil && r.id == id {
		r.hear()
	}
}

// all are those who read the stream now.
func (o *outlet) all() []*reader {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reader == nil {
		return slices.Clone(o.taps)
	}
	return append([]*reader{o.reader}, o.taps...)
}

// tap adds a reader beside the session's one; it takes no end from others.
func (o *outlet) tap() *reader {
	r := newReader()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taps = append(o.taps, r)
	return r
}

func (o *outlet) untap(r *reader) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taps = slices.DeleteFunc(o.taps, func(t *reader) bool { return t == r })
}

func (o *outlet) publish(event json.RawMessage, covers string) {
	for _, r := range o.all() {
		r.put(frame{data: event, covers: covers})
	}
}

// begin lets the deltas of a turn pass, and no others.
func (o *outlet) begin(turn string) {
	o.mu.Lock()
	o.turn = turn
	o.mu.Unlock()
}

// delta passes a preview on; one of a turn that is not current is dropped.
func (o *outlet) delta(turn, typ, message string, index int, text string) {
	o.mu.Lock()
	current := o.turn == turn
	o.mu.Unlock()
	readers := o.all()
	if len(readers) == 0 || !current {
		return
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return // a string always encodes
	}
	data := make([]byte, 0, len(quoted)+len(message)+96)
	data = append(data, `{"type":"`...)
	data = append(data, typ...)
	data = append(data, `","delta":`...)
	data = append(data, quoted...)
	data = append(data, `,"message_id":"`...)
	data = append(data, message...)
	data = append(data, `","index":`...)
	data = strconv.AppendInt(data, int64(index), 10)
	data = append(data, '}')
	for _, r := range readers {
		r.put(frame{data: data, preview: true})
	}
}

// finish ends the stream for good.
func (o *outlet) finish() {
	for _, r := range o.all() {
		r.end(endDone)
	}
}

// frame is one event on its way to the reader.
type frame struct {
	data    []byte
	covers  string
	preview bool
}

type streamEnd int

const (
	endNone streamEnd = iota
	endDone           // the session is over: the done marker
	endCut            // somebody newer reads, or this one is too slow
)

// reader is the queue of one open stream.
type reader struct {
	id      uint64
	mu      sync.Mutex
	deaf    bool // it was not told yet how things stand
	frames  []frame
	bytes   int
	dropped int
	ended   streamEnd
	wake    chan struct{}
}

func newReader() *reader { return &reader{wake: make(chan struct{}, 1)} }

func (r *reader) put(f frame) {
	r.mu.Lock()
	switch {
	case r.deaf:
		r.mu.Unlock()
		return
	case r.ended != endNone || f.preview && r.bytes > outletDeltas:
		r.dropped++
		r.mu.Unlock()
		return
	case r.bytes > outletFull:
		r.ended = endCut
	default:
		r.frames = append(r.frames, f)
		r.bytes += len(f.data)
	}
	r.mu.Unlock()
	r.signal()
}

func (r *reader) hear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deaf = false
}

func (r *reader) end(how streamEnd) {
	r.mu.Lock()
	if r.ended == endNone {
		r.ended = how
	}
	r.mu.Unlock()
	r.signal()
}

func (r *reader) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take returns what has come, and how the stream ended if it has.
func (r *reader) take() ([]frame, streamEnd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	frames := r.frames
	r.frames, r.bytes = nil, 0
	return frames, r.ended
}
