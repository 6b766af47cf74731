package stdio

import (
	"bytes"
	"errors"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// take takes a line of the turn. The goroutine that reads calls it. Once the
// turn's reader is gone or has had enough, lines are taken and not passed on,
// so that a program that is asked to end never blocks in a write.
func (r *Run) take(p *process, line []byte) {
	r.wrote += int64(len(line)) + 1
	if r.wrote > r.cfg.MaxOutput {
		r.Stop(turn.TooMuch)
		return
	}
	r.pulse.Pause()
	defer r.pulse.Beat()
	h, err := hear(line)
	switch {
	case errors.Is(err, errUnanswerable):
		r.halt(brokenBy(err))
	case err != nil:
		r.skip(line, err)
	case h.end != "":
		r.events++
		r.terminal(p, h)
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
		r.quote = excerpt(line)
		r.log.Warn("a harness wrote a line that is no event; it and others are skipped", "line", r.quote, "err", why)
	}
}

// terminal ends the turn, unless that is being ended for a harder reason than
// an interrupt.
func (r *Run) terminal(p *process, h heard) {
	p.finish(r) // what comes now belongs to nobody
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop.step == guard.Running {
		r.end = &h
		close(r.done)
	}
}

// pass passes an event on. A tool call is known before anybody can answer it.
func (r *Run) pass(h heard) {
	if h.callID != "" {
		r.mu.Lock()
		r.calls[h.callID] = struct{}{}
		r.mu.Unlock()
	}
	switch h.event.Type {
	case "":
	case wire.TextDelta, wire.ReasoningDelta:
		for _, piece := range turn.Pieces(h.event.Delta, turn.DeltaSize) {
			r.tell(wire.HarnessEvent{Type: h.event.Type, Delta: piece})
		}
	default:
		r.tell(h.event)
	}
}

func (r *Run) tell(e wire.HarnessEvent) {
	if r.stopping().why.Deaf() {
		return
	}
	if err := turn.Safely(r.emit, e); err != nil {
		r.halt(stop{why: turn.EmitFailed, cause: err})
	}
}
