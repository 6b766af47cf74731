package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/agentspec"
)

// The keys of a snapshot, as upstream's server has them (server.md 2.2).
const snapshotKeys = `id agent_id agent_name status background_task_count background_tasks created_at updated_at title labels
	runner_id host_id runner_online host_online host_resumable reasoning_effort items permission_level sub_agent_name kind
	parent_session_id root_conversation_id llm_model harness model_override cost_control_mode_override subagent_routing_override
	share_workspace_files context_window last_total_tokens total_cost_usd usage_by_model usage_included last_task_error
	external_session_id terminal_launch_args pending_elicitations pending_inputs workspace git_branch archived todos model_options
	inference_configured inference_error terminal_pending sandbox_status mcp_startup active_response_id project_id`

func TestCreateAndRead(t *testing.T) {
	s := newSite(t)
	made := s.ok(201, "POST", "/v1/sessions", map[string]any{"agent_id": s.shell(), "title": "mine", "labels": map[string]string{"a": "1"},
		"workspace": "/w", "model_override": "m", "reasoning_effort": "high", "harness_override": "acp:mine", "external_session_id": "x",
		"project_id": "p", "whatever": 1})
	require.Regexp(t, `^[0-9a-f]{32}$`, made["id"])
	for _, k := range strings.Fields(snapshotKeys) {
		require.Contains(t, made, k)
	}
	for k, want := range map[string]any{"status": "idle", "agent_name": "shell", "title": "mine", "labels": map[string]any{"a": "1"}, "workspace": "/w",
		"model_override": "m", "llm_model": nil, "context_window": 128000.0, "reasoning_effort": "high", "harness": "acp:mine", "harness_override": "acp:mine",
		"external_session_id": "x", "project_id": "p", "kind": "default", "root_conversation_id": made["id"], "permission_level": 4.0,
		"runner_id": nil, "runner_online": true, "archived": false, "items": []any{}, "pending_inputs": []any{}} {
		require.Equal(t, want, made[k], k)
	}
	id := made["id"].(string)
	dashed := fmt.Sprintf("%s-%s-%s-%s-%s", id[:8], id[8:12], id[12:16], id[16:20], id[20:])
	for _, form := range []string{id, dashed, "conv_" + id, strings.ToUpper(id)} {
		require.Equal(t, id, s.snapshot(form)["id"])
	}
	s.restart()
	require.Equal(t, made, s.snapshot(id))

	out := s.ok(422, "POST", "/v1/sessions", map[string]any{})
	require.Equal(t, []any{"body", "agent_id"}, out["detail"].([]any)[0].(map[string]any)["loc"])
	s.ok(422, "POST", "/v1/sessions", map[string]any{"agent_id": 5})
	s.ok(404, "POST", "/v1/sessions", map[string]any{"agent_id": "0123456789abcdef0123456789abcdef"})
	for _, label := range []string{"cost_control.x", "omnigent.turn_actor", "omnigent.pinned.x"} {
		s.ok(400, "POST", "/v1/sessions", map[string]any{"agent_id": s.shell(), "labels": map[string]string{label: "1"}})
	}
	s.ok(400, "POST", "/v1/sessions", map[string]any{"agent_id": s.shell(), "host_id": "h"})
	s.ok(400, "POST", "/v1/sessions", map[string]any{"agent_id": s.shell(), "initial_input": "hi"})
	s.ok(400, "POST", "/v1/sessions", map[string]any{"agent_id": s.shell(), "runner_id": "unknown"})
	out = s.ok(404, "GET", "/v1/sessions/nothex", nil)
	require.Equal(t, map[string]any{"error": map[string]any{"code": "not_found", "message": "Not found."}}, out)
	for _, path := range []string{"/v1/nothing", "/v1/sessions/" + id + "/nothing", "/api/other"} {
		out = s.ok(404, "GET", path, nil)
		require.Equal(t, map[string]any{"error": map[string]any{"code": "not_found", "message": "Not found"}}, out)
	}
}

