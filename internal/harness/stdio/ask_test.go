package stdio

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// of returns the events of a type.
func (s *stage) of(typ string) (list []wire.HarnessEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Type == typ {
			list = append(list, e)
		}
	}
	return list
}

// echo tells what it is told, from the second line on, until "bye".
const echo = `
while IFS= read -r line; do
  case $line in
  *bye*) finish ;;
  *) text "$(printf %s "$line" | tr -d '"') " ;;
  esac
done`

func TestAQuestionToAHuman(t *testing.T) {
	s := newStage(t, `read -r line
say '{"type":"response.elicitation_request","elicitation_id":"q","params":{"message":"may I?","n":1}}'
say '{"type":"response.elicitation_request","elicitation_id":"q","params":{"message":"may I?"}}'
say '{"type":"response.elicitation_request","elicitation_id":"p","method":"m","params":{"message":"and this?","mode":"url"},"tool":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}'
`+echo)
	s.cfg.IdleTimeout = 300 * time.Millisecond
	r, ended := s.begin(userSays("t", "x"))
	s.until("the questions", func() bool { return len(s.of(wire.ElicitationRequest)) == 2 })
	asked := s.of(wire.ElicitationRequest)
	q, p := asked[0].Ask, asked[1].Ask
	require.True(t, strings.HasPrefix(q.ID, "elicit_"), "it has an id of ours: %s", q.ID)
	require.NotEqual(t, q.ID, p.ID)
	require.Equal(t, "elicitation/create", q.Method)
	require.JSONEq(t, `{"mode":"form","message":"may I?","n":1}`, string(q.Params))
	require.Nil(t, q.Tool)
	require.Equal(t, "m", p.Method)
	require.JSONEq(t, `{"mode":"url","message":"and this?"}`, string(p.Params))
	require.Equal(t, &wire.ToolUse{Name: "bash", Args: json.RawMessage(`{"command":"ls"}`)}, p.Tool)

	select {
	case end := <-ended:
		require.FailNow(t, "who waits for a human is not silent", "%v", end.Error)
	case <-time.After(3 * s.cfg.IdleTimeout):
	}
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.Approval, ElicitationID: "q", Action: wire.Accept}), "that is not its name here")
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.Approval, ElicitationID: p.ID, Action: wire.Decline}))
	require.NoError(t, r.Send(wire.ToHarness{
		Type: wire.Approval, ElicitationID: q.ID, Action: wire.Accept, Content: json.RawMessage(`{"answer":"bye"}`),
	}))
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.Approval, ElicitationID: q.ID, Action: wire.Decline}), "it was answered")
	s.completed(s.await(ended))
	require.Equal(t, "{type:approval,elicitation_id:p,action:decline} ", s.text())
}

func TestAQuestionToThePolicies(t *testing.T) {
	s := newStage(t, `read -r line
say '{"type":"policy_evaluation.requested","evaluation_id":"e","phase":"PHASE_TOOL_CALL","data":{"name":"bash"}}'
say '{"type":"policy_evaluation.requested","evaluation_id":"f","phase":"PHASE_LLM_REQUEST"}'
`+echo)
	r, ended := s.begin(userSays("t", "x"))
	s.until("the questions", func() bool { return len(s.of(wire.PolicyRequested)) == 2 })
	asked := s.of(wire.PolicyRequested)
	require.Equal(t, &wire.PolicyRequest{ID: "e", Phase: "PHASE_TOOL_CALL", Data: json.RawMessage(`{"name":"bash"}`)}, asked[0].Policy)
	require.Equal(t, &wire.PolicyRequest{ID: "f", Phase: "PHASE_LLM_REQUEST", Data: json.RawMessage(`{}`)}, asked[1].Policy)
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.PolicyVerdict, EvaluationID: "e", Action: wire.PolicyDeny, Reason: "no"}))
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.PolicyVerdict, EvaluationID: "e", Action: wire.PolicyAllow}))
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.PolicyVerdict, EvaluationID: "f", Action: wire.PolicyAllow, Data: json.RawMessage(`{"a":"bye"}`)}))
	s.completed(s.await(ended))
	require.Equal(t, "{type:policy_verdict,evaluation_id:e,action:POLICY_ACTION_DENY,reason:no} ", s.text())
}

