package runner

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// use calls a tool as the server does, and returns its output.
func (w *world) use(name, args string) string {
	w.t.Helper()
	status, text := w.do("POST", "/v1/sessions/S/mcp/execute", `{"method":"tools/call","params":{"name":"`+name+`","arguments":`+args+`}}`)
	require.Equal(w.t, 200, status)
	var body struct{ Result struct{ Output string } }
	require.NoError(w.t, json.Unmarshal([]byte(text), &body))
	require.NotEmpty(w.t, body.Result.Output, text)
	return body.Result.Output
}

func TestTerminalTools(t *testing.T) {
	w := withTerminals(t).start()
	e := w.stream("S")
	const shell = `{"terminal":"shell","session":"k"}`
	for _, c := range []struct{ tool, args, want string }{
		{"sys_terminal_list", `{}`, `[]`},
		{"sys_terminal_launch", shell, `{"terminal":"shell","session":"k","tmux_socket":"/tmp/x/tmux.sock","has_os_env":true,"status":"launched"}`},
		{"sys_terminal_launch", shell, `{"terminal":"shell","session":"k","tmux_socket":"/tmp/x/tmux.sock","has_os_env":true,"status":"already_running"}`},
		{"sys_terminal_list", `{}`, `[{"terminal":"shell","session":"k","command":"/bin/usershell","running":true,"has_os_env":true,"tmux_socket":"/tmp/x/tmux.sock"}]`},
		{"sys_terminal_send", `{"terminal":"shell","session":"k","text":"ls "}`, `{"status":"sent"}`},
		{"sys_terminal_send", `{"terminal":"shell","session":"k","keys":"C-c  Up"}`, `{"status":"sent"}`},
		{"sys_terminal_send", `{"terminal":"shell","session":"k","text":"x","keys":""}`, `{"status":"sent"}`},
		{"sys_terminal_read", shell, `{"terminal":"shell:k","screen":"ls EnterC-c+Upx|0","scrollback_lines":0}`},
		{"sys_terminal_read", `{"terminal":"shell","session":"k","scrollback":50}`, `{"terminal":"shell:k","screen":"ls EnterC-c+Upx|50","scrollback_lines":50}`},
		{"sys_terminal_close", shell, `{"terminal":"shell","session":"k","status":"closed"}`},
		{"sys_terminal_close", shell, `{"terminal":"shell","session":"k","status":"not_found"}`},
	} {
		require.JSONEq(t, c.want, w.use(c.tool, c.args), "%s %s", c.tool, c.args)
	}
	require.JSONEq(t, `{"type":"session.resource.created","resource":`+toldTerminal("S", "shell", "k")+`}`, e.nextNews())
	require.JSONEq(t, deletedShell, e.nextNews())
}

