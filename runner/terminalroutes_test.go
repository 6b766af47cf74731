package runner

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// declaring is an agent with terminals of all kinds.
func declaring() *wire.Spec {
	return &wire.Spec{
		Name: "helper", Harness: "acp:shell", OSEnv: &wire.OSEnv{Sandbox: "none"},
		Terminals: []wire.Declared{
			{Name: "shell", AllowCwd: true},
			{Name: "logs", Command: "tail", Args: []string{"-f", "x"}, Env: map[string]string{"A": "b"}, OSEnv: &wire.OSEnv{Cwd: "sub"}, Scrollback: 7, Passthrough: true, StartOnAttach: true},
			{Name: "boxed", OSEnv: &wire.OSEnv{Sandbox: "linux_bwrap"}, AllowSandbox: true},
			{Name: "pinned", OSEnv: &wire.OSEnv{Sandbox: "linux_bwrap", Pinned: true}, AllowSandbox: true},
		},
	}
}

// withTerminals is a world whose agent declares terminals, in a workspace with a
// folder "sub" and a link out of it, "out".
func withTerminals(t *testing.T) *world {
	w := newWorld(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w.terminals, w.workspace, w.server.spec = newFakeTerminals(), dir, declaring()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o700))
	require.NoError(t, os.Symlink("/", filepath.Join(dir, "out")))
	return w
}

const terminalsPath = "/v1/sessions/S/resources/terminals"

func (w *world) create(body string) {
	w.t.Helper()
	status, text := w.do("POST", terminalsPath, body)
	require.Equal(w.t, 200, status, text)
}

// told is a terminal as the server is told of it.
func toldTerminal(session, name, key string) string {
	id := "terminal_" + wire.SafeName(name) + "_" + wire.SafeName(key)
	return fmt.Sprintf(`{"id":%q,"object":"session.resource","type":"terminal","session_id":%q,"name":%q,
		"metadata":{"terminal_name":%q,"session_key":%q,"running":true,"tmux_socket":"/tmp/x/tmux.sock","tmux_target":"main"},
		"environment":%q}`, id, session, name+":"+key, name, key, "env_"+id)
}

func toldEnvironment(session, name, key, root string) string {
	id := "env_terminal_" + wire.SafeName(name) + "_" + wire.SafeName(key)
	return fmt.Sprintf(`{"id":%q,"object":"session.resource","type":"environment","session_id":%q,"name":%q,
		"metadata":{"environment_type":"caller_process","role":"terminal","terminal_name":%q,"session_key":%q,"root":%q}}`,
		id, session, "Environment for "+name+":"+key, name, key, root)
}

func pageOf(first, last string, list ...string) string {
	return fmt.Sprintf(`{"object":"list","data":[%s],"first_id":%q,"last_id":%q,"has_more":false}`, strings.Join(list, ","), first, last)
}

