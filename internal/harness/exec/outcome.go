package exec

import (
	"fmt"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// outcome says how a turn ended, from the reason to stop it and the program's
// end. A program that had ended before anything reached it is judged by its
// own end.
func outcome(cfg turn.Config, s stop, exit guard.End, wrote int64) wire.TurnEnd {
	switch s.why {
	case turn.Cancelled, turn.EmitFailed, turn.TooMuch:
		return turn.Stopped(cfg, s.why, s.cause)
	case turn.Running:
		return byExit(cfg, exit, wrote)
	}
	switch {
	case exit.Step == guard.Running && !exit.Lost:
		return byExit(cfg, exit, wrote)
	case s.why == turn.Interrupted && (exit.Lost || exit.Step == guard.Kill && s.step == guard.Interrupt):
		// Killed by the ladder alone, not because somebody wanted it faster.
		return turn.Ignored(cfg)
	}
	return turn.Stopped(cfg, s.why, s.cause)
}

// byExit judges a program that ended by itself.
func byExit(cfg turn.Config, exit guard.End, wrote int64) wire.TurnEnd {
	if end, ok := turn.Crashed(cfg, exit); ok {
		return end
	}
	name := cfg.Command[0]
	switch {
	case exit.Code != 0:
		return turn.Failed(wire.CodeExitStatus, fmt.Sprintf("%s exited with status %d", name, exit.Code), exitAdvice(name, wrote))
	case wrote == 0:
		return wire.TurnEnd{Outcome: wire.Completed, Note: "exit 0"}
	}
	return wire.TurnEnd{Outcome: wire.Completed}
}

func exitAdvice(name string, wrote int64) string {
	if wrote == 0 {
		return fmt.Sprintf("It wrote nothing; run %s in a terminal to see why.", name)
	}
	return "Its output says why."
}

// noMessage is the end of a turn whose message the program cannot take.
func noMessage(cfg turn.Config, err error) wire.TurnEnd {
	return turn.Failed(turn.CodeInvalidInput, fmt.Sprintf("%v, so there is nothing for %s to do", err, cfg.Command[0]),
		"Send the message again as plain text.")
}
