package config

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOmnigentAgents(t *testing.T) {
	no := false
	agents, err := OmnigentAgents(write(t, `
providers: {x: {kind: key}}
acp:
  of_tomorrow: 1
  agents:
    - {name: Gemini CLI, command: gemini --experimental-acp}
    - {name: "  Grok Build! ", command: 'grok "agent stdio" ''x y'' a\ b', env_passthrough: [XAI_API_KEY, XAI_API_KEY], model: " grok-5 "}
    - {name: gemini cli, command: other, session_id_mode: client, send_model: true, omnigent_mcp: false, inject_system_prompt: false}
    - {name: "!!!", command: a, session_id_mode: strange, env_passthrough: ONE, of_tomorrow: [1]}
    - {name: Ömni, command: b, send_model: 0}
`))
	require.NoError(t, err)
	require.Equal(t, map[string]Harness{
		"acp:gemini-cli": {Adapter: "acp", Command: []string{"gemini", "--experimental-acp"}},
		"acp:grok-build": {
			Adapter: "acp", Command: []string{"grok", "agent stdio", "x y", "a b"}, EnvPassthrough: []string{"XAI_API_KEY"}, Model: "grok-5",
		},
		"acp:gemini-cli-2": {
			Adapter: "acp", Command: []string{"other"}, SessionIDMode: "client", SendModel: true, OmnigentMCP: &no, InjectSystemPrompt: &no,
		},
		"acp:agent": {Adapter: "acp", Command: []string{"a"}, EnvPassthrough: []string{"ONE"}},
		"acp:mni":   {Adapter: "acp", Command: []string{"b"}},
	}, agents)
	for id, h := range agents {
		require.NoError(t, h.check(), id)
	}
}

func TestOmnigentAgentsThatAreWrong(t *testing.T) {
	agents, err := OmnigentAgents(write(t, `
acp:
  agents:
    - {name: good, command: x}
    - text
    - {command: x}
    - {name: x, command: [a, b]}
    - {name: good, command: x "}
    - {name: good, command: x, omnigent_mcp: "yes"}
    - {name: y, command: x, env_passthrough: [A=b]}
    - {name: z, command: x, env_passthrough: 7}
    - {name: good, command: x}
`))
	require.Len(t, agents, 2)
	require.Contains(t, agents, "acp:good-4", "the ids are those of Omnigent")
	for _, want := range []string{
		"acp.agents[1]: it is not a mapping", "[2]: name is missing", "[3]: command is missing", "[4]: command: a quotation is not closed",
		"[5]: omnigent_mcp is neither", "[6]: env_passthrough has a value", "[7]: env_passthrough is not a list",
	} {
		require.ErrorContains(t, err, want)
	}
	for text, want := range map[string]string{"acp: {": "line 1", "acp: 7": "not a list", "acp: {agents: {}}": "not a list", "- 1": "line 1"} {
		agents, err := OmnigentAgents(write(t, text))
		require.ErrorContains(t, err, want, text)
		require.Empty(t, agents)
	}
	for _, text := range []string{"", "server: x", "acp:", "acp: {}", "acp: {agents: }"} {
		agents, err := OmnigentAgents(write(t, text))
		require.NoError(t, err, text)
		require.Empty(t, agents)
	}
	_, err = OmnigentAgents(filepath.Join(t.TempDir(), "none"))
	require.NoError(t, err)
	_, err = OmnigentAgents(t.TempDir())
	require.Error(t, err)
}

func TestWhereOmnigentKeepsItsConfiguration(t *testing.T) {
	env := map[string]string{}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	require.Empty(t, OmnigentFile(lookup))
	env["HOME"], env["USERPROFILE"] = "me", "me"
	require.Equal(t, filepath.Join("me", ".omnigent", "config.yaml"), OmnigentFile(lookup))
	env["OMNIGENT_CONFIG_HOME"] = "x"
	require.Equal(t, filepath.Join("x", "config.yaml"), OmnigentFile(lookup))
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":               nil,
		"  a\t b\n":      {"a", "b"},
		`a "" ''`:        {"a", "", ""},
		`"a\"b\\c\d"`:    {`a"b\c\d`},
		`'a\b' c\ d"e"f`: {`a\b`, "c def"},
		`# ü$HOME`:       {"#", "ü$HOME"},
	} {
		got, err := words(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
	for _, line := range []string{`a\`, `"a`, `'a`, `"a\"`} {
		_, err := words(line)
		require.Error(t, err, line)
	}
}
