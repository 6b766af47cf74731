package stdio

import (
	"fmt"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// CodeFailed is the code of a program that says that it failed, and not why.
const CodeFailed = "harness_failed"

// outcome says how the turn ended: as the program said, or for the reason why
// it was stopped, or by the program's own end.
func (r *Run) outcome(p *process) wire.TurnEnd {
	r.mu.Lock()
	end, s := r.end, r.stop
	r.mu.Unlock()
	if r.noise > 1 {
		r.log.Warn("lines of a harness were no events", "lines", r.noise)
	}
	switch {
	case end != nil:
		return byTerminal(r.cfg, *end)
	case s.why == turn.Interrupted && s.step == guard.Running && p.wasKilled():
		return turn.Ignored(r.cfg)
	case s.why == turn.Silent && r.events == 0 && r.noise > 0:
		// It was not silent; it may be a program that never was one of these.
		stopped := turn.Stopped(r.cfg, s.why, s.cause)
		stopped.Error.Message = fmt.Sprintf("%s wrote nothing that is an event for %v and was stopped; its first line was: %s",
			r.cfg.Command[0], r.cfg.IdleTimeout, r.quote)
		return stopped
	case s.why != turn.Running:
		return turn.Stopped(r.cfg, s.why, s.cause)
	case p.failure != nil:
		return turn.NotStarted(r.cfg, p.failure)
	}
	return byExit(r.cfg, r.tally, p.exit, p.log.lastWords())
}

// wasKilled tells whether the program is gone because it heard nothing else.
func (p *process) wasKilled() bool {
	select {
	case <-p.gone:
		return p.exit.Lost || p.exit.Step == guard.Kill
	default:
		return false
	}
}

func byTerminal(cfg turn.Config, h heard) wire.TurnEnd {
	switch h.end {
	case completed:
		return wire.TurnEnd{Outcome: wire.Completed}
	case cancelled:
		return wire.TurnEnd{Outcome: wire.Cancelled}
	}
	f := h.fault
	switch {
	case f.code == "" && f.message == "":
		f.message = fmt.Sprintf("%s failed without saying why", cfg.Command[0])
	case f.message == "":
		f.message = fmt.Sprintf("%s failed with %s", cfg.Command[0], f.code)
	}
	if f.code == "" {
		f.code = CodeFailed
	}
	return turn.Failed(f.code, f.message, f.remediation)
}

// byExit judges a program that ended before it had ended the turn.
func byExit(cfg turn.Config, t tally, exit guard.End, lastWords string) wire.TurnEnd {
	name, code := cfg.Command[0], wire.CodeExitStatus
	how := fmt.Sprintf("exited with status %d", exit.Code)
	if exit.Step != guard.Running && exit.Signal != "" {
		code, how = wire.CodeCrashed, "closed its standard output and was stopped"
	} else if end, ok := turn.Crashed(cfg, exit); ok {
		if lastWords != "" {
			end.Error.Remediation = words(lastWords)
		}
		return end
	}
	message := fmt.Sprintf("%s %s before it had ended the turn", name, how)
	if t.events == 0 && t.noise > 0 {
		message = fmt.Sprintf("%s wrote nothing that is an event, and %s; its first line was: %s", name, how, t.quote)
	}
	advice := fmt.Sprintf("It wrote nothing to standard error; run %s in a terminal to see why.", name)
	if lastWords != "" {
		advice = words(lastWords)
	}
	return turn.Failed(code, message, advice)
}

func words(last string) string { return "Its last line on standard error was: " + last }
