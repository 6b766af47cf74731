package terminals

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

const (
	agent    = "a9e40000000000000000000000000001"
	session  = "5e550000000000000000000000000001"
	other    = "5e550000000000000000000000000002"
	path     = "/v1/sessions/" + session + "/resources/terminals"
	terminal = "terminal_sh_k"
)

// world is a runner with a real tmux, and the fake before it.
type world struct {
	*fakeserver.Server
	t      *testing.T
	runner *testkit.Runner
}

func newWorld(t *testing.T, env ...string) *world {
	t.Helper()
	s := fakeserver.New(t)
	w := &world{Server: s, t: t, runner: testkit.NewRunner(t, s.URL)}
	// What a failed test leaves in its terminals goes before anybody counts it.
	t.Cleanup(func() {
		w.runner.Kill()
		testkit.EndLeftovers(t, w.runner.Home)
	})
	s.AddAgent(agent, "helper", map[string]string{"config.yaml": `
name: helper
executor: {harness: "acp:shell"}
os_env: {cwd: ., sandbox: {type: none}}
terminals:
  sh: {command: sh, env: {PS1: "$ ", ENV: ""}}
  free: {command: sh, allow_cwd_override: true}
`})
	for _, id := range []string{session, other} {
		s.AddSession(fakeserver.Session{ID: id, AgentID: agent})
		s.Watch(id)
	}
	w.start(env...)
	return w
}

func (w *world) start(env ...string) {
	w.t.Helper()
	n := w.Ups()
	w.runner.Start(append(env, "TMPDIR="+w.short())...)
	w.Connected(n + 1)
}

// short is a folder whose path leaves room for a socket's.
func (w *world) short() string { return "/tmp" }

// resource is what is told of a terminal.
type resource struct {
	ID       string `json:"id"`
	Session  string `json:"session_id"`
	Metadata struct {
		Running bool   `json:"running"`
		Socket  string `json:"tmux_socket"`
	} `json:"metadata"`
}

func (w *world) create(body fakeserver.Dict) resource {
	w.t.Helper()
	code, text := w.Do(http.MethodPost, path, body)
	require.Equal(w.t, http.StatusOK, code, text)
	var r resource
	require.NoError(w.t, json.Unmarshal([]byte(text), &r))
	return r
}

// shell makes the terminal that most tests use.
func (w *world) shell() resource {
	w.t.Helper()
	return w.create(fakeserver.Dict{"terminal": "sh", "session_key": "k"})
}

func (w *world) list(session string) []resource {
	w.t.Helper()
	code, text := w.Do(http.MethodGet, "/v1/sessions/"+session+"/resources/terminals?order=asc&limit=1000", nil)
	require.Equal(w.t, http.StatusOK, code, text)
	var page struct{ Data []resource }
	require.NoError(w.t, json.Unmarshal([]byte(text), &page))
	return page.Data
}

// view joins a viewer that says its size first, as the web page does.
func (w *world) view(query string) *fakeserver.Viewer {
	w.t.Helper()
	v := w.View(session, terminal, query)
	v.Resize(80, 24)
	return v
}

// news are the events about terminals on a session's stream so far.
func (w *world) news(session, typ string) []fakeserver.Dict {
	var list []fakeserver.Dict
	for _, ev := range w.Events(session) {
		if ev["type"] == typ {
			list = append(list, ev)
		}
	}
	return list
}

func (w *world) deleted() []fakeserver.Dict { return w.news(session, "session.resource.deleted") }

func (w *world) end() {
	w.t.Helper()
	code, text := w.Do(http.MethodDelete, path+"/"+terminal, nil)
	require.Equal(w.t, http.StatusOK, code, text)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