func TestTerminalsAreMadeListedAndEnded(t *testing.T) {
	w := withTerminals(t).start()
	first, second := toldTerminal("S", "shell", "s 1"), toldTerminal("S", "logs", "main")
	env1, env2 := toldEnvironment("S", "shell", "s 1", w.workspace), toldEnvironment("S", "logs", "main", filepath.Join(w.workspace, "sub"))
	plain := `{"id":"default","object":"session.resource","type":"environment","session_id":"S","name":"Primary environment",
		"metadata":{"environment_type":"caller_process","role":"primary"}}`
	known := strings.Replace(plain, `"primary"`, `"primary","sandbox_type":"none","sandbox_active":false`, 1)
	moved := strings.Replace(second, `"session_id":"S"`, `"session_id":"T"`, 1)
	all := "/v1/sessions/S/resources"
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", terminalsPath, `{"terminal":"shell","session_key":"s 1"}`, 200, first},
		{"POST", terminalsPath, `{"terminal":"shell","session_key":"s 1"}`, 200, first},
		{"POST", terminalsPath, `{"terminal":"logs","session_key":"main","persist_resource_event":false}`, 200, second},
		{"GET", terminalsPath + "?order=asc&limit=1000", "", 200, pageOf("terminal_shell_s_1", "terminal_logs_main", first, second)},
		{"GET", terminalsPath, "", 200, pageOf("terminal_logs_main", "terminal_shell_s_1", second, first)},
		{"GET", terminalsPath + "?limit=0", "", 422, `{"detail":[{"type":"greater_than_equal","loc":["query","limit"],"msg":"Input should be greater than or equal to 1","input":"0","ctx":{"ge":1}}]}`},
		{"GET", all + "/environments?order=asc", "", 200, pageOf("default", "env_terminal_logs_main", plain, env1, env2)},
		{"GET", all + "?order=asc", "", 200, pageOf("default", "env_terminal_logs_main", known, first, env1, second, env2)},
		{"GET", all, "", 200, pageOf("env_terminal_logs_main", "default", env2, second, env1, first, known)},
		{"GET", all + "?type=terminal&order=asc", "", 200, pageOf("terminal_shell_s_1", "terminal_logs_main", first, second)},
		{"GET", all + "?type=file", "", 200, `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`},
		{"GET", all + "/default", "", 200, plain},
		{"GET", all + "/terminal_logs_main", "", 200, second},
		{"GET", all + "/env_terminal_logs_main", "", 200, env2},
		{"GET", all + "/none", "", 404, `{"error":{"code":"not_found","message":"Resource 'none' not found"}}`},
		{"GET", all + "/environments/env_terminal_logs_main", "", 200, env2},
		{"GET", all + "/environments/default", "", 200, plain},
		{"GET", all + "/environments/terminal_logs_main", "", 404, `{"error":{"code":"not_found","message":"Environment 'terminal_logs_main' not found"}}`},
		{"GET", terminalsPath + "/terminal_logs_main", "", 200, second},
		{"GET", terminalsPath + "/env_terminal_logs_main", "", 404, `{"error":{"code":"not_found","message":"Terminal 'env_terminal_logs_main' not found"}}`},
		{"PUT", terminalsPath + "/terminal_logs_main", "", 405, `{"detail":"Method Not Allowed"}`},
		{"GET", terminalsPath + "/terminal_logs_main/attach", "", 404, `{"detail":"Not Found"}`},
		{"GET", all + "/files", "", 404, `{"detail":"Not Found"}`},
		{"GET", all + "/a/b", "", 404, `{"detail":"Not Found"}`},
		{"GET", all + "/environments/default/filesystem//etc/hosts", "", 404, `{"detail":"Session agent has no os_env configured; filesystem API unavailable."}`},
		{"GET", all + "/github", "", 200, `{"object":"session.github.info","available":false,"reason":"This runner does not look at pull requests.","provider":null}`},
		{"GET", all + "/github/changes", "", 200, `{"object":"list","data":[],"has_more":false}`},
		{"GET", all + "/github/diff", "", 200, `{"object":"session.github.pr_diff","patch":""}`},
		{"POST", terminalsPath + "/terminal_logs_main/transfer", `{}`, 400, `{"error":{"code":"invalid_input","message":"'target_session_id' is required"}}`},
		{"POST", terminalsPath + "/terminal_logs_main/transfer", `{"target_session_id":7}`, 400, `{"error":{"code":"invalid_input","message":"'target_session_id' is required"}}`},
		{"POST", terminalsPath + "/terminal_logs_main/transfer", `{"target_session_id":"S"}`, 409, `{"error":{"code":"resource_conflict","message":"conflict"}}`},
		{"POST", terminalsPath + "/none/transfer", `{"target_session_id":"T"}`, 404, `{"error":{"code":"not_found","message":"Terminal 'none' not found"}}`},
		{"POST", terminalsPath + "/terminal_logs_main/transfer", `{"target_session_id":"T"}`, 200, moved},
		{"DELETE", terminalsPath + "/terminal_shell_s_1", "", 200, `{"id":"terminal_shell_s_1","object":"session.resource.deleted","deleted":true}`},
		{"DELETE", terminalsPath + "/terminal_shell_s_1", "", 404, `{"error":{"code":"not_found","message":"Terminal 'terminal_shell_s_1' not found"}}`},
		{"GET", terminalsPath, "", 200, `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`},
		{"DELETE", "/v1/sessions/T/resources", "", 200, `{"session_id":"T","object":"session.resources.cleaned","cleaned":true}`},
		{"GET", "/v1/sessions/T/resources/terminals", "", 200, `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`},
	} {
		status, text := w.do(c.method, c.path, c.body)
		require.Equal(t, c.status, status, "%s %s %s: %s", c.method, c.path, c.body, text)
		require.JSONEq(t, c.want, text, "%s %s", c.method, c.path)
	}
}

