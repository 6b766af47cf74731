package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestReadFile(t *testing.T) {
	path := write(t, `
server: https://example.org/base
listen: 0.0.0.0:80
workspace: work
state: /var/lib/outrunner
log_level: debug
log_format: json
public_hosts: [runner.example.org]
pass_env: [SSH_AUTH_SOCK]
harnesses:
  "acp:mine":
    adapter: exec
    command: [python3, answer.py, "{message}"]
    env: {A: b}
    pass_env: [OPENAI_API_KEY]
    idle_timeout: 90s
    turn_timeout: 2h
    max_output: 64MiB
  acp:agent: {adapter: acp, command: [a], model: m, session_id_mode: client, send_model: true, omnigent_mcp: false, inject_system_prompt: true, env_passthrough: [K]}
  acp:other: {adapter: stdio, command: [cat], max_output: 4096, idle_reap: 5m, steer: true}
`)
	file, err := ReadFile(path)
	require.NoError(t, err)
	yes, no := true, false
	require.Equal(t, &File{
		Server: "https://example.org/base", Listen: "0.0.0.0:80",
		Workspace: filepath.Join(filepath.Dir(path), "work"), State: "/var/lib/outrunner",
		LogLevel: "debug", LogFormat: "json",
		PublicHosts: []string{"runner.example.org"}, PassEnv: []string{"SSH_AUTH_SOCK"},
		Harnesses: map[string]Harness{
			"acp:mine": {
				Adapter: "exec", Command: []string{"python3", "answer.py", "{message}"},
				Env: map[string]string{"A": "b"}, PassEnv: []string{"OPENAI_API_KEY"},
				IdleTimeout: Duration(90 * time.Second), TurnTimeout: Duration(2 * time.Hour), MaxOutput: 64 << 20,
			},
			"acp:agent": {
				Adapter: "acp", Command: []string{"a"}, Model: "m", SessionIDMode: "client", SendModel: true,
				OmnigentMCP: &no, InjectSystemPrompt: &yes, EnvPassthrough: []string{"K"},
			},
			"acp:other": {Adapter: "stdio", Command: []string{"cat"}, MaxOutput: 4096, IdleReap: Duration(5 * time.Minute), Steer: true},
		},
	}, file)
}

func TestReadFileThatSaysNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "---\n"} {
		file, err := ReadFile(write(t, text))
		require.NoError(t, err, "%q", text)
		require.Equal(t, &File{}, file)
	}
}

func TestReadFileNamesFileLineAndKey(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"listen: a:1\nharneses: {}\n", `, line 2: unknown field "harneses"`},
		{"harnesses:\n  a:\n    adapter: exec\n    comand: [x]\n", `, line 4: unknown field "comand"`},
		{"listen: a\nlisten: b\n", `, line 2: mapping key "listen" already defined`},
		{"\nlisten: [1]\n", ", line 2: "},
		{"listen: {", ", line 1: "},
		{"- a\n", ", line 1: "},
		{"harnesses:\n  a: {adapter: exec, command: [x], max_output: 5MB}\n", `, line 2: "5MB" is not a size`},
		{"harnesses:\n  a: {adapter: exec, command: [x], max_output: 999999999999999GiB}\n", `too large`},
		{"harnesses:\n  a: {adapter: exec, command: [x], idle_timeout: soon}\n", `, line 2: "soon" is not a duration`},
		{"harnesses:\n  a: {adapter: exec, command: [x], idle_timeout: -1s}\n", `harnesses: "a": a timeout is negative`},
		{"harnesses:\n  a: {adapter: exec, command: [x], model: m}\n", `are for adapter: acp`},
		{"harnesses:\n  a: {adapter: acp, command: [x], session_id_mode: m}\n", `session_id_mode is "m"; write server or client`},
		{"harnesses:\n  a: {command: [x]}\n", `harnesses: "a": adapter is missing`},
		{"harnesses:\n  a: {adapter: exec}\n", `harnesses: "a": command is missing`},
	} {
		path := write(t, c.text)
		_, err := ReadFile(path)
		require.ErrorContains(t, err, "config file "+path, c.text)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := ReadFile(write(t, strings.Repeat("#", maxFile+1)))
	require.ErrorContains(t, err, "larger than")
	_, err = ReadFile(filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestPrecedence(t *testing.T) {
	file := &File{Listen: "file:1", LogLevel: "warn", LogFormat: "json", Server: "http://file"}
	for _, c := range []struct {
		args []string
		env  map[string]string
		want map[string]string
	}{
		{nil, nil, map[string]string{"listen": "file:1", "log-level": "warn", "id": "", "server": "http://file"}},
		{nil, map[string]string{"OUTRUNNER_LISTEN": "env:1", "OUTRUNNER_LOG_LEVEL": "", "OMNIGENT_RUNNER_ID": "theirs"},
			map[string]string{"listen": "env:1", "log-level": "warn", "id": "theirs"}},
		{nil, map[string]string{"OUTRUNNER_ID": "ours", "OMNIGENT_RUNNER_ID": "theirs"}, map[string]string{"id": "ours"}},
		{[]string{"--listen=flag:1", "--log-level=info"}, map[string]string{"OUTRUNNER_LISTEN": "env:1"},
			map[string]string{"listen": "flag:1", "log-level": "info"}},
	} {
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		for _, name := range []string{"listen", "log-level", "server", "id"} {
			flags.String(name, "", "")
		}
		require.NoError(t, flags.Parse(c.args))
		lookup := func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }
		require.NoError(t, Environment(flags, lookup, map[string][]string{"id": {"OMNIGENT_RUNNER_ID"}}))
		require.NoError(t, file.Defaults(flags))
		for name, want := range c.want {
			require.Equal(t, want, flags.Lookup(name).Value.String(), name)
		}
	}
}

func TestABadVariableIsNamed(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.Duration("wait-for", 0, "")
	err := Environment(flags, func(string) (string, bool) { return "soon", true }, nil)
	require.ErrorContains(t, err, "environment variable OUTRUNNER_WAIT_FOR")
}
