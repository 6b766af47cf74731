package serverapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// site answers by path, whatever the query.
func site(answers map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[strings.TrimPrefix(r.URL.Path, "/base")]
		if !ok {
			answer(404, asJSON, `{"error":{"code":"not_found","message":"Not found."}}`)(w, r)
			return
		}
		answer(200, asJSON, text)(w, r)
	}
}

func lookUp(t *testing.T, c *Client, tool, args string) map[string]any {
	t.Helper()
	text, err := c.LookUp(t.Context(), "s", tool, json.RawMessage(args))
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

func TestLookUpList(t *testing.T) {
	var rec recorder
	c := rec.serve(t, site(map[string]string{
		"/v1/sessions/s":                `{"id":"s","parent_session_id":"p"}`,
		"/v1/sessions/s/child_sessions": `{"data":[{"id":"k","tool":"worker","session_name":"one","current_task_status":"completed"},{"id":"x","tool":"worker","session_name":"two","labels":{"omnigent.closed":"true"}}]}`,
		"/v1/sessions/p/child_sessions": `{"data":[{"id":"s","tool":"a","session_name":"me"},{"id":"b","tool":"a","session_name":"brother"}]}`,
		"/v1/sessions":                  `{"data":[{"id":"p","agent_name":"lead","status":"running"}],"last_id":"p","has_more":true}`,
	}))
	out := lookUp(t, c, "sys_session_list", `{"agent_name":"lead","limit":1,"cursor":"c"}`)
	require.Equal(t, []any{
		map[string]any{"agent": "worker", "title": "one", "conversation_id": "k", "status": "completed"},
		map[string]any{"agent": "main", "title": nil, "conversation_id": "p"},
		map[string]any{"agent": "a", "title": "brother", "conversation_id": "b"},
	}, out["sub_agents"])
	require.Equal(t, "p", out["sessions"].([]any)[0].(map[string]any)["id"])
	require.Equal(t, "p", out["next_cursor"])
	require.Contains(t, rec.lines(), "GET /base/v1/sessions?after=c&agent_name=lead&kind=any&limit=1&order=desc&visibility=all")
	require.Contains(t, lookUp(t, c, "sys_session_list", `{"limit":101}`)["error"], "limit is 1 to 100")
}

func TestLookUpInfo(t *testing.T) {
	c := serve(t, site(map[string]string{
		"/v1/sessions/k": `{"id":"k","status":"failed","updated_at":7,"title":"worker:one","model_override":null,"llm_model":"m","last_task_error":{"code":"x","message":"boom"},"pending_elicitations":[{"elicitation_id":"q"}]}`,
	}))
	out := lookUp(t, c, "sys_session_get_info", `{"session_id":"k"}`)
	require.Equal(t, "failed", out["status"])
	require.Equal(t, 7.0, out["last_activity_at"])
	require.Equal(t, "m", out["model"])
	require.Equal(t, 1.0, out["pending_elicitation_count"])
	require.Equal(t, map[string]any{"code": "x", "message": "boom"}, out["last_task_error"])
	require.Equal(t, map[string]any{"error": "session_not_found", "session_id": "s"}, lookUp(t, c, "sys_session_get_info", `{}`))
}

func TestLookUpHistory(t *testing.T) {
	var rec recorder
	c := rec.serve(t, site(map[string]string{
		"/v1/sessions/k": `{"id":"k","title":"worker:one","parent_session_id":"s"}`,
		"/v1/sessions/k/items": `{"data":[
			{"id":"4","type":"error","code":"x","message":"boom"},
			{"id":"3","type":"function_call_output","output":"abcdef"},
			{"id":"2","type":"function_call","name":"sh","arguments":"{}"},
			{"id":"1","type":"message","role":"user","content":[{"type":"input_text","text":"größe"}]}]}`,
	}))
	out := lookUp(t, c, "sys_session_get_history", `{"conversation_id":"k","tail_items":4,"content_max_chars":3,"content_offset_chars":1}`)
	require.Equal(t, "worker", out["agent"])
	require.Equal(t, "one", out["title"])
	require.Equal(t, []any{
		map[string]any{"type": "message", "role": "user", "text": "röß… [4 of 5 characters; go on with content_offset_chars=4]"},
		map[string]any{"type": "function_call", "tool": "sh", "args": "}"},
		map[string]any{"type": "function_call_output", "output": "bcd… [4 of 6 characters; go on with content_offset_chars=4]"},
		map[string]any{"type": "error", "code": "x", "message": "oom"},
	}, out["items"])
	require.Contains(t, rec.lines()[0], "limit=4&order=desc")
	for _, args := range []string{`{}`, `{"conversation_id":"k","tail_items":0}`, `{"conversation_id":"k","content_max_chars":0}`, `{"conversation_id":"k","content_offset_chars":-1}`, `{"conversation_id":7}`} {
		require.Contains(t, lookUp(t, c, "sys_session_get_history", args)["error"], "sys_session_get_history", args)
	}
}

func TestLookUpThatCannotAsk(t *testing.T) {
	c := serve(t, answer(502, "text/html", "<html>"))
	c.Timing.Away = time.Millisecond
	for _, tool := range []string{"sys_session_list", "sys_session_get_info", "sys_session_get_history", "sys_none"} {
		_, err := c.LookUp(t.Context(), "s", tool, json.RawMessage(`{"conversation_id":"k"}`))
		require.Error(t, err, tool)
	}
	c = serve(t, answer(403, asJSON, `{"error":{"code":"forbidden","message":"no"}}`))
	require.Equal(t, map[string]any{"error": "access_denied", "session_id": "s"}, lookUp(t, c, "sys_session_get_info", `{}`))
}

func TestControl(t *testing.T) {
	var rec recorder
	c := rec.serve(t, answer(202, asJSON, `{"queued":false}`))
	require.NoError(t, c.Control(t.Context(), "s", "interrupt"))
	require.JSONEq(t, `{"type":"interrupt","data":{}}`, rec.only(t).body)
	require.ErrorContains(t, serve(t, answer(503, asJSON, `{}`)).Control(t.Context(), "s", "stop_session"), "sending stop_session to session s")
}
