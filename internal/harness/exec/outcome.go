package exec

import (
	"errors"
	"fmt"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/runner/wire"
)

// CodeInvalidInput is the code of a turn whose message a command cannot take.
const CodeInvalidInput = "invalid_input"

// outcome says how a turn ended, from the reason to stop it and the program's
// end. A program that had ended before anything reached it is judged by its
// own end.
func outcome(cfg Config, s stop, exit guard.End, wrote int64) wire.TurnEnd {
	name := cfg.Command[0]
	switch s.why {
	case cancelled:
		return wire.TurnEnd{Outcome: wire.Cancelled}
	case emitFailed:
		return failed(wire.CodeInternal, fmt.Sprintf("the output of %s could not be passed on: %v", name, s.cause),
			"Send the message again; the runner's log has more.")
	case tooMuch:
		return failed(wire.CodeOutputLimit, fmt.Sprintf("%s wrote more than %d bytes and was stopped", name, cfg.MaxOutput),
			fmt.Sprintf("Redirect the output to a file, or raise max_output of %s in the config file.", cfg.Harness))
	}
	if exit.Step == guard.Running && !exit.Lost {
		return byExit(cfg, exit, wrote)
	}
	switch s.why {
	case Interrupted:
		// Killed by the ladder alone, not because somebody wanted it faster.
		if exit.Lost || exit.Step == guard.Kill && s.step == guard.Interrupt {
			return failed(wire.CodeInterruptIgnored, fmt.Sprintf("%s ignored the interrupt and had to be killed", name),
				"What it was writing may be incomplete. Let it handle SIGINT or SIGTERM.")
		}
		return wire.TurnEnd{Outcome: wire.Cancelled}
	case SessionClosed:
		return wire.TurnEnd{Outcome: wire.Cancelled}
	case RunnerStopping:
		return failed(wire.CodeRunnerRestarted, fmt.Sprintf("the runner was stopped while %s was running", name),
			"Send the message again when the runner is back.")
	case silent:
		return failed(wire.CodeTimeout, fmt.Sprintf("%s wrote nothing for %v and was stopped", name, cfg.IdleTimeout),
			fmt.Sprintf("Let it print its progress, or raise idle_timeout of %s in the config file.", cfg.Harness))
	case tooLong:
		return failed(wire.CodeTimeout, fmt.Sprintf("%s ran for %v and was stopped", name, cfg.TurnTimeout),
			fmt.Sprintf("Split the work, or raise turn_timeout of %s in the config file.", cfg.Harness))
	}
	return byExit(cfg, exit, wrote)
}

// byExit judges a program that ended by itself.
func byExit(cfg Config, exit guard.End, wrote int64) wire.TurnEnd {
	name := cfg.Command[0]
	switch {
	case exit.Lost:
		return failed(wire.CodeCrashed, fmt.Sprintf("the process that guards %s was killed, and %s with it", name, name),
			"Send the message again. If it happens again, see whether the machine runs out of memory.")
	case exit.Signal != "":
		return failed(wire.CodeCrashed, fmt.Sprintf("%s was ended by %s", name, exit.Signal),
			fmt.Sprintf("Run %s in a terminal to see why. SIGKILL often means that the machine ran out of memory.", name))
	case exit.Code != 0:
		return failed(wire.CodeExitStatus, fmt.Sprintf("%s exited with status %d", name, exit.Code), exitAdvice(name, wrote))
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

// notStarted is the end of a turn whose program could not be started.
func notStarted(cfg Config, err error) wire.TurnEnd {
	advice := fmt.Sprintf("set harnesses: %q: command: in the config file", cfg.Harness)
	var why *guard.NotStarted
	switch {
	case !errors.As(err, &why):
		advice = "the machine may be out of memory, processes or open files"
	case why.Missing:
		advice = "install it or " + advice
	}
	return failed(wire.CodeSpawnFailed, fmt.Sprintf("cannot start %q: %v; %s", cfg.Command[0], err, advice), "")
}

// noMessage is the end of a turn whose message the program cannot take.
func noMessage(cfg Config, err error) wire.TurnEnd {
	return failed(CodeInvalidInput, fmt.Sprintf("%v, so there is nothing for %s to do", err, cfg.Command[0]),
		"Send the message again as plain text.")
}

func failed(code, message, remediation string) wire.TurnEnd {
	return wire.TurnEnd{Outcome: wire.Failed, Error: &wire.TurnError{Code: code, Message: message, Remediation: remediation}}
}
