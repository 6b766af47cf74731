package server

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/agentspec"
	"github.com/outrunner/outrunner/runner/wire"
)

// contents is what a session's runner reads of its agent.
func (s *site) contents(session string) (*wire.Spec, []byte) {
	s.t.Helper()
	res, raw := s.raw("GET", "/v1/sessions/"+session+"/agent/contents", nil, nil)
	require.Equal(s.t, 200, res.StatusCode, string(raw))
	spec, err := agentspec.Extract(bytes.NewReader(raw), filepath.Join(s.t.TempDir(), "agent"))
	require.NoError(s.t, err)
	return spec, raw
}

func (s *site) revision(session string) string {
	s.t.Helper()
	ses, err := s.srv.db.Read().Session(s.t.Context(), session)
	require.NoError(s.t, err)
	a, err := s.srv.agent(s.t.Context(), ses.AgentID)
	require.NoError(s.t, err)
	return a.revision()
}

// An agent may be a folder, with a folder for each sub-agent: the runner gets it
// whole, and an edit of any file is a new revision.
func TestAnAgentWithSubAgents(t *testing.T) {
	s := newSite(t)
	root := s.lead()
	dir := filepath.Join(s.cfg.Dir, "agents", "lead")
	spec, _ := s.contents(root)
	require.Equal(t, "lead", spec.Name)
	require.Equal(t, "acp:digger", spec.Find("digger").Harness)
	notes, err := os.ReadFile(filepath.Join(spec.Find("worker").Dir, "notes.md"))
	require.NoError(t, err)
	require.Equal(t, "Be brief.", string(notes))
	child := s.child(root, "worker", "1")
	_, raw := s.contents(root)
	_, same := s.contents(child)
	require.Equal(t, raw, same, "a sub-agent has the agent of its parent")
	agent := s.ok(200, "GET", "/v1/sessions/"+root+"/agent", nil)
	require.Equal(t, "acp:lead", agent["harness"])
	require.EqualValues(t, 1, agent["version"])

	first := s.revision(root)
	require.Regexp(t, "^"+shortHash("builtin:lead")+"/[0-9a-f]{64}$", first)
	plant(t, dir, map[string]string{"agents/worker/config.yaml": "name: worker\nexecutor: {harness: acp:other}\n"})
	require.NotEqual(t, first, s.revision(root), "an edit counts at once")
	require.Equal(t, "acp:other", s.snapshot(child)["harness"])
	spec, _ = s.contents(root)
	require.Equal(t, "acp:other", spec.Find("worker").Harness)
	require.EqualValues(t, 2, s.ok(200, "GET", "/v1/sessions/"+root+"/agent", nil)["version"])
	plant(t, dir, family)
	require.Equal(t, first, s.revision(root), "the same files are the same revision")

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "agents", "worker")))
	require.Nil(t, s.snapshot(child)["harness"], "the tree has no such sub-agent any more")
	s.ok(404, "POST", "/v1/sessions", map[string]any{"parent_session_id": root, "sub_agent_name": "worker"})
	require.NoError(t, os.RemoveAll(dir))
	s.ok(410, "GET", "/v1/sessions/"+root+"/agent/contents", nil)
}

// A folder that has not changed for a while is not read again, whatever happens
// to its files, until a look at it shows a change.
func TestAnAgentsFolderIsReadOnce(t *testing.T) {
	s := newSite(t)
	root := s.lead()
	dir := filepath.Join(s.cfg.Dir, "agents", "lead")
	old := time.Now().Add(-time.Hour)
	age := func() {
		t.Helper()
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			require.NoError(t, err)
			return os.Chtimes(path, old, old)
		}))
	}
	age()
	first := s.revision(root)
	file := filepath.Join(dir, "config.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte("lead."), []byte("load."), 1), 0o600))
	age()
	require.Equal(t, first, s.revision(root), "nothing shows that it has changed")
	require.NoError(t, os.Chtimes(file, old, old.Add(time.Second)))
	second := s.revision(root)
	require.NotEqual(t, first, second)

	// Two changes so close that they may have one time are both seen.
	now := time.Now().Add(time.Minute)
	seen := map[string]bool{second: true}
	for _, word := range []string{"lend.", "land."} {
		require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte("lead."), []byte(word), 1), 0o600))
		require.NoError(t, os.Chtimes(file, now, now))
		require.False(t, seen[s.revision(root)])
		seen[s.revision(root)] = true
	}
}

