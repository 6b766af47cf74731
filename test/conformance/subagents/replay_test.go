//go:build unix

package subagents

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

var update = flag.Bool("update", false, "rewrite the table of the replay")

// What a real server of version 0.19.1 asked a runner of in one afternoon:
// testdata/requests.jsonl, recorded at the tunnel, step by step.
const (
	root       = "474fc4cb2bf24b2095eaf6289a755564" // of echo-agent
	helper     = "8d904cb2995d4f3096232f0ac84d096f" // a child of root
	helper2    = "d4dec24406e441dda54c729dd0d6eb28" // another
	terminal   = "b35991cc374c4d1295328baf53d55c0e" // of claude-native-ui
	echoAgent  = "13878901874d42f4fd6777b906e85a4f"
	claudeUI   = "58a1bc5bf0bba6d31ceeb7661f8d751c"
	reconnects = "tunnel drop and reconnect"
)

var short = strings.NewReplacer(root, "ROOT", helper, "KID", helper2, "KID2", terminal, "NATIVE")

// asked is a line of the recording: a step, or a request.
type asked struct {
	Step   string          `json:"step"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  string          `json:"query"`
	Body   json.RawMessage `json:"body"`
}

// The answers to all of it, in order, are those of testdata/replay.txt: request,
// status, and the keys of the body.
func TestReplayOfARealServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio")
	w.AddAgent(echoAgent, "echo-agent", map[string]string{
		"config.yaml": spec("echo-agent", sibling), "agents/helper/config.yaml": spec("helper", inner)})
	w.AddAgent(claudeUI, "claude-native-ui", map[string]string{"config.yaml": spec("claude-native-ui", native)})
	w.AddSession(fakeserver.Session{ID: root, AgentID: echoAgent})
	w.AddSession(fakeserver.Session{ID: helper, AgentID: echoAgent, Parent: root, Name: "helper"})
	w.AddSession(fakeserver.Session{ID: helper2, AgentID: echoAgent, Parent: root, Name: "helper"})
	w.AddSession(fakeserver.Session{ID: terminal, AgentID: claudeUI})
	w.start()

	var table strings.Builder
	for _, a := range recording(t) {
		if a.Step != "" {
			fmt.Fprintf(&table, "# %s\n", a.Step)
			if strings.HasPrefix(a.Step, reconnects) {
				n := w.Ups()
				w.Drop()
				w.Connected(n + 1)
			}
			continue
		}
		fmt.Fprintf(&table, "%s\n", w.replay(a))
	}
	const file = "testdata/replay.txt"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(table.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), table.String())

	require.Subset(t, []string{sibling}, w.asked(root))
	require.Subset(t, []string{inner}, append(w.asked(helper), w.asked(helper2)...))
	require.NotEmpty(t, w.asked(helper))
	require.Subset(t, []string{native}, w.asked(terminal))
}

func recording(t *testing.T) (all []asked) {
	t.Helper()
	file, err := os.Open("testdata/requests.jsonl")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var a asked
		require.NoError(t, json.Unmarshal(lines.Bytes(), &a), lines.Text())
		all = append(all, a)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, all)
	return all
}

// replay asks the same again, and says what was answered.
func (w *world) replay(a asked) string {
	w.t.Helper()
	what := short.Replace(a.Method + " " + a.Path)
	if session, ok := strings.CutSuffix(strings.TrimPrefix(a.Path, "/v1/sessions/"), "/stream"); ok {
		status, kind := w.Stream(session)
		return fmt.Sprintf("%s -> %d %s", what, status, kind)
	}
	var sent struct {
		Type    string          `json:"type"`
		Session string          `json:"session_id"`
		Item    string          `json:"persisted_item_id"`
		Content json.RawMessage `json:"content"`
	}
	var body any
	if a.Body != nil {
		body = a.Body
		require.NoError(w.t, json.Unmarshal(a.Body, &sent))
	}
	if sent.Item != "" { // the server has what it forwards
		w.Change(strings.Split(a.Path, "/")[3], func(s *fakeserver.Session) {
			s.Items = append(s.Items, fakeserver.Dict{"id": sent.Item, "type": "message", "role": "user", "status": "completed",
				"response_id": "", "content": sent.Content})
		})
	}
	if about := sent.Type + short.Replace(sent.Session); about != "" {
		what += " " + about
	}
	path := a.Path
	if a.Query != "" {
		path += "?" + a.Query
	}
	status, text := w.Do(a.Method, path, body)
	return fmt.Sprintf("%s -> %d %s", what, status, shape(text))
}

// shape is a body's keys, and the code of an error.
func shape(text string) string {
	if text == "" {
		return "(nothing)"
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		return "no object: " + text
	}
	keys := slices.Sorted(maps.Keys(body))
	for n, key := range keys {
		if code, ok := body[key].(string); ok && key == "error" {
			keys[n] += "=" + code
		}
	}
	return strings.Join(keys, " ")
}
