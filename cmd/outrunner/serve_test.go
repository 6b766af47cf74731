package main

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// up starts server and runner and returns the server's address.
func up(t *testing.T, state string, args ...string) (*command, string) {
	t.Helper()
	c := start(t, nil, append([]string{"up", "--state", state, "--listen", "127.0.0.1:0", "--workspace", t.TempDir()}, args...)...)
	return c, c.out.wait(t, `at (http://\S+), working`)[1]
}

func TestUpAndSend(t *testing.T) {
	state := house(t)
	c, server := up(t, state)
	require.Contains(t, c.out.String(), "send --server "+server+" --agent shell")

	out, errText, code := call(t, "send", "--state", state, "--server", server, "--agent", "shell", "echo one; echo two >&2; pwd")
	require.Equal(t, exitDone, code, errText)
	require.True(t, strings.HasPrefix(out, "one\ntwo\n/"), out)
	require.Empty(t, errText)

	out, errText, code = call(t, "send", "--state", state, "--server", server, "echo before; exit 3")
	require.Equal(t, exitFailure, code)
	require.Equal(t, "before\n", out)
	require.True(t, strings.HasPrefix(errText, "error: bash exited with status 3. "), errText)

	out, _, code = call(t, "runners", "--json", "--state", state, "--server", server)
	require.Equal(t, exitDone, code)
	var r runnerRow
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.True(t, r.Online)
	require.Equal(t, []string{"acp:shell"}, r.Harnesses)
	require.True(t, strings.HasPrefix(r.ID, "runner_token_"))

	out, _, _ = call(t, "agents", "--state", state, "--server", server)
	require.Regexp(t, `(?m)^shell +acp:shell +[0-9a-f]{32}$`, out)
	failing(t, exitFailure, `there is no agent "x"; there are: shell`, "send", "--state", state, "--server", server, "--agent", "x", "y")

	require.Equal(t, exitDone, c.end(t), c.err.String())
}

func TestSendJSONAndGoOn(t *testing.T) {
	state := house(t)
	_, server := up(t, state)
	flags := []string{"--state", state, "--server", server}
	send := func(env map[string]string, args ...string) (*command, []string) {
		c := start(t, env, append(append([]string{"send"}, flags...), args...)...)
		require.Equal(t, exitDone, c.code(t), c.err.String())
		return c, strings.Split(strings.TrimSpace(c.out.String()), "\n")
	}
	_, rows := send(map[string]string{"stdin": "echo hello\n"}, "--json", "-")
	var first struct {
		SessionID string `json:"session_id"`
		ItemID    string `json:"item_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(rows[0]), &first))
	var last struct {
		Type  string   `json:"type"`
		Items []string `json:"input_item_ids"`
	}
	require.NoError(t, json.Unmarshal([]byte(rows[len(rows)-1]), &last))
	require.Equal(t, "response.completed", last.Type)
	require.Equal(t, []string{first.ItemID}, last.Items)

	// The answer can be read again, and the session goes on.
	c, _ := send(nil, "--session", first.SessionID, "--follow", first.ItemID)
	require.Equal(t, "hello\n", c.out.String())
	c, _ = send(nil, "--session", first.SessionID, "--no-wait", "echo later")
	m := c.out.wait(t, `send --session (\S+) --follow (\S+) --server`)
	require.Equal(t, first.SessionID, m[1])
	c, _ = send(nil, "--session", m[1], "--follow", m[2])
	require.Equal(t, "later\n", c.out.String())

	out, _, code := call(t, append([]string{"sessions", "show", first.SessionID}, flags...)...)
	require.Equal(t, exitDone, code)
	require.Regexp(t, `(?s)--- user, .*\necho hello\n.*--- assistant, .*\nhello\n.*--- user, .*\necho later\n.*--- assistant, .*\nlater\n`, out)
	out, _, _ = call(t, append([]string{"sessions"}, flags...)...)
	require.Contains(t, out, first.SessionID)
	_, _, code = call(t, append([]string{"sessions", "delete", first.SessionID}, flags...)...)
	require.Equal(t, exitDone, code)
	failing(t, exitFailure, "404", append([]string{"sessions", "show", first.SessionID}, flags...)...)
}

func TestServerAndRunnerApart(t *testing.T) {
	state, other := house(t), house(t)
	s := start(t, nil, "server", "--state", state, "--listen", "127.0.0.1:0")
	server := s.out.wait(t, `server at (http://\S+)`)[1]
	require.Contains(t, s.out.String(), "run --server "+server)

	// Nobody can answer yet: the message waits.
	sent := start(t, nil, "send", "--state", state, "--server", server, "cat marker")
	sent.err.wait(t, "no runner is connected")

	workspace := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(workspace, "marker"), []byte("found"), 0o600))
	r := start(t, map[string]string{"RUNNER_SERVER_URL": server, "OMNIGENT_RUNNER_WORKSPACE": workspace,
		"OMNIGENT_RUNNER_TUNNEL_BINDING_TOKEN": "bind-token", "OMNIGENT_RUNNER_ID": "runner_token_56a71354985f77c16b45bc3b7da1abde",
		"OMNIGENT_RUNNER_CONNECT_MARKER": filepath.Join(workspace, "connected")}, "run", "--state", other)
	require.Equal(t, exitDone, sent.code(t), sent.err.String())
	require.Equal(t, "found", sent.out.String())
	require.FileExists(t, filepath.Join(workspace, "connected"))
	out, _, _ := call(t, "runners", "--state", state, "--server", server)
	require.Contains(t, out, "runner_token_56a71354985f77c16b45bc3b7da1abde  online")

	// The runner's room has one tenant.
	failing(t, exitFailure, "is in use by another process", "run", "--state", other, "--server", server)
	require.Equal(t, exitDone, r.end(t), r.err.String())
	require.Equal(t, exitDone, s.end(t), s.err.String())
	require.NotContains(t, r.err.String()+s.err.String(), "bind-token")
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, busy.Close()) }()
	for _, name := range []string{"up", "server"} {
		failing(t, exitFailure, "the address "+busy.Addr().String()+" is in use", name, "--state", house(t), "--listen", busy.Addr().String())
	}
	failing(t, exitUsage, "does not belong to this runner's secret", "run", "--state", house(t), "--id", "runner_token_other")

	for variable, want := range map[string]string{"OMNIGENT_RUNNER_TUNNEL_BINDING_TOKEN": "is set, but blank", "OMNIGENT_RUNNER_PARENT_PID": "no process id"} {
		c := start(t, map[string]string{variable: " "}, "run", "--state", house(t))
		require.Equal(t, exitUsage, c.code(t))
		require.Contains(t, c.err.String(), want)
	}
}

