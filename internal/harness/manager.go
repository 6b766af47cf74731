package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// Manager runs turns. It implements the runner's port Harness; its methods may
// be called from any goroutine.
type Manager struct {
	cfg      Config
	adapters map[string]adapter
	turns    *registry
}

// New checks the configuration and returns a manager that runs nothing yet.
// Its errors name the key of the config file.
func New(cfg Config) (*Manager, error) {
	table := adapters()
	cfg, err := cfg.check(table)
	if err != nil {
		return nil, err
	}
	return &Manager{cfg: cfg, adapters: table, turns: newRegistry()}, nil
}

// Traits tells what a harness declares, and whether it is configured here.
func (m *Manager) Traits(harness string) (wire.Traits, bool) {
	def, ok := m.cfg.Harnesses[harness]
	traits := m.adapters[def.Adapter].traits
	traits.Steer = def.Steer
	return traits, ok
}

// Turn runs one turn and returns how it ended, once every process that it
// started for this turn alone is gone. It never panics. Cancelling ctx kills
// the program; an emit that blocks must itself end with ctx.
func (m *Manager) Turn(ctx context.Context, start wire.TurnStart, emit func(wire.HarnessEvent) error) wire.TurnEnd {
	def, ok := m.cfg.Harnesses[start.Harness]
	if !ok {
		return turn.Failed(wire.CodeHarnessUnknown,
			fmt.Sprintf("the harness %q is not configured on this machine; add it under harnesses: in the config file", start.Harness), "")
	}
	dir, err := m.cfg.folder(start.Workspace)
	if err != nil {
		return turn.Failed(wire.CodeSpawnFailed, fmt.Sprintf("cannot start %q: %v", def.Command[0], err), "")
	}
	run := m.adapters[def.Adapter].prepare(def, turn.Config{
		Harness: start.Harness, Command: def.Command, Guard: m.cfg.Guard, Dir: dir,
		Env:         environment(os.Environ(), slices.Concat(m.cfg.PassEnv, def.PassEnv), dir, start.Session, start.Turn, m.set(def)),
		Tools:       m.cfg.Tools.Command,
		IdleTimeout: def.IdleTimeout, TurnTimeout: def.TurnTimeout, MaxOutput: def.MaxOutput, IdleReap: def.IdleReap,
		InterruptGrace: m.cfg.InterruptGrace, TerminateGrace: m.cfg.TerminateGrace, GuardLimit: m.cfg.GuardLimit,
		OnSpawn: m.cfg.OnSpawn, Log: m.cfg.Log,
	}, start)
	leave, err := m.turns.enter(key{start.Session, start.Turn}, run)
	switch {
	case errors.Is(err, errStopping):
		return turn.Failed(wire.CodeRunnerRestarted, fmt.Sprintf("%s was not started: %v; send the message again when it is back", def.Command[0], err), "")
	case err != nil:
		return turn.Failed(wire.CodeInternal, fmt.Sprintf("cannot start %q: %v", def.Command[0], err), "")
	}
	defer leave()
	return run.Do(ctx, emit)
}

// set is what a program's environment has besides the basics.
func (m *Manager) set(def Definition) map[string]string {
	if m.cfg.Tools.Socket == "" {
		return def.Env
	}
	vars := map[string]string{envTools: m.cfg.Tools.Socket}
	maps.Copy(vars, def.Env)
	return vars
}

// Interrupt asks a running turn to stop, and has its guard insist. It returns
// at once; the end comes from Turn. It may come before Turn: a turn that is
// not known yet is interrupted when it begins.
func (m *Manager) Interrupt(_ context.Context, session, turn string) error {
	m.turns.interrupt(key{session, turn})
	return nil
}

// Send hands something to a running turn. One that does not run is no error.
func (m *Manager) Send(_ context.Context, session, turn string, msg wire.ToHarness) error {
	if t, ok := m.turns.find(key{session, turn}); ok {
		return t.Send(msg)
	}
	return nil
}

// Close ends the turns of a session and whatever program is kept for it, and
// waits until their processes are gone, or ctx ends.
func (m *Manager) Close(ctx context.Context, session string) error {
	err := m.turns.end(ctx, turn.SessionClosed, func(k key) bool { return k.session == session })
	for _, a := range m.adapters {
		err = errors.Join(err, a.close(ctx, session))
	}
	if err != nil {
		return fmt.Errorf("closing the programs of session %s: %w", session, err)
	}
	return nil
}

// Shutdown ends all turns, refuses new ones, and waits until every process is
// gone, or ctx ends. A turn that it cuts fails with runner_restarted.
func (m *Manager) Shutdown(ctx context.Context) error {
	m.turns.refuse()
	err := m.turns.end(ctx, turn.RunnerStopping, func(key) bool { return true })
	for _, a := range m.adapters {
		err = errors.Join(err, a.shutdown(ctx))
	}
	if err != nil {
		return fmt.Errorf("shutting the harnesses down: %w", err)
	}
	return nil
}
