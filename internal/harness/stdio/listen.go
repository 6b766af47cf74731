package stdio

import (
	"bytes"
	"errors"

	"github.com/outrunner/outrunner/internal/harness/keep"
)

// Hear takes a line of the turn. The goroutine that reads calls it.
func (r *Run) Hear(p *keep.Process, line []byte) {
	if !r.Count(line) {
		return
	}
	r.Pulse.Pause()
	defer r.Pulse.Beat()
	h, err := hear(line)
	switch {
	case errors.Is(err, errUnanswerable):
		r.Break(err)
	case err != nil:
		r.skip(line, err)
	case h.end != "":
		r.events++
		p.Release(r.Turn) // what comes now belongs to nobody
		r.Finish(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.end = &h
		})
	default:
		r.events++
		r.pass(h)
	}
}

// skip counts a line that is no event.
func (r *Run) skip(line []byte, why error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	r.noise++
	if r.noise == 1 {
		r.quote = keep.Excerpt(line)
		r.Log.Warn("a harness wrote a line that is no event; it and others are skipped", "line", r.quote, "err", why)
	}
}

// pass passes an event on.
func (r *Run) pass(h heard) {
	if h.waits != (waiting{}) {
		is, err := r.await(h)
		if err != nil {
			r.Break(err)
		}
		if !is {
			return
		}
	}
	if h.event.Consumed != "" {
		r.consumed(h.event.Consumed)
	}
	if h.event.Type != "" {
		r.Tell(r.emit, h.event)
	}
}