func TestWhatIsStarted(t *testing.T) {
	w := withTerminals(t)
	w.server.snaps["S"] = wire.Snapshot{ID: "S", AgentID: "a1"}
	w.start()
	spec := func(name string) wire.TerminalSpec {
		return wire.TerminalSpec{Session: "S", Name: name, Key: "k", Cwd: w.workspace, Scrollback: 10000}
	}
	for _, c := range []struct {
		body string
		want func() wire.TerminalSpec
	}{
		{`{"terminal":"shell","session_key":"k"}`, func() wire.TerminalSpec {
			s := spec("shell")
			s.Command = "/bin/usershell"
			return s
		}},
		{`{"terminal":"logs","session_key":"k","spec":{"command":"rm","args":["-rf"]}}`, func() wire.TerminalSpec {
			s := spec("logs")
			s.Command, s.Args, s.Env, s.Scrollback = "tail", []string{"-f", "x"}, map[string]string{"A": "b"}, 7
			s.Cwd, s.Passthrough, s.StartOnAttach = filepath.Join(w.workspace, "sub"), true, true
			return s
		}},
		{`{"terminal":"boxed","session_key":"k","sandbox":"none"}`, func() wire.TerminalSpec {
			s := spec("boxed")
			s.Command = "/bin/usershell"
			return s
		}},
		{`{"terminal":"claude","session_key":"k","bridge_inject_dir":"/etc","spec":{"command":"claude","args":["-r"],"env":{"B":"c"},"cwd":"sub","scrollback":5,"tmux_allow_passthrough":true,"tmux_start_on_attach":true}}`, func() wire.TerminalSpec {
			s := spec("claude")
			s.Command, s.Args, s.Env, s.Scrollback = "claude", []string{"-r"}, map[string]string{"B": "c"}, 5
			s.Cwd, s.Passthrough, s.StartOnAttach = filepath.Join(w.workspace, "sub"), true, true
			return s
		}},
		{`{"terminal":"claude","session_key":"k","spec":{}}`, func() wire.TerminalSpec {
			s := spec("claude")
			s.Command = "bash"
			return s
		}},
		{`{"terminal":"shell","session_key":"k","cwd":"sub/deep"}`, func() wire.TerminalSpec {
			s := spec("shell")
			s.Command, s.Cwd = "/bin/usershell", filepath.Join(w.workspace, "sub", "deep")
			return s
		}},
		{`{"terminal":"shell","session_key":"k","spec":{"cwd":"sub"}}`, func() wire.TerminalSpec {
			s := spec("shell")
			s.Command, s.Cwd = "/bin/usershell", filepath.Join(w.workspace, "sub")
			return s
		}},
		{`{"terminal":"shell","session_key":"k","cwd":"./"}`, func() wire.TerminalSpec {
			s := spec("shell")
			s.Command = "/bin/usershell"
			return s
		}},
	} {
		before := len(w.terminals.started())
		w.create(c.body)
		started := w.terminals.started()
		require.Len(t, started, before+1)
		require.Equal(t, c.want(), started[before], c.body)
	}
	// A session with a folder of its own works there.
	w.server.snaps["T"] = wire.Snapshot{ID: "T", AgentID: "a1", Workspace: "sub"}
	status, text := w.do("POST", "/v1/sessions/T/resources/terminals", `{"terminal":"shell","session_key":"k"}`)
	require.Equal(t, 200, status, text)
	started := w.terminals.started()
	require.Equal(t, filepath.Join(w.workspace, "sub"), started[len(started)-1].Cwd)
}