// What an agent asks for wrongly it is told, as text for its model.
func TestTerminalToolsRefuse(t *testing.T) {
	w := withTerminals(t).start()
	w.use("sys_terminal_launch", `{"terminal":"logs","session":"k"}`)
	on := func(more string) string { return `{"terminal":"logs","session":"k",` + more + `}` }
	for _, c := range []struct{ tool, args, want string }{
		{"sys_terminal_launch", `[]`, "must be a JSON object"},
		{"sys_terminal_launch", `"x"`, "must be a JSON object"},
		{"sys_terminal_launch", `{"terminal":"logs"}`, "needs 'terminal' and 'session'"},
		{"sys_terminal_launch", `{"terminal":7,"session":"k"}`, "needs 'terminal' and 'session'"},
		{"sys_terminal_launch", `{"terminal":"none","session":"k"}`, "unknown terminal 'none'; declared: boxed, logs, pinned, shell"},
		{"sys_terminal_launch", `{"terminal":"logs","session":"a\nb"}`, "text in one line"},
		{"sys_terminal_launch", on(`"cwd":"deep"`), "allow_cwd_override"},
		{"sys_terminal_launch", on(`"cwd":7`), "'cwd' must be a text"},
		{"sys_terminal_launch", on(`"sandbox":7`), "'sandbox' must be a text"},
		{"sys_terminal_launch", on(`"sandbox":"none"`), "allow_sandbox_override"},
		{"sys_terminal_launch", `{"terminal":"shell","session":"k","cwd":"out"}`, "lies outside"},
		{"sys_terminal_launch", `{"terminal":"boxed","session":"k"}`, "wants a sandbox"},
		{"sys_terminal_send", `{"terminal":"shell","session":"k"}`, "terminal 'shell:k' not found or not running"},
		{"sys_terminal_read", `{"terminal":"shell","session":"k"}`, "terminal 'shell:k' not found or not running"},
		{"sys_terminal_send", on(`"text":7`), "'text' must be a string"},
		{"sys_terminal_send", on(`"keys":7`), "'keys' must be a string"},
		{"sys_terminal_send", on(`"keys":null`), "'keys' must be a string"},
		{"sys_terminal_send", on(`"keys":"Enter -t other"`), "a word that is no key: -t"},
		{"sys_terminal_send", on(`"keys":"` + strings.Repeat("a ", 257) + `"`), "more than 256 keys"},
		{"sys_terminal_send", on(`"text":"` + strings.Repeat("a", maxTyped+1) + `"`), "over 1 MiB"},
		{"sys_terminal_read", on(`"scrollback":-1`), "non-negative integer"},
		{"sys_terminal_read", on(`"scrollback":1.5`), "non-negative integer"},
		{"sys_terminal_read", on(`"scrollback":"1"`), "non-negative integer"},
		{"sys_terminal_read", on(`"scrollback":null`), "non-negative integer"},
	} {
		var out map[string]string
		text := w.use(c.tool, c.args)
		require.NoError(t, json.Unmarshal([]byte(text), &out), "%.80s: %.80s", c.args, text)
		require.Contains(t, out["error"], c.want, "%.80s", c.args)
	}
	require.Len(t, w.terminals.started(), 1)
	w.terminals.failing(errors.New("fork failed"))
	require.JSONEq(t, `{"error":"send failed: fork failed"}`, w.use("sys_terminal_send", on(`"text":"x"`)))
	require.JSONEq(t, `{"error":"read failed: fork failed"}`, w.use("sys_terminal_read", on(`"scrollback":1`)))
	require.JSONEq(t, `{"error":"launch failed: fork failed"}`, w.use("sys_terminal_launch", `{"terminal":"shell","session":"k"}`))
	w.terminals.failing(wire.ErrNotFound)
	require.JSONEq(t, `{"error":"terminal 'logs:k' not found or not running"}`, w.use("sys_terminal_read", on(`"scrollback":1`)))
}

// A repeat of a call under its name types nothing twice.
func TestTerminalToolsAreRunOnce(t *testing.T) {
	w := withTerminals(t).start()
	w.use("sys_terminal_launch", `{"terminal":"shell","session":"k"}`)
	for range 3 {
		status, text := w.do("POST", "/v1/sessions/S/mcp/execute", `{"method":"tools/call",
			"params":{"name":"sys_terminal_send","arguments":{"terminal":"shell","session":"k","text":"once "}},
			"_omnigent_operation":{"id":"o1","step":"1"}}`)
		require.Equal(t, 200, status)
		require.Contains(t, text, "sent")
	}
	require.Contains(t, w.use("sys_terminal_read", `{"terminal":"shell","session":"k"}`), `"once Enter|0"`)
}

func TestAHugeScreenIsCut(t *testing.T) {
	w := withTerminals(t).start()
	w.use("sys_terminal_launch", `{"terminal":"shell","session":"k"}`)
	w.terminals.typed["S/terminal_shell_k"] = strings.Repeat("é", maxScreen)
	var out struct {
		Screen    string
		Truncated bool
	}
	require.NoError(t, json.Unmarshal([]byte(w.use("sys_terminal_read", `{"terminal":"shell","session":"k"}`)), &out))
	require.True(t, out.Truncated)
	require.LessOrEqual(t, len(out.Screen), maxScreen)
	require.True(t, strings.HasSuffix(out.Screen, "é|0"))
	require.NotContains(t, out.Screen, "�")
}

// An agent without terminals is told of none, nor is one on a runner without.
func TestTerminalToolsAreForThoseWhoHaveTerminals(t *testing.T) {
	w := newWorld(t)
	w.server.spec = declaring()
	w.start()
	require.Contains(t, w.use("sys_terminal_list", `{}`), "is not enabled for this agent")
	w = withTerminals(t)
	w.server.spec = nil
	w.start()
	require.Contains(t, w.use("sys_terminal_list", `{}`), "is not enabled for this agent")
}