func TestAServerThatIsNotOurs(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Welcome</title>"))
	}))
	defer page.Close()
	failing(t, exitFailure, "is it an outrunner server?", "send", "--state", house(t), "--server", page.URL, "x")
	_, text, code := call(t, "run", "--state", house(t), "--server", page.URL, "--log-level", "error")
	require.Equal(t, exitFailure, code, text)
	require.Contains(t, text, "check the server URL")
	require.Equal(t, 1, strings.Count(text, "\n"), text)
}

func TestCredentialsThatAreRefusedAreExitCode77(t *testing.T) {
	closed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer closed.Close()
	_, text, code := call(t, "run", "--state", house(t), "--server", closed.URL, "--log-level", "error")
	require.Equal(t, exitCredentials, code, text)
	require.Contains(t, text, "error: runner tunnel rejected by server (HTTP 401 persisted across 3 attempts)")
}

func TestARunnerEndsWithItsLauncher(t *testing.T) {
	c := start(t, map[string]string{"OMNIGENT_RUNNER_PARENT_PID": strconv.Itoa(os.Getppid() + 1)},
		"run", "--state", house(t), "--server", "http://127.0.0.1:1")
	require.Equal(t, exitDone, c.code(t), c.err.String())
	require.Contains(t, c.err.String(), "parent process died")
}

func TestSecretsLeaveTheEnvironment(t *testing.T) {
	env := map[string]string{"OMNIGENT_RUNNER_TUNNEL_BINDING_TOKEN": "bind-token", "OMNIGENT_RUNNER_INITIAL_AUTH_TOKEN": "bearer-token"}
	a := &app{
		lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		unset:  func(name string) error { delete(env, name); return nil },
	}
	secret, err := a.runnerSecret(nil, "")
	require.NoError(t, err)
	require.Equal(t, "bind-token", secret)
	token, err := a.serverToken("")
	require.NoError(t, err)
	require.Equal(t, "bearer-token", token)
	require.Empty(t, env)
	require.Equal(t, "[redacted], [redacted]", a.explain(errors.New("bind-token, bearer-token")))
}

func TestAnOpenLineIsWarnedOf(t *testing.T) {
	c := start(t, nil, "run", "--state", house(t), "--server", "http://192.0.2.1:1")
	c.err.wait(t, "the connection is not encrypted")
	require.Equal(t, exitDone, c.end(t), c.err.String())
}
