package keep

import (
	"fmt"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// Unfinished is the end of a turn that the program did not end: the reason why
// it was stopped, or the program's own end. quote is the first line of a
// program that wrote nothing that makes sense, "" of any other.
func (t *Turn) Unfinished(p *Process, quote string) wire.TurnEnd {
	s := t.Stopping()
	switch {
	case s.Why == turn.Interrupted && s.Step == guard.Running && p.WasKilled():
		return turn.Ignored(t.cfg)
	case s.Why == turn.Silent && quote != "":
		// It was not silent; it may be a program that never was one of these.
		stopped := turn.Stopped(t.cfg, s.Why, s.Cause)
		stopped.Error.Message = fmt.Sprintf("%s wrote nothing that is an event for %v and was stopped; its first line was: %s",
			t.cfg.Command[0], t.cfg.IdleTimeout, quote)
		return stopped
	case s.Why != turn.Running:
		return turn.Stopped(t.cfg, s.Why, s.Cause)
	case p.failure != nil:
		return turn.NotStarted(t.cfg, p.failure)
	}
	return byExit(t.cfg, quote, p.exit, p.LastWords())
}

// byExit judges a program that ended before it had ended the turn.
func byExit(cfg turn.Config, quote string, exit guard.End, lastWords string) wire.TurnEnd {
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
	if quote != "" {
		message = fmt.Sprintf("%s wrote nothing that is an event, and %s; its first line was: %s", name, how, quote)
	}
	advice := fmt.Sprintf("It wrote nothing to standard error; run %s in a terminal to see why.", name)
	if lastWords != "" {
		advice = words(lastWords)
	}
	return turn.Failed(code, message, advice)
}

func words(last string) string { return "Its last line on standard error was: " + last }
