package turn

import (
	"log/slog"
	"time"
)

// Config is what one turn needs to know about its program. Every field but
// Tools and OnSpawn must be set.
type Config struct {
	Harness string   // its id in the config file, for sentences
	Command []string // argv
	Guard   []string // argv of the guard
	Dir     string
	Env     []string

	IdleTimeout time.Duration // silence that ends the turn
	TurnTimeout time.Duration // time that ends the turn
	MaxOutput   int64         // bytes of output after which the turn ends
	IdleReap    time.Duration // rest that ends a program which is kept between turns

	InterruptGrace time.Duration // from interrupt to terminate
	TerminateGrace time.Duration // from terminate to kill
	GuardLimit     time.Duration // how much longer a guard may take before it is killed

	// Tools is the argv of an MCP server with the runner's tools, to which
	// --session and the session's id are to be added; nil is none.
	Tools []string

	// OnSpawn is called when the program runs and nothing of what it writes in
	// this turn has been read.
	OnSpawn func()
	Log     *slog.Logger
}

// Hung is the time after which a guard that was told to interrupt its program
// has had all it may take.
func (cfg Config) Hung() time.Duration {
	return cfg.InterruptGrace + cfg.TerminateGrace + cfg.GuardLimit
}
