package tunnel

import (
	"encoding/binary"
	"time"
)

// The pong window: a WebSocket pong proves that the peer has read all that was
// written before its ping. So bulk bytes are let out only while less than the
// window is under way without such a proof, and what must be quick never
// stands behind more than that. No peer needs to know.
const (
	// pingSpacing is the least time between two pings of the window.
	pingSpacing = time.Millisecond
	// maxPings is how many pings may be unanswered; then only pongs help.
	maxPings = 64
	// blindAfter is how long a peer that never ponged at all may keep the
	// window shut; then it is taken for one that cannot, and only the
	// connection's own back-pressure is left.
	blindAfter = 10 * time.Second
	// rttPeriod and ratePeriod are for how long a measured round trip or rate is
	// believed, at most twice this. A path changes rarely, a load often.
	rttPeriod  = 30 * time.Second
	ratePeriod = time.Second
	// windowGain is how much more than the path holds may be under way, so that
	// a higher rate can show.
	windowGain = 2
)

// window is the arithmetic of it, a value without locks or clocks: times are
// durations since the connection began.
type window struct {
	min, max int64
	size     int64         // allowed
	sent     int64         // bulk bytes written
	acked    int64         // of those, covered by a pong
	ackedAt  time.Duration // when that became known, or when the first byte after it was written
	pinged   int64         // of those, followed by a ping
	seq      uint64
	pings    []pingMark
	lastPing time.Duration
	want     bool // someone waits for a proof of what is written now
	ponged   bool // the peer has answered once
	rtt      estimate
	rate     estimate // bytes per second that the peer took
}

// pingMark is a ping that is not answered yet.
type pingMark struct {
	seq   uint64
	at    time.Duration
	sent  int64         // window.sent when it was written
	acked int64         // window.acked then
	since time.Duration // window.ackedAt then
}

func newWindow(l Limits) window {
	return window{
		min: int64(l.Window), max: int64(l.WindowMax), size: int64(l.Window),
		lastPing: -pingSpacing,
		rtt:      estimate{period: rttPeriod, better: func(a, b float64) bool { return a < b }},
		rate:     estimate{period: ratePeriod, better: func(a, b float64) bool { return a > b }},
	}
}

// open reports whether bulk bytes may be written.
func (w *window) open(now time.Duration) bool {
	return w.inFlight() < w.size || w.blind(now)
}

func (w *window) inFlight() int64 { return w.sent - w.acked }

// blind reports that the peer seems not to answer pings at all.
func (w *window) blind(now time.Duration) bool {
	return !w.ponged && len(w.pings) > 0 && now-w.pings[0].at >= blindAfter
}

// took counts bulk bytes that are being written.
func (w *window) took(n int, now time.Duration) {
	if w.inFlight() == 0 {
		w.ackedAt = now
	}
	w.sent += int64(n)
}

// pingAfter returns how long from now the next ping is due: 0 for at once,
// negative when none is needed.
func (w *window) pingAfter(now time.Duration) time.Duration {
	behind := w.sent - w.pinged
	// Beyond the quarter, a shut window needs a proof of its last bytes too.
	needed := w.want || behind > 0 && (behind >= w.size/4 || w.inFlight() >= w.size)
	if !needed || len(w.pings) >= maxPings {
		return -1
	}
	return max(0, w.lastPing+pingSpacing-now)
}

// ping counts a ping written at now, and returns its payload.
func (w *window) ping(now time.Duration) []byte {
	w.seq++
	w.pings = append(w.pings, pingMark{seq: w.seq, at: now, sent: w.sent, acked: w.acked, since: w.ackedAt})
	w.pinged, w.lastPing, w.want = w.sent, now, false
	return binary.BigEndian.AppendUint64(nil, w.seq)
}

// pong takes the payload of a pong and returns the number of the ping that it
// answers; it covers all earlier pings. A pong that answers none is ignored.
func (w *window) pong(payload []byte, now time.Duration) (seq uint64, ok bool) {
	if len(payload) != 8 {
		return 0, false
	}
	seq = binary.BigEndian.Uint64(payload)
	for i, m := range w.pings {
		if m.seq != seq {
			continue
		}
		w.pings = append(w.pings[:0], w.pings[i+1:]...)
		w.acked, w.ackedAt, w.ponged = m.sent, now, true
		w.learn(m, now)
		return seq, true
	}
	return 0, false
}

// learn sets the size to twice what the path holds: the best rate
// times the best round trip and what the spacing of pings hides.
func (w *window) learn(m pingMark, now time.Duration) {
	rtt := max(now-m.at, time.Microsecond)
	// Only a ping with nothing before it measures the path rather than our
	// own queue, so only such a one may raise a forgotten estimate.
	w.rtt.add(now, rtt.Seconds(), m.sent == m.acked)
	// The peer took these bytes since the last proof before the ping, not just
	// since the ping.
	span := max(now-m.since, time.Microsecond)
	w.rate.add(now, float64(w.acked-m.acked)/span.Seconds(), true)
	hold := windowGain * w.rate.value() * (w.rtt.value() + pingSpacing.Seconds())
	w.size = int64(min(max(hold, float64(w.min)), float64(w.max)))
}

// estimate is the best of the samples of this period and the one before.
type estimate struct {
	period    time.Duration
	better    func(a, b float64) bool
	cur, prev float64 // NaN-free: valid only if the flags say so
	has, had  bool
	since     time.Duration
}

// add takes a sample. One that is not clean only counts if it is better than
// what is known.
func (e *estimate) add(now time.Duration, sample float64, clean bool) {
	if now-e.since >= e.period && e.has {
		e.prev, e.had = e.cur, true
		e.has, e.since = false, now
	}
	if !clean && (e.has || e.had) && !e.better(sample, e.value()) {
		return
	}
	if !e.has || e.better(sample, e.cur) {
		e.cur, e.has = sample, true
	}
}

// value returns the estimate, 0 before the first sample.
func (e *estimate) value() float64 {
	switch {
	case e.has && e.had && e.better(e.prev, e.cur):
		return e.prev
	case e.has:
		return e.cur
	case e.had:
		return e.prev
	}
	return 0
}
