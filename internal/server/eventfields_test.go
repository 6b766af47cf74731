package server

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/server/store"
)

// Clients get every field of an event, nulls included, and no other.
func TestWholeEvents(t *testing.T) {
	for name, c := range map[string]struct{ typ, given, want string }{
		"a status": {typeStatus, `{"conversation_id":"s","status":"failed","error":{"code":"c","message":"m","odd":1},"background_tasks":[{"id":"b"}],"odd":1}`,
			`{"sequence_number":null,"type":"session.status","conversation_id":"s","status":"failed","response_id":null,
			"error":{"code":"c","message":"m","title":null,"cause":null,"remediation":null,"undelivered":null},"background_task_count":null,
			"background_tasks":[{"id":"b","type":null,"status":null,"description":null,"command":null}],"blocked_on":null}`},
		"a response": {typeFailed, `{"sequence_number":7,"response":{"id":"r","status":"failed","model":"m","created_at":1,"output":null,"usage":{"input_tokens":3},"odd":1}}`,
			`{"sequence_number":7,"type":"response.failed","source":"execution","response":{"id":"r","object":"response","status":"failed","model":"m",
			"created_at":1,"completed_at":null,"output":[],"background":false,"store":true,"previous_response_id":null,"conversation":null,
			"instructions":null,"reasoning":null,"error":null,"incomplete_details":null,"usage":{"input_tokens":3,"output_tokens":0,
			"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0,"context_tokens":null,"cache_read_input_tokens":0,
			"cache_creation_input_tokens":0,"model":null,"cost_usd":null}}}`},
		"a question": {typeQuestion, `{"elicitation_id":"e","params":{"message":"m","own":1}}`,
			`{"sequence_number":null,"type":"response.elicitation_request","elicitation_id":"e","method":"elicitation/create","params":{"mode":"form",
			"message":"m","requestedSchema":null,"url":null,"phase":null,"policy_name":null,"content_preview":null,"target_session_id":null,"own":1}}`},
		"usage": {"session.usage", `{"conversation_id":"s","usage_by_model":{"m":{"input_tokens":1}}}`,
			`{"sequence_number":null,"type":"session.usage","conversation_id":"s","context_tokens":null,"context_window":null,"total_cost_usd":null,
			"usage_by_model":{"m":{"input_tokens":1,"output_tokens":null,"total_tokens":null,"cache_read_input_tokens":null,
			"cache_creation_input_tokens":null,"total_cost_usd":null}}}`},
		"a retry": {"response.retry", `{"source":"llm","attempt":1,"max_attempts":2,"delay_seconds":1,"error":{"code":"c","message":"m"}}`,
			`{"sequence_number":null,"type":"response.retry","source":"llm","tool_name":null,"attempt":1,"max_attempts":2,"delay_seconds":1,
			"error":{"code":"c","message":"m","detail":null}}`},
		"an interrupt": {typeInterrupted, `{"data":{"requested_at":1}}`,
			`{"sequence_number":null,"type":"session.interrupted","data":{"requested_at":1,"response_id":null}}`},
		"start-up": {"session.mcp_startup", `{"conversation_id":"s","servers":{"a":{"status":"ready"}}}`,
			`{"sequence_number":null,"type":"session.mcp_startup","conversation_id":"s","servers":{"a":{"status":"ready","error":null}}}`},
		"what is none of ours": {"session.unheard", `{"a":1}`, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := wholeEvent(c.typ, []byte(c.given))
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(got))
		})
	}
	_, err := wholeEvent(typeStatus, []byte("[]"))
	require.Error(t, err)
}

// A client that does not ask for what is ours alone does not get it.
func TestExtrasAreAskedFor(t *testing.T) {
	s, r, session, input := started(t)
	plain := map[string]string{headerExtras: ""}
	keys := func(header map[string]string, query string) map[string]any {
		t.Helper()
		_, raw := s.raw("GET", "/v1/sessions/"+session+query, nil, header)
		out := map[string]any{}
		require.NoError(t, json.Unmarshal(raw, &out))
		return out
	}
	require.Contains(t, keys(nil, ""), "harness_override")
	require.Equal(t, "acp:shell", keys(plain, "?"+queryExtras+"=1")["harness"])
	bare := keys(plain, "")
	require.NotContains(t, bare, "harness_override")
	require.Equal(t, "acp", bare["harness"])
	require.Equal(t, true, bare["usage_included"])
	less := keys(plain, "?include_usage=false&include_liveness=false")
	require.Equal(t, false, less["usage_included"])
	require.Nil(t, less["runner_online"])

	r.say(session, response("in_progress", "resp_1", []string{input}),
		status(session, "failed", map[string]any{"error": map[string]any{"code": "c", "message": "m", "item_id": input}}))
	s.status(session, "failed")
	events, err := s.srv.db.Read().Events(t.Context(), session, 0, 1000, 1000)
	require.NoError(t, err)
	found := map[string]bool{}
	require.False(t, waits(&store.Item{CreatedAt: 10}, 11))
	require.True(t, waits(&store.Item{CreatedAt: 10}, 12))
	for _, e := range events {
		var ours, theirs map[string]any
		require.NoError(t, json.Unmarshal(e.Data, &ours))
		require.NoError(t, json.Unmarshal(withoutExtras(rowFrame(e)).data, &theirs))
		switch e.Type {
		case typeInProgress, typeFailed:
			require.Equal(t, []any{input}, ours[keyInputs])
			require.NotContains(t, theirs, keyInputs)
		case typeConsumed:
			require.Nil(t, theirs["data"].(map[string]any)["cleared_pending_id"], "it was never seen to wait")
		case typeStatus:
			require.Equal(t, input, ours["error"].(map[string]any)[keyItem])
			require.NotContains(t, theirs["error"], keyItem)
		default:
			require.Equal(t, ours, theirs)
		}
		found[e.Type] = true
	}
	require.True(t, found[typeInProgress] && found[typeFailed] && found[typeStatus])

	r.disconnect()
	s.send(session, "later")
	require.Len(t, keys(nil, "")["pending_inputs"], 1)
	require.Empty(t, keys(plain, "")["pending_inputs"], "it waits only after a while")
}

// A stream begins with the state of what is around the session.
func TestTheBeginningOfAStream(t *testing.T) {
	s := newSite(t)
	root := s.lead(nil)
	worker := s.child(root, "worker", "1")
	v := s.watch(root, "")
	child := <-v.begin
	require.Equal(t, typeChildUpdated, child.typ)
	require.Equal(t, worker, child.data["child_session_id"])
	require.Equal(t, map[string]any{"type": typeChangedFiles, "sequence_number": nil, "session_id": root, "environment_id": "default"}, (<-v.begin).data)
	require.Equal(t, map[string]any{"type": typePresence, "sequence_number": nil, "conversation_id": root, "viewers": []any{}}, (<-v.begin).data)
}
