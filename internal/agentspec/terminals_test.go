package agentspec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestTerminalsOfAnAgent(t *testing.T) {
	spec, err := Parse([]byte(`
name: a
os_env: {type: caller_process, cwd: src, sandbox: {type: none}}
terminals:
  zsh:
  shell: {allow_cwd_override: true}
  top: htop
  logs:
    command: tail
    args: [-n, 50, -f, app.log]
    env: {LEVEL: "debug", COLUMNS: 80}
    os_env: {cwd: logs}
    scrollback: 500
    allow_sandbox_override: true
    tmux_allow_passthrough: true
    tmux_start_on_attach: true
    log_file: x
    session_prefix: y
  same: {command: sh, os_env: inherit}
`))
	require.NoError(t, err)
	require.Equal(t, &wire.OSEnv{Cwd: "src", Sandbox: "none"}, spec.OSEnv)
	require.Equal(t, []wire.Declared{
		{Name: "zsh"},
		{Name: "shell", AllowCwd: true},
		{Name: "top", Command: "htop"},
		{
			Name: "logs", Command: "tail", Args: []string{"-n", "50", "-f", "app.log"},
			Env: map[string]string{"LEVEL": "debug", "COLUMNS": "80"}, OSEnv: &wire.OSEnv{Cwd: "logs"},
			Scrollback: 500, AllowSandbox: true, Passthrough: true, StartOnAttach: true,
		},
		{Name: "same", Command: "sh"},
	}, spec.Terminals)
	d, ok := spec.Terminal("top")
	require.True(t, ok)
	require.Equal(t, "htop", d.Command)
	_, ok = spec.Terminal("none")
	require.False(t, ok)
}

func TestSandboxesThatAreAskedFor(t *testing.T) {
	for _, c := range []struct {
		env  string
		want *wire.OSEnv
	}{
		{"caller_process", &wire.OSEnv{}},
		{"{sandbox: false}", &wire.OSEnv{Sandbox: "none"}},
		{"{sandbox: none}", &wire.OSEnv{Sandbox: "none"}},
		{"{sandbox: {}}", &wire.OSEnv{Sandbox: "auto"}},
		{"{sandbox: {type: linux_bwrap, write_paths: [.]}}", &wire.OSEnv{Sandbox: "linux_bwrap"}},
		{"{sandbox: {type: linux_bwrap, write_paths: [{path: ., copy_on_write: true}]}}", &wire.OSEnv{Sandbox: "linux_bwrap", Pinned: true}},
		{"{sandbox: {type: linux_bwrap, egress_rules: [{host: x}]}}", &wire.OSEnv{Sandbox: "linux_bwrap", Pinned: true}},
		{"{sandbox: {type: linux_bwrap, egress_rules: []}}", &wire.OSEnv{Sandbox: "linux_bwrap"}},
		{"{sandbox: {type: none, git_ssh: {a: b}}}", &wire.OSEnv{Sandbox: "none", Pinned: true}},
		{"{fork: true}", &wire.OSEnv{Sandbox: "copy", Pinned: true}},
		{"{start_in_scratch: true, sandbox: none}", &wire.OSEnv{Sandbox: "copy", Pinned: true}},
		{"null", nil},
	} {
		spec, err := Parse([]byte("name: a\nos_env: " + c.env))
		require.NoError(t, err, c.env)
		require.Equal(t, c.want, spec.OSEnv, c.env)
	}
}

func TestTerminalsSayWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ block, want string }{
		{"[a]", "not a valid agent"},
		{"{1: bash}", "the name 1 is no text"},
		{"{'': bash}", `the name "" is empty`},
		{`{"a\nb": bash}`, "cannot be printed"},
		{`{"a\0b": bash}`, "cannot be printed"},
		{"{a: 7}", "terminals.a must be a mapping"},
		{"{a: {comand: bash}}", `terminals.a: there is no key "comand"`},
		{"{a: {command: [bash]}}", "terminals.a.command must be a text"},
		{`{a: {command: "a\0"}}`, "terminals.a.command has a NUL in it"},
		{"{a: {args: -f}}", "terminals.a.args must be a list"},
		{"{a: {args: [[]]}}", "terminals.a.args must be a list of texts"},
		{"{a: {args: [true]}}", "put true in quotes"},
		{"{a: {env: [A]}}", "terminals.a.env must be a mapping"},
		{"{a: {env: {A: true}}}", `"A" is none`},
		{"{a: {env: {A=B: x}}}", `"A=B" is none`},
		{"{a: {allow_cwd_override: 'yes'}}", "terminals.a.allow_cwd_override must be true or false"},
		{"{a: {scrollback: 0}}", "terminals.a.scrollback must be a whole number from 1 to 1000000"},
		{"{a: {scrollback: -1}}", "scrollback must be"},
		{"{a: {scrollback: 1000001}}", "scrollback must be"},
		{"{a: {scrollback: 1.5}}", "scrollback must be"},
		{"{a: {os_env: docker}}", `terminals.a.os_env.type: there is no "docker" here`},
		{"{a: {os_env: [x]}}", "terminals.a.os_env must be a mapping"},
		{"{a: {os_env: {cwdd: x}}}", `terminals.a.os_env: there is no key "cwdd"`},
		{"{a: {os_env: {sandbox: true}}}", "true is no kind of sandbox"},
		{"{a: {os_env: {sandbox: [x]}}}", "sandbox must be a mapping, a text or false"},
		{"{a: {os_env: {sandbox: {type: 1}}}}", "sandbox.type must be a text"},
		{"{a: bash, a: sh}", "not a valid agent"},
		{"{a: {command: 1, args: 2, nope: 3}}", "command must be a text"},
	} {
		_, err := Parse([]byte("name: a\nterminals: " + c.block))
		require.ErrorIs(t, err, wire.ErrRejected, c.block)
		require.ErrorContains(t, err, c.want, c.block)
		require.NotContains(t, err.Error(), "\n")
	}
	var many strings.Builder
	for n := range maxTerminals + 1 {
		fmt.Fprintf(&many, "  t%d: sh\n", n)
	}
	_, err := Parse([]byte("name: a\nterminals:\n" + many.String()))
	require.ErrorContains(t, err, "more than 64")
}
