package stdio

import (
	"cmp"
	"fmt"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// CodeFailed is the code of a program that says that it failed, and not why.
const CodeFailed = "harness_failed"

// outcome says how the turn ended: as the program said, or for the reason why
// it was stopped, or by the program's own end.
func (r *Run) outcome(p *keep.Process) wire.TurnEnd {
	if r.noise > 1 {
		r.Log.Warn("lines of a harness were no events", "lines", r.noise)
	}
	r.mu.Lock()
	end := r.end
	r.mu.Unlock()
	if end != nil {
		return byTerminal(r.cfg, *end)
	}
	quote := ""
	if r.events == 0 {
		quote = r.quote
	}
	return r.Unfinished(p, quote)
}

func byTerminal(cfg turn.Config, h heard) wire.TurnEnd {
	switch h.end {
	case completed:
		return wire.TurnEnd{Outcome: wire.Completed, Usage: h.usage}
	case cancelled:
		return wire.TurnEnd{Outcome: wire.Cancelled, Usage: h.usage}
	}
	f := h.fault
	switch {
	case f.code == "" && f.kind == "" && f.message == "":
		f.message = fmt.Sprintf("%s failed without saying why", cfg.Command[0])
	case f.message == "":
		f.message = fmt.Sprintf("%s failed with %s", cfg.Command[0], cmp.Or(f.code, f.kind))
	}
	if f.code == "" {
		f.code, f.kind = f.kind, ""
	}
	return wire.TurnEnd{Outcome: wire.Failed, Usage: h.usage, Error: &wire.TurnError{
		Code: cmp.Or(f.code, CodeFailed), Type: f.kind, Message: f.message,
		Title: f.title, Cause: f.cause, Remediation: f.remediation,
	}}
}