func TestInitialItems(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	id := s.session(map[string]any{"initial_items": []any{message("old"),
		map[string]any{"type": "message", "role": "assistant", "content": "answer"}, message("new one"), message("new two")}})
	r.await(s, id, "message", 2)
	require.Equal(t, []string{"new one", "new two"}, r.texts(id), "only what nothing answers is work")
	require.Equal(t, []string{"old", "answer", "new one", "new two"}, s.texts(id))
	require.Equal(t, "old", s.snapshot(id)["title"])
}

func TestPatch(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	id := s.session(map[string]any{"runner_id": r.id(), "labels": map[string]string{"keep": "1", "change": "1"}})
	path := "/v1/sessions/" + id
	out := s.ok(200, "PATCH", path, map[string]any{"title": "t", "labels": map[string]string{"change": "2"}, "archived": true,
		"model_override": "opus", "reasoning_effort": "low", "permission_mode": "plan"})
	require.Regexp(t, `^\d+$`, out["labels"].(map[string]any)[labelArchivedAt])
	out = s.ok(200, "PATCH", path, map[string]any{"archived": false})
	for k, want := range map[string]any{"title": "t", "labels": map[string]any{"keep": "1", "change": "2"}, "archived": false,
		"model_override": "opus", "reasoning_effort": "low", "items": []any{}} {
		require.Equal(t, want, out[k], k)
	}
	require.Equal(t, "opus", r.await(s, id, "model_change", 1)[0].body["model"])
	require.Equal(t, "low", r.await(s, id, "effort_change", 1)[0].body["effort"])
	require.Nil(t, s.ok(200, "PATCH", path, map[string]any{"model_override": "reset", "title": nil, "silent": true})["model_override"])
	require.Equal(t, "t", s.snapshot(id)["title"], "null is as if it were not there")
	require.Equal(t, map[string]any{"id": id, "labels": map[string]any{"keep": "1", "change": "2"}}, s.ok(200, "GET", path+"/labels", nil))

	out = s.ok(422, "PATCH", path, map[string]any{"title": "lost", "colour": "red"})
	require.Equal(t, []any{"body", "colour"}, out["detail"].([]any)[0].(map[string]any)["loc"])
	require.Equal(t, "red", out["detail"].([]any)[0].(map[string]any)["input"])
	require.Equal(t, "t", s.snapshot(id)["title"], "a refused patch changes nothing")
	s.ok(422, "PATCH", path, map[string]any{"archived": "yes"})
	s.ok(422, "PATCH", path, map[string]any{"harness_override": "x"})
	s.ok(400, "PATCH", path, "[]")
	s.ok(404, "PATCH", "/v1/sessions/0123456789abcdef0123456789abcdef", map[string]any{"title": "x"})
	s.ok(200, "PATCH", path, map[string]any{"external_session_id": "e1"})
	s.ok(400, "PATCH", path, map[string]any{"external_session_id": "e2"})
	s.ok(400, "PATCH", path, map[string]any{"reasoning_effort": "enormous"})
	require.Nil(t, s.ok(200, "PATCH", path, map[string]any{"reasoning_effort": "default"})["reasoning_effort"])
	s.ok(200, "PATCH", path, map[string]any{"reasoning_effort": "low"})
	s.send(id, "with settings")
	got := r.await(s, id, "message", 1)[0].body
	require.Equal(t, map[string]any{"effort": "low"}, got["reasoning"])
}