func TestFoldersThatAreNoAgents(t *testing.T) {
	s := newSite(t)
	agents := filepath.Join(s.cfg.Dir, "agents")
	plant(t, agents, map[string]string{
		"empty/readme.md": "x", "broken/config.yaml": "name: [", "nameless/config.yaml": "prompt: p", ".hidden/config.yaml": "name: hidden",
		"twice/config.yaml": "name: twice", "twice/agents/a/config.yaml": "name: x", "twice/agents/b/config.yaml": "name: x",
		"one.yaml": "name: one", "two/config.yaml": "name: one",
	})
	var names []any
	for _, a := range s.ok(200, "GET", "/v1/agents", nil)["data"].([]any) {
		names = append(names, a.(map[string]any)["name"])
	}
	require.ElementsMatch(t, []any{"shell", "one"}, names)
	if os.Symlink("/etc", filepath.Join(agents, "two", "link")) == nil {
		require.NoError(t, os.Remove(filepath.Join(agents, "one.yaml")))
		require.Len(t, s.ok(200, "GET", "/v1/agents", nil)["data"], 1, "a folder with a link")
		require.NoError(t, os.Remove(filepath.Join(agents, "two", "link")))
		require.Len(t, s.ok(200, "GET", "/v1/agents", nil)["data"], 2)
	}
}

// A bundle brings a whole tree; the same files are the same agent, in whatever
// order they come, and the runner gets the bytes that came first.
func TestABundleWithSubAgents(t *testing.T) {
	s := newSite(t)
	bundle := archive(t, family)
	code, out := s.upload(`{}`, bundle)
	require.Equal(t, 201, code, out)
	root := out["session_id"].(string)
	code, again := s.upload(`{}`, archive(t, family))
	require.Equal(t, 201, code)
	require.Equal(t, out["agent_id"], again["agent_id"])
	other := map[string]string{"config.yaml": family["config.yaml"]}
	code, out = s.upload(`{}`, archive(t, other))
	require.Equal(t, 201, code)
	require.NotEqual(t, again["agent_id"], out["agent_id"])

	s.restart()
	_, raw := s.contents(root)
	require.Equal(t, bundle, raw)
	child := s.child(root, "digger", "1")
	require.Equal(t, "acp:digger", s.snapshot(child)["harness"])
	code, out = s.upload(`{"parent_session_id":"`+root+`","title":"own:1"}`, archive(t, other))
	require.Equal(t, 201, code, out)
	require.Equal(t, "sub_agent", s.snapshot(out["session_id"].(string))["kind"])

	for name, files := range map[string]map[string]string{
		"outside": {"config.yaml": "name: x", "../out": "x"}, "two alike": {"config.yaml": "name: x", "agents/a/config.yaml": "name: y", "agents/b/config.yaml": "name: y"},
		"no agent": {"readme.md": "x"},
	} {
		code, out = s.upload(`{}`, archive(t, files))
		require.Equal(t, 400, code, "%s: %v", name, out)
	}
	code, out = s.upload(`{}`, bundle[:len(bundle)/2])
	require.Equal(t, 400, code, out)
}

// An upload from before there were trees is stored as one YAML file.
func TestAnUploadFromBefore(t *testing.T) {
	s := newSite(t)
	code, out := s.upload(`{}`, archive(t, map[string]string{"config.yaml": "name: old\nexecutor: {harness: acp:old}\n"}))
	require.Equal(t, 201, code)
	id := out["session_id"].(string)
	s.stop()
	db, err := sql.Open("sqlite", filepath.Join(s.cfg.Dir, databaseFile))
	require.NoError(t, err)
	_, err = db.Exec(`UPDATE agents SET spec = '', content = ? WHERE name = 'old'`, []byte("name: old\nexecutor: {harness: acp:old}\n"))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	s.start()
	spec, _ := s.contents(id)
	require.Equal(t, "acp:old", spec.Harness)
	require.EqualValues(t, 1, s.ok(200, "GET", "/v1/sessions/"+id+"/agent", nil)["version"])
	require.Equal(t, "acp:old", s.snapshot(id)["harness"])
}