func TestWhatIsNotStarted(t *testing.T) {
	w := withTerminals(t)
	w.server.snaps["W"] = wire.Snapshot{ID: "W", AgentID: "a1", Workspace: "/no/such/folder"}
	w.start()
	long := strings.Repeat("x", 257)
	const required = "'terminal' and 'session_key' are required"
	for _, c := range []struct {
		body   string
		status int
		code   string
		words  string
	}{
		{`{`, 400, "invalid_input", "must be a JSON object"},
		{`[]`, 400, "invalid_input", "must be a JSON object"},
		{`null`, 400, "invalid_input", "must be a JSON object"},
		{``, 400, "invalid_input", "must be a JSON object"},
		{`{}`, 400, "invalid_input", required},
		{`{"terminal":"shell"}`, 400, "invalid_input", required},
		{`{"terminal":"","session_key":"k"}`, 400, "invalid_input", required},
		{`{"terminal":"shell","session_key":null}`, 400, "invalid_input", required},
		{`{"terminal":7,"session_key":"k"}`, 400, "invalid_input", "'terminal' must be a string"},
		{`{"terminal":"shell","session_key":["k"]}`, 400, "invalid_input", "'session_key' must be a string"},
		{`{"terminal":"shell","session_key":"a\u0000b"}`, 400, "invalid_input", "text in one line"},
		{`{"terminal":"a\nb","session_key":"k"}`, 400, "invalid_input", "text in one line"},
		{`{"terminal":"shell","session_key":" "}`, 400, "invalid_input", "text in one line"},
		{`{"terminal":"` + long + `","session_key":"k"}`, 400, "invalid_input", "at most 256 bytes"},
		{`{"terminal":"shell","session_key":"k","cwd":7}`, 400, "invalid_input", "'cwd' must be a string"},
		{`{"terminal":"shell","session_key":"k","cwd":"a\u0000"}`, 400, "invalid_input", "NUL"},
		{`{"terminal":"shell","session_key":"k","cwd":".."}`, 400, "invalid_input", "lies outside"},
		{`{"terminal":"shell","session_key":"k","cwd":"/"}`, 400, "invalid_input", "lies outside"},
		{`{"terminal":"shell","session_key":"k","cwd":"out"}`, 400, "invalid_input", "lies outside"},
		{`{"terminal":"shell","session_key":"k","cwd":"out/etc"}`, 400, "invalid_input", "lies outside"},
		{`{"terminal":"shell","session_key":"k","cwd":"sub/../.."}`, 400, "invalid_input", "lies outside"},
		{`{"terminal":"shell","session_key":"k","cwd":"none"}`, 400, "invalid_input", "does not exist"},
		{`{"terminal":"logs","session_key":"k","cwd":"deep"}`, 400, "invalid_input", "allow_cwd_override"},
		{`{"terminal":"shell","session_key":"k","sandbox":"none"}`, 400, "invalid_input", "allow_sandbox_override"},
		{`{"terminal":"boxed","session_key":"k","sandbox":"moat"}`, 400, "invalid_input", "no sandbox 'moat'"},
		{`{"terminal":"pinned","session_key":"k","sandbox":"none"}`, 400, "invalid_input", "no other may be chosen"},
		{`{"terminal":"boxed","session_key":"k"}`, 500, "terminal_launch_failed", "wants a sandbox (linux_bwrap)"},
		{`{"terminal":"boxed","session_key":"k","sandbox":"linux_bwrap"}`, 500, "terminal_launch_failed", "wants a sandbox"},
		{`{"terminal":"other","session_key":"k","spec":[1]}`, 400, "invalid_input", "'spec' cannot be used"},
		{`{"terminal":"other","session_key":"k","spec":{"args":"-f"}}`, 400, "invalid_input", "'spec' cannot be used"},
		{`{"terminal":"other","session_key":"k","spec":{"command":""}}`, 400, "invalid_input", "'spec.command' is empty"},
		{`{"terminal":"other","session_key":"k","spec":{"command":"a\u0000"}}`, 400, "invalid_input", "NUL"},
		{`{"terminal":"other","session_key":"k","spec":{"env":{"A=B":"c"}}}`, 400, "invalid_input", "'spec.env'"},
		{`{"terminal":"other","session_key":"k","spec":{"scrollback":1000001}}`, 400, "invalid_input", "'spec.scrollback'"},
		{`{"terminal":"other","session_key":"k","spec":{"os_env_type":"docker"}}`, 400, "invalid_input", "of the type 'docker'"},
		{`{"terminal":"other","session_key":"k","cwd":"sub"}`, 400, "invalid_input", "allow_cwd_override"},
		{`{"terminal":"claude","session_key":"main","ensure_native_terminal":true}`, 500, "native_terminal_start_failed", "claude"},
	} {
		status, text := w.do("POST", terminalsPath, c.body)
		require.Equal(t, c.status, status, "%.80s: %s", c.body, text)
		require.Contains(t, text, `{"error":{"code":"`+c.code+`","message":"`, c.body)
		require.Contains(t, text, c.words, c.body)
	}
	require.Empty(t, w.terminals.started())
	status, text := w.do("POST", "/v1/sessions/W/resources/terminals", `{"terminal":"shell","session_key":"k"}`)
	require.Equal(t, 400, status)
	require.Contains(t, text, "The folder /no/such/folder does not exist")
	status, text = w.do("POST", terminalsPath, `{"terminal":"`+strings.Repeat("x", maxBody)+`"}`)
	require.Equal(t, 413, status)
	require.Contains(t, text, `{"error":{"code":"invalid_input"`)
}

