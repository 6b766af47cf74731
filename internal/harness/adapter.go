package harness

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/internal/harness/acp"
	"github.com/outrunner/outrunner/internal/harness/exec"
	"github.com/outrunner/outrunner/internal/harness/stdio"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// The adapters, as the config file names them.
const (
	AdapterExec  = "exec"  // runs a command once per message
	AdapterStdio = "stdio" // talks with a program that is kept between turns
	AdapterACP   = "acp"   // drives an agent of the Agent Client Protocol, likewise
)

// adapter knows how programs of one kind are driven.
type adapter struct {
	traits  wire.Traits
	prepare func(Definition, turn.Config, wire.TurnStart) running
	// close ends what is kept for a session, shutdown all that is kept. Turns
	// have been ended before.
	close    func(ctx context.Context, session string) error
	shutdown func(ctx context.Context) error
}

// running is a turn.
type running interface {
	Do(ctx context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd
	Stop(turn.Reason)
	Send(wire.ToHarness) error
}

// adapters is the table of all of them.
func adapters() map[string]adapter {
	pool, agents := stdio.NewPool(), acp.NewPool()
	return map[string]adapter{
		AdapterExec: {
			traits:   wire.Traits{OneMessagePerTurn: true},
			prepare:  func(_ Definition, cfg turn.Config, start wire.TurnStart) running { return exec.New(cfg, start) },
			close:    func(context.Context, string) error { return nil }, // nothing outlives its turn
			shutdown: func(context.Context) error { return nil },
		},
		AdapterStdio: {
			traits:   pool.Traits(),
			prepare:  func(_ Definition, cfg turn.Config, start wire.TurnStart) running { return pool.Prepare(cfg, start) },
			close:    pool.Close,
			shutdown: pool.Shutdown,
		},
		AdapterACP: {
			traits: agents.Traits(),
			prepare: func(def Definition, cfg turn.Config, start wire.TurnStart) running {
				return agents.Prepare(def.ACP, cfg, start)
			},
			close:    agents.Close,
			shutdown: agents.Shutdown,
		},
	}
}

// adapterNames lists the table for a sentence.
func adapterNames(table map[string]adapter) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ", ")
}
