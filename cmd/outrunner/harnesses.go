package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/outrunner/outrunner/internal/config"
	"github.com/outrunner/outrunner/internal/harness"
	"github.com/outrunner/outrunner/internal/harness/acp"
	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/runner"
	"github.com/outrunner/outrunner/runner/wire"
)

// programs are the harnesses of the config file, the agents that Omnigent's own
// configuration has, and the shell. Whoever has such agents finds them here; the
// config file's word comes first, and a fault in the other file stops nothing.
func (s runnerSetup) programs() map[string]harness.Definition {
	table := map[string]harness.Definition{harness.Shell: harness.DefaultShell()}
	if s.omnigent != "" {
		agents, err := config.OmnigentAgents(s.omnigent)
		if err != nil {
			s.log.Warn("agents of Omnigent's configuration are left out", "err", err)
		}
		for id, h := range agents {
			def := definition(h)
			if err := harness.Check(id, def); err != nil {
				s.log.Warn("an agent of Omnigent's configuration is left out", "file", s.omnigent, "err", err)
				continue
			}
			table[wire.Canon(id)] = def
		}
	}
	for id, h := range s.file.Harnesses {
		table[wire.Canon(id)] = definition(h)
	}
	return table
}

// definition is a program as the harnesses want it.
func definition(h config.Harness) harness.Definition {
	return harness.Definition{
		Adapter: h.Adapter, Command: h.Command, Env: h.Env, PassEnv: append(h.PassEnv[:len(h.PassEnv):len(h.PassEnv)], h.EnvPassthrough...),
		IdleTimeout: time.Duration(h.IdleTimeout), TurnTimeout: time.Duration(h.TurnTimeout), MaxOutput: int64(h.MaxOutput),
		IdleReap: time.Duration(h.IdleReap), Steer: h.Steer,
		ACP: acp.Options{
			NoTools: h.OmnigentMCP != nil && !*h.OmnigentMCP,
			Model:   h.Model, ClientSessionID: h.SessionIDMode == config.SessionIDClient, SendModel: h.SendModel,
			KeepSystemPrompt: h.InjectSystemPrompt != nil && !*h.InjectSystemPrompt,
		},
	}
}

// harnesses sets the programs up.
func (s runnerSetup) harnesses(table map[string]harness.Definition, tools harness.Tools) (*harness.Manager, error) {
	self, err := guard.Self()
	if err != nil {
		return nil, err
	}
	return harness.New(harness.Config{
		Harnesses: table, Workspace: s.workspace, PassEnv: s.file.PassEnv, Guard: self, Log: s.log,
		Tools: tools, OnSpawn: func() { runner.CrashAt("spawned") },
	})
}

// tools is how programs reach the runner's tools.
func (s runnerSetup) tools() harness.Tools {
	self, err := os.Executable()
	if err != nil {
		s.log.Warn("agents get no tools by MCP: this program cannot be found", "err", err)
		return harness.Tools{}
	}
	return harness.Tools{Command: []string{self, "mcp", "--state", filepath.Dir(s.room.Dir)}, Socket: toolSocket(s.room.Dir)}
}