func TestLists(t *testing.T) {
	s := newSite(t)
	var ids []string
	for n := range 5 {
		ids = append(ids, s.session(map[string]any{"title": fmt.Sprint("session ", n)}))
	}
	names := func(query string) []string {
		t.Helper()
		out := s.ok(200, "GET", "/v1/sessions?"+query, nil)
		require.Equal(t, "list", out["object"])
		var got []string
		for _, row := range out["data"].([]any) {
			got = append(got, row.(map[string]any)["id"].(string))
		}
		if len(got) > 0 {
			require.Equal(t, got[0], out["first_id"])
			require.Equal(t, got[len(got)-1], out["last_id"])
		}
		return got
	}
	down := slices.Clone(ids)
	slices.Reverse(down)
	require.Equal(t, down, names(""))
	require.Equal(t, ids, names("order=asc"))
	require.Equal(t, down[:2], names("limit=2"))
	require.Equal(t, down[2:4], names("limit=2&after="+down[1]))
	require.Equal(t, down[:2], names("before="+down[2]), "before is read from the start of the order")
	require.Equal(t, down[:1], names("limit=1&before="+down[2]))
	require.Equal(t, ids[3:4], names("search_query=SESSION%203"))
	s.ok(200, "PATCH", "/v1/sessions/"+ids[0], map[string]any{"archived": true})
	require.NotContains(t, names(""), ids[0])
	require.Contains(t, names("include_archived=true"), ids[0])
	require.Equal(t, ids[:1], names("visibility=archived"))
	require.True(t, s.ok(200, "GET", "/v1/sessions?limit=1", nil)["has_more"].(bool))
	require.False(t, s.ok(200, "GET", "/v1/sessions?limit=100", nil)["has_more"].(bool))
	child := s.session(map[string]any{"parent_session_id": ids[1], "title": "helper:fix it"})
	require.NotContains(t, names(""), child)
	require.Equal(t, []string{child}, names("kind=sub_agent"))
	require.Contains(t, names("kind=any"), child)
	kids := s.ok(200, "GET", "/v1/sessions/"+ids[1]+"/child_sessions?limit=1000", nil)["data"].([]any)
	require.Len(t, kids, 1)
	kid := kids[0].(map[string]any)
	require.Equal(t, "helper", kid["tool"])
	require.Equal(t, "fix it", kid["session_name"])
	require.Equal(t, []any{}, s.ok(200, "GET", "/v1/sessions/"+ids[2]+"/child_sessions", nil)["data"])

	out := s.ok(400, "GET", "/v1/sessions?after=0123456789abcdef0123456789abcdef", nil)
	require.Equal(t, "stale_cursor", out["error"].(map[string]any)["code"])
	s.ok(404, "GET", "/v1/sessions?after=nothex", nil)
	for _, bad := range []string{"limit=0", "limit=1001", "limit=x", "order=up"} {
		s.ok(422, "GET", "/v1/sessions?"+bad, nil)
	}
}

func TestItemPages(t *testing.T) {
	s := newSite(t)
	id := s.session()
	s.told(id, 0, 5)
	s.post(id, "external_conversation_item", map[string]any{"item_type": "function_call", "item_data": map[string]any{"name": "f", "arguments": "{}", "call_id": "c"}})
	page := func(query string) []string {
		t.Helper()
		var got []string
		for _, i := range s.ok(200, "GET", "/v1/sessions/"+id+"/items?"+query, nil)["data"].([]any) {
			got = append(got, i.(map[string]any)["id"].(string))
		}
		return got
	}
	all := page("")
	require.Len(t, all, 6)
	require.Equal(t, all[2:4], page("after="+all[1]+"&limit=2"))
	require.Equal(t, all[:2], page("before="+all[2]))
	down := page("order=desc")
	slices.Reverse(down)
	require.Equal(t, all, down)
	require.Equal(t, all[:5], page("type=message"))
	out := s.ok(400, "GET", "/v1/sessions/"+id+"/items?after=0123456789abcdef0123456789abcdef", nil)
	require.Equal(t, "stale_cursor", out["error"].(map[string]any)["code"])
	other := s.session()
	s.ok(400, "GET", "/v1/sessions/"+other+"/items?after="+all[0], nil)
	nested := s.snapshot(id)["items"].([]any)
	require.Len(t, nested, 6)
	first := nested[0].(map[string]any)
	require.Equal(t, all[0], first["id"])
	require.Equal(t, "assistant", first["data"].(map[string]any)["role"])
	require.Equal(t, []any{}, s.ok(200, "GET", "/v1/sessions/"+id+"?include_items=false", nil)["items"])
}