// What a request describes runs in the sandbox of the agent, and so not at all.
func TestNoRequestLeavesTheSandboxOfItsAgent(t *testing.T) {
	w := withTerminals(t)
	w.server.spec.OSEnv = &wire.OSEnv{Sandbox: "linux_bwrap"}
	w.start()
	for _, spec := range []string{`{"command":"claude"}`, `{"command":"claude","cwd":"sub"}`, `{"command":"claude","cwd":"."}`} {
		status, text := w.do("POST", terminalsPath, `{"terminal":"claude","session_key":"k","spec":`+spec+`}`)
		require.Equal(t, 500, status, spec)
		require.Contains(t, text, "wants a sandbox")
	}
	require.Empty(t, w.terminals.started())
}

// A native program that was started in a terminal is found there.
func TestANativeTerminalThatRunsIsFound(t *testing.T) {
	w := withTerminals(t).start()
	w.create(`{"terminal":"claude","session_key":"main","spec":{"command":"claude"}}`)
	status, text := w.do("POST", terminalsPath, `{"terminal":"claude","session_key":"main","ensure_native_terminal":true}`)
	require.Equal(t, 200, status)
	require.JSONEq(t, toldTerminal("S", "claude", "main"), text)
	require.Len(t, w.terminals.started(), 1)
}

func TestAShellThatIsNotThere(t *testing.T) {
	w := withTerminals(t)
	w.server.spec.Name = "claude-native-ui"
	w.start()
	status, text := w.do("POST", terminalsPath, `{"terminal":"fish","session_key":"k"}`)
	require.Equal(t, 400, status)
	require.Contains(t, text, "Shell 'fish' is not available on this host. Available shells: boxed, logs, pinned, shell.")
}

func TestLaunchesThatFail(t *testing.T) {
	w := withTerminals(t).start()
	for _, c := range []struct {
		err    error
		status int
		want   string
	}{
		{fmt.Errorf("it has the id of another: %w", wire.ErrConflict), 409, `"code":"resource_conflict"`},
		{fmt.Errorf("tmux is too old: %w", wire.ErrRejected), 400, `"code":"invalid_input"`},
		{errors.New("fork failed"), 500, `"code":"terminal_launch_failed","message":"The terminal could not be started: fork failed"`},
	} {
		w.terminals.failing(c.err)
		status, text := w.do("POST", terminalsPath, `{"terminal":"shell","session_key":"k"}`)
		require.Equal(t, c.status, status, text)
		require.Contains(t, text, c.want)
	}
	w.terminals.failing(nil)
	w.server.failing(func(call string) error {
		if call == "spec" {
			return errDown
		}
		return nil
	})
	status, text := w.do("POST", "/v1/sessions/N/resources/terminals", `{"terminal":"shell","session_key":"k"}`)
	require.Equal(t, 503, status)
	require.Contains(t, text, `{"error":{"code":"spec_resolver_failed","message":`)
	// A list does not need the agent.
	status, text = w.do("GET", "/v1/sessions/N/resources", "")
	require.Equal(t, 200, status)
	require.Contains(t, text, `"id":"default"`)
	w.server.failing(func(call string) error {
		if call == "snapshot" {
			return wire.ErrNotFound
		}
		return nil
	})
	status, text = w.do("POST", "/v1/sessions/X/resources/terminals", `{"terminal":"shell","session_key":"k"}`)
	require.Equal(t, 404, status)
	require.JSONEq(t, `{"error":{"code":"not_found","message":"There is no session of that id."}}`, text)
}

// Paths are taken as they come: decoded, and neither cleaned nor redirected.
func TestPathsOfResourcesAreTakenAsTheyAre(t *testing.T) {
	w := withTerminals(t).start()
	for path, want := range map[string]int{
		"/v1/sessions/S/resources/terminals/a%2Fb":        404,
		"/v1/sessions/S/resources/terminals/../terminals": 404,
		"/v1/sessions/S/resources//terminals":             404,
		"/v1/sessions/S/resources/terminals/":             404,
		"/v1/sessions/S/resources/":                       404,
	} {
		rec := httptest.NewRecorder()
		req := httptest.NewRequest("GET", "/", nil)
		req.URL = &url.URL{Path: path}
		w.runner.Handler().ServeHTTP(rec, req)
		require.Equal(t, want, rec.Code, path)
		require.NotContains(t, rec.Header(), "Location")
	}
}
