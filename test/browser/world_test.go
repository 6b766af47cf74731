package browser

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// agents are those of these tests. helper has a shell that reads no file of the
// user's.
var agents = map[string]string{
	"helper": `name: helper
prompt: You help.
executor: {harness: "acp:shell"}
os_env: {cwd: ., sandbox: {type: none}}
terminals:
  sh: {command: bash, args: [--norc, --noprofile], env: {PS1: "$ ", HISTFILE: "", TERM: xterm-256color}}
`,
	"says": `name: says
prompt: You say what you were told to.
executor: {harness: "acp:says"}
`,
}

// world is a server, a line to it, and a runner at the other end of the line.
// The pages talk to the server itself.
type world struct {
	*testkit.Server
	t      *testing.T
	line   *testkit.Proxy
	runner *testkit.Runner
}

// newWorld starts one.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: testkit.NewServer(t), t: t}
	for name, text := range agents {
		w.AddAgent(name, text)
	}
	w.line = testkit.NewProxy(t, w.Address)
	w.runner = testkit.NewRunner(t, w.line.URL)
	t.Cleanup(func() { // terminals outlive their runner, but not the test
		w.runner.Kill()
		testkit.EndLeftovers(t, w.runner.Home)
	})
	return w
}

// begin starts the runner and waits until it is there. A socket's path must be
// short.
func (w *world) begin() *world {
	w.t.Helper()
	w.runner.Start("TMPDIR=/tmp", "SHELL=/bin/bash")
	w.WaitOnline()
	return w
}

// terminal is one of a session's.
type terminal struct {
	ID       string `json:"id"`
	Metadata struct {
		Socket string `json:"tmux_socket"`
		Target string `json:"tmux_target"`
	} `json:"metadata"`
}

// opens starts a terminal of a session.
func (w *world) opens(session, name string) terminal {
	w.t.Helper()
	status, raw, err := w.Do(http.MethodPost, "/v1/sessions/"+session+"/resources/terminals", map[string]string{"terminal": name, "session_key": "u-1"})
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, status, string(raw))
	var made terminal
	require.NoError(w.t, json.Unmarshal(raw, &made))
	return made
}

// terminals are those that run in a session.
func (w *world) terminals(session string) []terminal {
	w.t.Helper()
	status, raw, err := w.Do(http.MethodGet, "/v1/sessions/"+session+"/resources/terminals?order=asc&limit=1000", nil)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, status, string(raw))
	var list struct{ Data []terminal }
	require.NoError(w.t, json.Unmarshal(raw, &list))
	return list.Data
}

// tmux asks the terminal's own tmux.
func (r terminal) tmux(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", r.Metadata.Socket}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSuffix(string(out), "\n")
}

// file is a path in the workspace.
func (w *world) file(name string) string { return filepath.Join(w.runner.Workspace, name) }

// read is what is in a file of the workspace; "" if there is none.
func (w *world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.file(name))
	if !os.IsNotExist(err) {
		require.NoError(w.t, err)
	}
	return string(text)
}

// exists tells whether there is such a file in the workspace.
func (w *world) exists(name string) bool {
	_, err := os.Stat(w.file(name))
	return err == nil
}
