package tunnel

import "time"

const (
	// blockedFlush is how long a write must have taken to say something about
	// the link's rate: a shorter one was taken by a buffer.
	blockedFlush = 50 * time.Millisecond
	// freeFlush is how many bytes a shorter write must have to prove that the
	// link is not the bottleneck now.
	freeFlush = 64 << 10
	// rateEvidence is how long writes must have been blocked before the rate is
	// believed: a peer, or this process, that was held up for a moment is not a
	// slow link.
	rateEvidence = 3 * time.Second
	// rateMemory is how much blocked time counts; older evidence fades.
	rateMemory = 10 * time.Second
)

// linkRate is the rate at which the connection takes bytes while it is the
// bottleneck.
type linkRate struct {
	bytes   float64
	blocked time.Duration // that they took
}

// add takes one write of n bytes.
func (r *linkRate) add(n int, took time.Duration) {
	switch {
	case took >= blockedFlush:
		r.bytes += float64(n)
		r.blocked += took
	case n >= freeFlush:
		*r = linkRate{}
	}
	for r.blocked > rateMemory {
		r.bytes, r.blocked = r.bytes/2, r.blocked/2
	}
}

// need returns how long n bytes would take; 0 when the rate is not known.
func (r *linkRate) need(n int) time.Duration {
	if r.blocked < rateEvidence {
		return 0
	}
	return time.Duration(float64(n) / max(r.bytes, 1) * float64(r.blocked))
}