func TestQuestionsThatCannotBeAnswered(t *testing.T) {
	for what, says := range map[string]string{
		`{"type":"response.elicitation_request","params":{"message":"m"}}`:                                                           "without an elicitation_id",
		`{"type":"response.elicitation_request","elicitation_id":"q","params":{}}`:                                                   "without a message",
		`{"type":"response.elicitation_request","elicitation_id":"q","params":{"message":"m"},"tool":{}}`:                            "without a name",
		`{"type":"response.elicitation_request","elicitation_id":"q","params":{"message":"m"},"tool":{"name":"f","arguments":"no"}}`: "no object",
		`{"type":"policy_evaluation.requested","evaluation_id":"e"}`:                                                                 "without an evaluation_id or a phase",
	} {
		s := newStage(t, fmt.Sprintf("read -r line; say '%s'; sleep 1000", what))
		_, end := s.run("x")
		s.failed(end, turn.CodeProtocol, says)
		require.Empty(t, s.of(wire.ElicitationRequest))
	}
}

func TestTooManyQuestions(t *testing.T) {
	s := newStage(t, `read -r line; i=0; while [ $i -le 128 ]; do i=$((i+1))
say '{"type":"policy_evaluation.requested","evaluation_id":"'$i'","phase":"PHASE_REQUEST"}'; done; sleep 1000`)
	_, end := s.run("x")
	s.failed(end, turn.CodeProtocol, "waits for too many answers at once")
}

func TestMessagesDuringATurn(t *testing.T) {
	s := newStage(t, `read -r line; text ready
while IFS= read -r line; do
  case $line in
  '{"type":"message","injection_id":"i'*)
    printf '%s\n' "$line" >> said
    id=${line#*injection_id\":\"}
    say '{"type":"injection.consumed","injection_id":"'"${id%%\"*}"'"}'
    case $line in *bye*) say '{"type":"injection.consumed"}'; finish ;; esac ;;
  esac
done`)
	r, ended := s.begin(userSays("t", "x"))
	s.untilText("ready")
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.Steer, InjectionID: "i1", Content: json.RawMessage(`"plain"`)}))
	require.Error(t, r.Send(wire.ToHarness{Type: wire.Steer, InjectionID: "i2", Content: json.RawMessage(`{`)}))
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.Steer, InjectionID: "i3", Content: json.RawMessage(`[{"type":"input_text","text":"bye"}]`)}))
	s.completed(s.await(ended))
	took := s.of(wire.InjectionConsumed)
	require.Len(t, took, 2)
	require.Equal(t, []string{"i1", "i3"}, []string{took[0].Consumed, took[1].Consumed})
	said := strings.Split(s.file("said"), "\n")
	require.JSONEq(t, `{"type":"message","injection_id":"i1","role":"user","content":[{"type":"input_text","text":"plain"}]}`, said[0])
	require.JSONEq(t, `{"type":"message","injection_id":"i3","role":"user","content":[{"type":"input_text","text":"bye"}]}`, said[1])
}

// A message that comes while the program is being started is told behind the one
// that began the turn.
func TestAMessageBeforeTheProgramRuns(t *testing.T) {
	s := newStage(t, `n=0
while IFS= read -r line; do
  n=$((n+1)); text "$n$(printf %s "$line" | cut -c1-33 | tr -d '"') "
  case $line in *bye*) finish ;; esac
done`)
	r := s.pool.Prepare(s.cfg, userSays("t", "x"))
	require.NoError(t, r.Send(wire.ToHarness{Type: wire.Steer, InjectionID: "bye", Content: json.RawMessage(`""`)}))
	end := r.Do(t.Context(), s.take)
	s.completed(end)
	require.Equal(t, "1{type:message,role:user, 2{type:message,injection_id:", strings.TrimSpace(s.text()))
}

func TestUsageIsPassedOn(t *testing.T) {
	for line, usage := range map[string]string{
		`{"type":"response.completed","response":{"usage":{"input_tokens":3,"model":"m","odd":"x","null":null}}}`: `{"input_tokens":3,"model":"m"}`,
		`{"type":"response.cancelled","usage":{"total_tokens":4}}`:                                                `{"total_tokens":4}`,
		`{"type":"response.failed","error":"x","usage":{"total_tokens":5}}`:                                       `{"total_tokens":5}`,
		`{"type":"response.completed","usage":["x"]}`:                                                             ``,
		`{"type":"response.completed","usage":{"a":"b"}}`:                                                         ``,
	} {
		s := newStage(t, fmt.Sprintf("read -r line; say '%s'; read -r line", line))
		_, end := s.run("x")
		require.Equal(t, usage, string(end.Usage), line)
	}
}
