package core

import (
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// The error of a failed turn as everybody is told it (sessions.md 5.9): the
// harness's own code stands, but for the one thing that a server and a viewer
// act on by its name, a conversation that has become too long for the model
// (sessions.md 14, trap 15).

// overflowWords are what models say then, in small letters.
func overflowWords() []string {
	return []string{"context_length_exceeded", "context window", "maximum context length", "prompt is too long"}
}

// normalized is the end with an error that can be read, if it failed.
func normalized(end wire.TurnEnd) wire.TurnEnd {
	if end.Outcome != wire.Failed {
		end.Error = nil
		return end
	}
	var e wire.TurnError
	if end.Error != nil {
		e = *end.Error
	}
	if strings.TrimSpace(e.Message) == "" {
		e.Message = "The turn failed without saying why."
	}
	if !overflows(e) {
		e.Code = first(e.Code, e.Type, wire.CodeInternal)
	} else {
		if e.Code != wire.CodeContextOverflow {
			e.Type = first(e.Type, e.Code)
		}
		e.Code = wire.CodeContextOverflow
		e.Remediation = first(e.Remediation,
			"The conversation is too long for the model. Start a new session, or use a model that takes more.")
	}
	end.Error = &e
	return end
}

// overflows tells whether a model said that it was given too much. What this
// runner says of a program may quote anything, and is not taken for that.
func overflows(e wire.TurnError) bool {
	switch e.Code {
	case wire.CodeContextOverflow:
		return true
	case wire.CodeRunnerRestarted, wire.CodeIdentityUnknown, wire.CodeSubAgentNotFound, wire.CodeHarnessUnknown, wire.CodeSpawnFailed,
		wire.CodeExitStatus, wire.CodeCrashed, wire.CodeTimeout, wire.CodeOutputLimit, wire.CodeInterruptIgnored:
		return false
	}
	message := strings.ToLower(e.Message)
	for _, words := range overflowWords() {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}
