//go:build unix

package embedded

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// busy is a program that asks everybody in one turn: its client for a tool, the
// policies, a human; and then waits for a message that joins.
const busy = `
say() { printf '%s\n' "$1"; }
text() { say '{"type":"response.output_text.delta","delta":"'"$1"'"}'; }
while IFS= read -r line; do
  case $line in
  '{"type":"message","injection_id"'*)
    id=${line#*injection_id\":\"}
    say '{"type":"injection.consumed","injection_id":"'"${id%%\"*}"'"}'
    text ' joined'; say '{"type":"response.completed","usage":{"total_tokens":7}}' ;;
  '{"type":"message"'*)
    say '{"type":"response.output_item.done","item":{"type":"function_call","status":"action_required","call_id":"c","name":"look_up","arguments":"{}"}}' ;;
  '{"type":"tool_result"'*found*)
    text 'found'
    say '{"type":"policy_evaluation.requested","evaluation_id":"e","phase":"PHASE_TOOL_CALL","data":{"name":"rm","arguments":{}}}' ;;
  '{"type":"policy_verdict"'*ALLOW*)
    text ' may'
    say '{"type":"response.elicitation_request","elicitation_id":"q","params":{"message":"really?"},"tool":{"name":"rm"}}' ;;
  '{"type":"approval","elicitation_id":"q","action":"accept"'*) text ' told' ;;
  esac
done
`

// viewer reads the events of a session as a client does.
type viewer struct {
	t    *testing.T
	scan *bufio.Scanner
}

func watch(t *testing.T, api *testkit.API, session string) *viewer {
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, api.URL+"/v1/sessions/"+session+"/stream", nil)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { cancel(); _ = res.Body.Close() }) // it is left in the middle
	v := &viewer{t: t, scan: bufio.NewScanner(res.Body)}
	v.scan.Buffer(nil, 1<<20)
	v.until("session.heartbeat", "")
	return v
}

// until skips to the event of a type that has the words.
func (v *viewer) until(typ, words string) map[string]any {
	v.t.Helper()
	for v.scan.Scan() {
		data, ok := strings.CutPrefix(v.scan.Text(), "data: ")
		var ev map[string]any
		if ok && json.Unmarshal([]byte(data), &ev) == nil && ev["type"] == typ && strings.Contains(data, words) {
			return ev
		}
	}
	require.FailNow(v.t, "the stream ended", "before %s: %v", typ, v.scan.Err())
	return nil
}

// A user calls a skill by its name: the runner says what it means, and the
// program gets that as a message.
func TestASkillIsAMessage(t *testing.T) {
	s := testkit.NewServer(t)
	runner := testkit.NewRunner(t, s.URL)
	for name, text := range map[string]string{
		"config.yaml":           "name: helper\nexecutor: {harness: acp:shell}\n",
		"skills/count/SKILL.md": "---\ndescription: Counts.\n---\nprintf 'counted %s' '$ARGUMENTS'",
	} {
		path := filepath.Join(s.State, "server", "agents", "helper", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	runner.Start()
	s.WaitOnline()
	session := s.NewSession("helper")
	command := func(name string) (int, string) {
		t.Helper()
		status, body, err := s.Do(http.MethodPost, "/v1/sessions/"+session+"/events", map[string]any{
			"type": "slash_command", "data": map[string]any{"kind": "skill", "name": name, "arguments": "to ten"},
		})
		require.NoError(t, err)
		return status, string(body)
	}
	status, body := command("count")
	require.Equal(t, 503, status, "nobody has the session yet: %s", body)
	s.Settled(testkit.Patience, session, s.Send(session, "true"))
	status, body = command("none")
	require.Equal(t, 400, status)
	require.Contains(t, body, `there are [\"count\"]`)
	status, body = command("count")
	require.Equal(t, 202, status, body)
	var ack struct {
		ItemID string `json:"item_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &ack))
	outcome := s.Settled(testkit.Patience, session, ack.ItemID)[0]
	require.Equal(t, "counted to ten", s.Answer(session, outcome.Response))
}

// A turn asks its client, the policies and a human, and takes a message that
// came while it worked: on the wire, by the built program.
func TestATurnThatAsksAndIsTold(t *testing.T) {
	s := testkit.NewServer(t)
	runner := testkit.NewRunner(t, s.URL)
	program := filepath.Join(t.TempDir(), "busy.sh")
	require.NoError(t, os.WriteFile(program, []byte(busy), 0o600))
	runner.Configure(fmt.Sprintf("harnesses:\n  \"acp:busy\": {adapter: stdio, command: [sh, %q], steer: true}\n", program))
	s.AddAgent("busy", "name: busy\nexecutor: {harness: acp:busy}\n")
	runner.Start()
	s.WaitOnline()
	session := s.NewSession("busy")
	v := watch(t, s.API, session)
	post := func(event map[string]any) map[string]any {
		t.Helper()
		status, body, err := s.Do(http.MethodPost, "/v1/sessions/"+session+"/events", event)
		require.NoError(t, err)
		require.Less(t, status, 300, "%s", body)
		var ack map[string]any
		if len(body) > 0 {
			require.NoError(t, json.Unmarshal(body, &ack))
		}
		return ack
	}

	first := post(map[string]any{
		"type": "message", "data": map[string]any{"role": "user", "content": []map[string]string{{"type": "input_text", "text": "go"}}},
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "look_up", "parameters": map[string]any{}}}},
	})["item_id"].(string)
	v.until("response.output_item.done", "action_required")
	post(map[string]any{"type": "function_call_output", "data": map[string]any{"call_id": "c", "output": "found it"}})
	question := v.until("response.elicitation_request", "really?")
	post(map[string]any{"type": "approval", "data": map[string]any{"elicitation_id": question["elicitation_id"], "action": "accept"}})
	v.until("response.elicitation_resolved", "accept")
	second := s.Send(session, "and this")

	outcomes := s.Settled(testkit.Patience, session, first, second)
	require.Equal(t, "completed", outcomes[0].Status, outcomes[0].Message)
	require.Equal(t, outcomes[0], outcomes[1], "one turn answers both")
	require.Equal(t, "found may told joined", s.Answer(session, outcomes[0].Response))
	items, err := s.Items(session)
	require.NoError(t, err)
	var kinds []string
	for _, i := range items {
		if i.Type != "message" {
			kinds = append(kinds, i.Type)
		}
	}
	require.Equal(t, []string{"function_call", "function_call_output"}, kinds)
}