func TestAgents(t *testing.T) {
	s := newSite(t)
	dir := filepath.Join(s.cfg.Dir, "agents")
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("echo.yaml", "name: echo\nprompt: p\nexecutor: {harness: acp:echo, model: m1}\n")
	write("broken.yaml", "name: [\n")
	write("second.yml", "name: echo\nexecutor: {harness: acp:other}\n")
	write("notes.txt", "not an agent")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.yaml"), 0o700))
	byName := map[string]map[string]any{}
	for _, a := range s.ok(200, "GET", "/v1/agents?limit=1000", nil)["data"].([]any) {
		byName[a.(map[string]any)["name"].(string)] = a.(map[string]any)
	}
	require.Len(t, byName, 2, "a broken file, and a second one of a name, are left out")
	echo := byName["echo"]
	require.Equal(t, "acp:echo", echo["harness"])
	require.Equal(t, shortHash("builtin:echo"), echo["id"])
	require.Equal(t, "acp:shell", byName["shell"]["harness"])
	require.EqualValues(t, 1, echo["version"])

	id := s.session(map[string]any{"agent_id": echo["id"]})
	require.Equal(t, echo, s.ok(200, "GET", "/v1/sessions/"+id+"/agent", nil))
	require.Equal(t, "m1", s.snapshot(id)["llm_model"])
	res, raw := s.raw("GET", "/v1/sessions/"+id+"/agent/contents", nil, nil)
	require.Equal(t, 200, res.StatusCode)
	for k, want := range map[string]string{"Content-Type": "application/gzip", "Cache-Control": "no-store", "X-Agent-Id": echo["id"].(string),
		"X-Agent-Version": "1", "X-Agent-Name": "echo", "X-Agent-Session-Scoped": "false"} {
		require.Equal(t, want, res.Header.Get(k), k)
	}
	yaml, err := agentspec.Open(bytes.NewReader(raw))
	require.NoError(t, err)
	require.Contains(t, string(yaml), "name: echo")

	r := s.runner("secret")
	s.send(id, "one")
	before := r.await(s, id, "message", 1)[0].body["agent_revision"]
	write("echo.yaml", "name: echo\nprompt: changed\nexecutor: {harness: acp:echo}\n")
	s.send(id, "two")
	after := r.await(s, id, "message", 2)[1].body["agent_revision"]
	require.NotEqual(t, before, after, "a changed file is a new revision")
	require.EqualValues(t, 2, s.ok(200, "GET", "/v1/sessions/"+id+"/agent", nil)["version"])

	require.NoError(t, os.Remove(filepath.Join(dir, "echo.yaml")))
	require.NoError(t, os.Remove(filepath.Join(dir, "second.yml")))
	out := s.ok(410, "POST", "/v1/sessions/"+id+"/events", message("three"))
	require.Equal(t, "session_agent_missing", out["error"].(map[string]any)["code"])
	require.Equal(t, []string{"one", "two"}, s.texts(id))
	require.Equal(t, "echo", s.snapshot(id)["agent_name"], "the session can still be read")
}

// A message that waits while its agent goes away has its outcome too.
func TestAWaitingMessageWhoseAgentIsGone(t *testing.T) {
	s := newSite(t)
	file := filepath.Join(s.cfg.Dir, "agents", "echo.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: echo\nexecutor: {harness: acp:echo}\n"), 0o600))
	id := s.session(map[string]any{"agent_id": shortHash("builtin:echo")})
	s.send(id, "one")
	require.NoError(t, os.Remove(file))
	s.runner("secret")
	s.status(id, "failed")
	require.Contains(t, s.snapshot(id)["last_task_error"].(map[string]any)["message"], "not offered any more")
	require.Empty(t, s.snapshot(id)["pending_inputs"])
}

// upload creates a session from a bundle.
func (s *site) upload(metadata string, bundle []byte) (int, map[string]any) {
	s.t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	if metadata != "" {
		require.NoError(s.t, form.WriteField("metadata", metadata))
	}
	if bundle != nil {
		part, err := form.CreateFormFile("bundle", "agent.tgz")
		require.NoError(s.t, err)
		_, err = part.Write(bundle)
		require.NoError(s.t, err)
	}
	require.NoError(s.t, form.Close())
	res, raw := s.raw("POST", "/v1/sessions", b.String(), map[string]string{"Content-Type": form.FormDataContentType()})
	out := map[string]any{}
	require.NoError(s.t, json.Unmarshal(raw, &out), string(raw))
	return res.StatusCode, out
}

