package acp

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// reply answers a turn's question.
func reply(t *testing.T, r *Run, q *wire.Elicitation, action, answer string) {
	t.Helper()
	msg := wire.ToHarness{Type: wire.Approval, ElicitationID: q.ID, Action: action}
	if answer != "" {
		raw, err := json.Marshal(map[string]string{"answer": answer})
		require.NoError(t, err)
		msg.Content = raw
	}
	require.NoError(t, r.Send(msg))
}

func TestPermission(t *testing.T) {
	selected := func(id string) string {
		return fmt.Sprintf(`got {"outcome":{"optionId":"%s","outcome":"selected"}}`, id)
	}
	cancelled := `got {"outcome":{"outcome":"cancelled"}}`
	s := newStage(t)
	for _, test := range []struct{ offered, action, answer, want string }{
		{"plain", wire.Accept, "", selected("y")},
		{"plain", wire.Decline, "", selected("n")},
		{"plain", wire.Cancel, "", cancelled},
		{"plain", "strange", "", cancelled},
		{"only", wire.Decline, "", cancelled},
		{"always", wire.Accept, "", selected("y")},
		{"always", wire.Accept, "Always", selected("a")},
		{"always", wire.Accept, "No", selected("n")},
		{"always", wire.Accept, "Maybe", selected("n")},
		{"always", wire.Decline, "Always", selected("n")},
		{"grant", wire.Accept, "", cancelled},
		{"grant", wire.Accept, "Always", selected("a")},
	} {
		s.forget()
		r, ended := s.begin(script("ask " + test.offered))
		reply(t, r, s.asked(1), test.action, test.answer)
		s.completed(s.await(ended))
		require.Equal(t, test.want, s.text(), "%+v", test)
	}
	require.Equal(t, 12, s.turns())
}

func TestWhatAHumanIsAsked(t *testing.T) {
	s := newStage(t)
	r, ended := s.begin(script(
		`update {"sessionUpdate":"tool_call","toolCallId":"c","title":"bash","rawInput":{"command": "rm x"}}`, `ask plain`,
		`ask always {"toolCallId":"d","title":"Remove all of it","kind":"delete","rawInput":{"path":"x"}}`))
	q := s.asked(1)
	require.Regexp(t, "^elicit_[0-9a-f]{32}$", q.ID)
	require.Equal(t, "elicitation/create", q.Method)
	require.Equal(t, "bash", q.Tool.Name)
	require.JSONEq(t, `{"command":"rm x"}`, string(q.Tool.Args))
	require.JSONEq(t, `{"mode":"form","message":"helper wants to use **bash**","phase":"tool_call","policy_name":"acp_permission",
		"content_preview":"bash({\"command\":\"rm x\"})"}`, string(q.Params))
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.Approval, ElicitationID: "another", Action: wire.Accept}))
	reply(t, r, q, wire.Accept, "")
	reply(t, r, q, wire.Decline, "") // the first answer counts

	other := s.asked(2)
	require.NotEqual(t, q.ID, other.ID)
	require.Equal(t, "delete", other.Tool.Name)
	require.JSONEq(t, `{"mode":"form","message":"helper wants to use **delete**","phase":"tool_call","policy_name":"acp_permission",
		"content_preview":"delete({\"path\":\"x\"})","requestedSchema":{"type":"object","required":["answer"],
		"properties":{"answer":{"type":"string","enum":["Yes","Always","No"]}}}}`, string(other.Params))
	reply(t, r, other, wire.Accept, "Yes")
	s.completed(s.await(ended))
	require.Error(t, r.Send(wire.ToHarness{Type: wire.ToolResult}))
	reply(t, r, other, wire.Accept, "") // it is over
}

func TestChoices(t *testing.T) {
	o := func(kind, name string) option { return option{ID: kind, Name: name, Kind: kind} }
	for _, none := range [][]option{
		nil, {o("allow_once", "Y"), o("allow_always", "A")}, {o("allow_always", "A"), o("reject_once", "A")},
		{o("allow_always", " "), o("reject_once", "N")}, {o("allow_once", "Y"), o("reject_once", "N")}, {o("reject_once", "N")},
	} {
		require.Empty(t, choices(none), none)
	}
	require.Equal(t, []string{"Y", "Z", "N"}, choices([]option{o("allow_once", "Y"), o("allow_once", "Z"), o("reject_once", "N")}))
}

// A question that is open when the agent ends the turn ends with it.
func TestAQuestionOfATurnThatEnds(t *testing.T) {
	s := newStage(t)
	r, ended := s.begin(script(`ask plain {"toolCallId":"unanswered"}`, "say x"))
	s.completed(s.await(ended))
	require.False(t, r.Waits())
	require.Equal(t, "y", s.do("say y"))
}

func TestAnAgentMayTakeItsQuestionBack(t *testing.T) {
	s := newStage(t)
	r, ended := s.begin(script(`ask plain {"toolCallId":"unanswered"}`,
		`raw {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q0"}}`, "request x/y"))
	s.completed(s.await(ended))
	require.Contains(t, s.text(), "got ")
	require.False(t, r.Waits())
}
