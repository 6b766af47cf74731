package serverapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestEvaluate(t *testing.T) {
	var rec recorder
	c := rec.serve(t, answer(200, asJSON, `{"result":"POLICY_ACTION_ALLOW","reason":null,"data":{"a":1}}`))
	event := `{"event":{"type":"PHASE_TOOL_RESULT","data":"x","request_data":{"name":"sys_session_send"}}}`
	verdict, err := c.Evaluate(t.Context(), "s", []byte(event))
	require.NoError(t, err)
	require.Equal(t, wire.Verdict{Action: "POLICY_ACTION_ALLOW", Data: []byte(`{"a":1}`)}, verdict)
	got := rec.only(t)
	require.Equal(t, "POST /base/v1/sessions/s/policies/evaluate", got.line)
	require.JSONEq(t, event, got.body)

	for _, action := range []string{"DENY", "ASK", "UNSPECIFIED"} {
		c := serve(t, answer(200, asJSON, `{"result":"POLICY_ACTION_`+action+`","reason":"why"}`))
		verdict, err := c.Evaluate(t.Context(), "s", []byte("{}"))
		require.NoError(t, err)
		require.Equal(t, wire.Verdict{Action: "POLICY_ACTION_" + action, Reason: "why"}, verdict)
	}
}

func TestWhatIsNoVerdictAllowsNothing(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"result":null}`, `{"result":true}`, `{"result":"allow"}`, `{"result":"POLICY_ACTION_"}`, `{"result":"POLICY_ACTION_MAYBE","data":"x"}`,
		`{"action":"POLICY_ACTION_ALLOW"}`,
	} {
		c := serve(t, answer(200, asJSON, text))
		verdict, err := c.Evaluate(t.Context(), "s", []byte("{}"))
		require.ErrorContains(t, err, "no verdict", text)
		require.Zero(t, verdict, text)
	}
}

func TestJudge(t *testing.T) {
	var rec recorder
	c := rec.serve(t, answer(200, asJSON, `{"result":"POLICY_ACTION_DENY","reason":"no"}`))
	verdict, err := c.Judge(t.Context(), "s", "PHASE_TOOL_CALL", []byte(`{"name":"bash","arguments":{"command":"ls"}}`))
	require.NoError(t, err)
	require.Equal(t, wire.Verdict{Action: "POLICY_ACTION_DENY", Reason: "no"}, verdict)
	require.JSONEq(t, `{"event":{"type":"PHASE_TOOL_CALL","data":{"name":"bash","arguments":{"command":"ls"}}}}`, rec.only(t).body)

	c = serve(t, answer(200, asJSON, `{}`))
	_, err = c.Judge(t.Context(), "s", "PHASE_REQUEST", []byte("{}"))
	require.ErrorContains(t, err, "about a PHASE_REQUEST in session s: the answer has no verdict")
}