func TestCreateFromABundle(t *testing.T) {
	s := newSite(t)
	good := tarball(t, "config.yaml", "name: up\nprompt: p\nexecutor: {harness: acp:mine}\n")
	code, out := s.upload(`{"title":"t"}`, good)
	require.Equal(t, 201, code, out)
	require.Equal(t, "up", out["agent_name"])
	require.Equal(t, "t", s.snapshot(out["session_id"].(string))["title"])
	code, again := s.upload(`{}`, good)
	require.Equal(t, 201, code)
	require.Equal(t, out["agent_id"], again["agent_id"], "the same files are the same agent")
	require.NotEqual(t, out["session_id"], again["session_id"])
	s.restart()
	require.Equal(t, "up", s.ok(200, "GET", "/v1/sessions/"+out["session_id"].(string)+"/agent", nil)["name"])
	for _, a := range s.ok(200, "GET", "/v1/agents", nil)["data"].([]any) {
		require.NotEqual(t, "up", a.(map[string]any)["name"], "an upload is not offered to others")
	}

	for name, c := range map[string]struct {
		metadata string
		bundle   []byte
		want     int
	}{
		"no metadata": {"", good, 422}, "no bundle": {"{}", nil, 422}, "not a tar": {"{}", []byte("hello"), 400},
		"bad metadata": {"[", good, 400}, "not an agent": {"{}", tarball(t, "config.yaml", "[]"), 400},
	} {
		code, out := s.upload(c.metadata, c.bundle)
		require.Equal(t, c.want, code, "%s: %v", name, out)
	}
}

func tarball(t *testing.T, name, text string) []byte {
	t.Helper()
	return archive(t, map[string]string{name: text})
}

// archive is a bundle of files, the order of which is chance.
func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	tw := tar.NewWriter(zip)
	for name, text := range files {
		require.NoError(t, tw.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}))
		_, err := tw.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	require.NoError(t, zip.Close())
	return b.Bytes()
}

func TestTheSmallAnswers(t *testing.T) {
	s := newSite(t)
	id := s.session()
	require.Equal(t, map[string]any{"user_id": "local", "is_admin": true}, s.ok(200, "GET", "/v1/me", nil))
	require.Equal(t, map[string]any{"version": "test"}, s.ok(200, "GET", "/api/version", nil))
	require.Equal(t, true, s.ok(200, "GET", "/v1/info", nil)["single_user"])
	require.Equal(t, map[string]any{"status": "ok"}, s.ok(200, "GET", "/health", nil))
	require.Equal(t, map[string]any{"result": "POLICY_ACTION_ALLOW"}, s.ok(200, "POST", "/v1/sessions/"+id+"/policies/evaluate", map[string]any{"event": map[string]any{}}))
	s.ok(404, "POST", "/v1/sessions/0123456789abcdef0123456789abcdef/policies/evaluate", map[string]any{})
	res, raw := s.raw("GET", "/", nil, nil)
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, string(raw), "outrunner")
	require.NotEmpty(t, res.Header.Get("X-Request-Id"))

	r := s.runner("secret")
	require.Equal(t, map[string]any{"runner_id": "runner_x", "online": false}, s.ok(200, "GET", "/v1/runners/runner_x/status", nil))
	row := s.ok(200, "GET", "/v1/runners", nil)["data"].([]any)[0].(map[string]any)
	require.Equal(t, r.id(), row["runner_id"])
	require.Equal(t, true, row["online"])
	require.Equal(t, []any{"acp:shell"}, row["harnesses"])
	s.ok(200, "PATCH", "/v1/sessions/"+id, map[string]any{"runner_id": r.id()})
	health := s.ok(200, "GET", "/health?session_id="+id+"&session_ids="+id+",nope", nil)
	require.Equal(t, true, health["session"].(map[string]any)["runner_online"])
	require.Len(t, health["sessions"], 1)
	r.disconnect()
	s.eventually("offline", func() bool {
		return s.ok(200, "GET", "/v1/runners", nil)["data"].([]any)[0].(map[string]any)["online"] == false
	})
}
