package turn

import (
	"errors"
	"fmt"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/runner/wire"
)

// CodeInvalidInput is the code of a turn whose message its program cannot take.
const CodeInvalidInput = "invalid_input"

// CodeProtocol is the code of a turn whose program broke the rules of its
// adapter.
const CodeProtocol = "harness_protocol"

// Stopped is the end of a turn that was ended for a reason. The cause belongs
// to EmitFailed and Broken.
func Stopped(cfg Config, why Reason, cause error) wire.TurnEnd {
	name := cfg.Command[0]
	switch why {
	case EmitFailed:
		return Failed(wire.CodeInternal, fmt.Sprintf("the output of %s could not be passed on: %v", name, cause),
			"Send the message again; the runner's log has more.")
	case TooMuch:
		return Failed(wire.CodeOutputLimit, fmt.Sprintf("%s wrote more than %d bytes and was stopped", name, cfg.MaxOutput),
			fmt.Sprintf("Redirect the output to a file, or raise max_output of %s in the config file.", cfg.Harness))
	case RunnerStopping:
		return Failed(wire.CodeRunnerRestarted, fmt.Sprintf("the runner was stopped while %s was running", name),
			"Send the message again when the runner is back.")
	case Silent:
		return Failed(wire.CodeTimeout, fmt.Sprintf("%s wrote nothing for %v and was stopped", name, cfg.IdleTimeout),
			fmt.Sprintf("Let it print its progress, or raise idle_timeout of %s in the config file.", cfg.Harness))
	case TooLong:
		return Failed(wire.CodeTimeout, fmt.Sprintf("%s ran for %v and was stopped", name, cfg.TurnTimeout),
			fmt.Sprintf("Split the work, or raise turn_timeout of %s in the config file.", cfg.Harness))
	case Broken:
		return Failed(CodeProtocol, fmt.Sprintf("%s %v, and was stopped", name, cause),
			"This is a fault of the program; tell whoever wrote it.")
	}
	return wire.TurnEnd{Outcome: wire.Cancelled}
}

// Ignored is the end of a turn whose program heard neither an interrupt nor a
// terminate.
func Ignored(cfg Config) wire.TurnEnd {
	return Failed(wire.CodeInterruptIgnored, fmt.Sprintf("%s ignored the interrupt and had to be killed", cfg.Command[0]),
		"What it was writing may be incomplete. Let it handle SIGINT or SIGTERM.")
}

// Crashed is the end of a turn whose program was ended by a signal, or by the
// death of its guard, that were not our doing. ok is false when it was neither.
func Crashed(cfg Config, exit guard.End) (end wire.TurnEnd, ok bool) {
	name := cfg.Command[0]
	switch {
	case exit.Lost:
		return Failed(wire.CodeCrashed, fmt.Sprintf("the process that guards %s was killed, and %s with it", name, name),
			"Send the message again. If it happens again, see whether the machine runs out of memory."), true
	case exit.Signal != "":
		return Failed(wire.CodeCrashed, fmt.Sprintf("%s was ended by %s", name, exit.Signal),
			fmt.Sprintf("Run %s in a terminal to see why. SIGKILL often means that the machine ran out of memory.", name)), true
	}
	return wire.TurnEnd{}, false
}

// NotStarted is the end of a turn whose program could not be started.
func NotStarted(cfg Config, err error) wire.TurnEnd {
	advice := fmt.Sprintf("set harnesses: %q: command: in the config file", cfg.Harness)
	var why *guard.NotStarted
	switch {
	case !errors.As(err, &why):
		advice = "the machine may be out of memory, processes or open files"
	case why.Missing:
		advice = "install it or " + advice
	}
	return Failed(wire.CodeSpawnFailed, fmt.Sprintf("cannot start %q: %v; %s", cfg.Command[0], err, advice), "")
}

// Failed is the end of a failed turn.
func Failed(code, message, remediation string) wire.TurnEnd {
	return wire.TurnEnd{Outcome: wire.Failed, Error: &wire.TurnError{Code: code, Message: message, Remediation: remediation}}
}
