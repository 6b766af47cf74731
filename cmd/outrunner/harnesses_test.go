package main

import (
	"bytes"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/config"
	"github.com/outrunner/outrunner/internal/harness"
	"github.com/outrunner/outrunner/internal/harness/acp"
)

func TestProgramsOfBothFiles(t *testing.T) {
	theirs := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(theirs, []byte(`
acp:
  agents:
    - {name: Mine, command: theirs}
    - {name: Other, command: other --acp, model: m, session_id_mode: client, send_model: true, inject_system_prompt: false, env_passthrough: [KEY]}
    - {name: Thief, command: x, env_passthrough: [OMNIGENT_RUNNER_X]}
    - {name: Broken, command: 7}
`), 0o600))
	var log bytes.Buffer
	s := runnerSetup{
		omnigent: theirs, log: slog.New(slog.NewTextHandler(&log, nil)),
		file: &config.File{Harnesses: map[string]config.Harness{
			"acp:mine": {Adapter: "acp", Command: []string{"ours"}, PassEnv: []string{"A"}, EnvPassthrough: []string{"B"}},
		}},
	}
	table := s.programs()
	require.Equal(t, []string{"acp:mine", "acp:other", "acp:shell"}, slices.Sorted(maps.Keys(table)))
	require.Equal(t, harness.Definition{Adapter: "acp", Command: []string{"ours"}, PassEnv: []string{"A", "B"}}, table["acp:mine"])
	require.Equal(t, harness.Definition{
		Adapter: "acp", Command: []string{"other", "--acp"}, PassEnv: []string{"KEY"},
		ACP: acp.Options{Model: "m", ClientSessionID: true, SendModel: true, KeepSystemPrompt: true},
	}, table["acp:other"])
	require.Contains(t, log.String(), "acp.agents[3]: command is missing")
	require.Contains(t, log.String(), "OMNIGENT_RUNNER_X is a credential")
	_, err := s.harnesses(table, harness.Tools{})
	require.NoError(t, err)

	s.omnigent = t.TempDir()
	require.Len(t, s.programs(), 2)
	require.Contains(t, log.String(), "is a directory")
	s.omnigent = ""
	require.Len(t, s.programs(), 2)
}
