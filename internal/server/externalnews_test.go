package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a program beside the turn tells becomes the event of the API.
func TestExternalNews(t *testing.T) {
	s := newSite(t)
	session := s.session()
	v := s.watch(session, "")
	for name, c := range map[string]struct {
		data map[string]any
		typ  string
		want map[string]any
	}{
		"external_output_reasoning_delta":          {map[string]any{"delta": "r"}, "response.reasoning_text.delta", map[string]any{"delta": "r"}},
		"external_tool_output_delta":               {map[string]any{"call_id": "c", "delta": "d"}, "response.function_call_output.delta", map[string]any{"call_id": "c", "delta": "d"}},
		"external_session_usage":                   {map[string]any{"context_tokens": 5}, "session.usage", map[string]any{"context_tokens": 5.0, "context_window": nil}},
		"external_model_change":                    {map[string]any{"model": "m"}, "session.model", map[string]any{"model": "m"}},
		"external_reasoning_effort_change":         {map[string]any{"reasoning_effort": "high"}, "session.reasoning_effort", map[string]any{"reasoning_effort": "high"}},
		"external_permission_mode_change":          {map[string]any{"permission_mode": "plan"}, "session.permission_mode", map[string]any{"permission_mode": "plan"}},
		"external_codex_collaboration_mode_change": {map[string]any{"mode": "plan"}, "session.collaboration_mode", map[string]any{"mode": "plan"}},
		"external_session_todos":                   {map[string]any{"todos": []any{}}, "session.todos", map[string]any{"todos": []any{}}},
		"external_mcp_startup":                     {map[string]any{"servers": map[string]any{}}, "session.mcp_startup", map[string]any{"servers": map[string]any{}}},
		"external_session_title":                   {map[string]any{"title": "tt"}, "session.title", map[string]any{"title": "tt"}},
		"external_btw_sidechat":                    {map[string]any{"question": "q", "answer": "a"}, "session.btw_sidechat", map[string]any{"question": "q", "answer": "a", "truncated": false}},
		"external_compaction_status":               {map[string]any{"status": "completed"}, "response.compaction.completed", map[string]any{"summary": nil}},
	} {
		require.Equal(t, map[string]any{"queued": false}, s.post(session, name, c.data), name)
		e := v.next()
		require.Equal(t, c.typ, e.typ, name)
		require.Contains(t, e.data, "sequence_number")
		for k, want := range c.want {
			require.Equal(t, want, e.data[k], "%s %s", name, k)
		}
	}
	s.post(session, "external_session_interrupted", map[string]any{"response_id": "r"})
	require.Equal(t, "r", v.next().data["data"].(map[string]any)["response_id"])
	s.post(session, "external_compaction_status", map[string]any{"status": "in_progress"})
	require.NotZero(t, v.next().data["started_at"])
	require.Equal(t, "tt", s.snapshot(session)["title"])

	said := s.post(session, "external_assistant_message", map[string]any{"agent": "a", "text": "hi"})["item_id"]
	done := v.next().data["item"].(map[string]any)
	require.Equal(t, said, done["id"])
	require.Equal(t, "a", done["model"])
	require.Equal(t, []string{"hi"}, s.texts(session))
	require.Equal(t, map[string]any{"queued": true}, s.post(session, "compaction", map[string]any{"summary": "s", "last_item_id": "i", "token_count": 1}))
	items := s.items(session)
	require.Equal(t, "compaction", items[len(items)-1]["type"])

	for name, data := range map[string]map[string]any{"external_model_change": {}, "external_session_title": {}, "external_compaction_status": {"status": "x"},
		"external_assistant_message": {"agent": "a"}, "compaction": {}, "external_session_todos": {}} {
		s.ok(400, "POST", "/v1/sessions/"+session+"/events", map[string]any{"type": name, "data": data})
	}
}
