//go:build unix

package subagents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

// The tree of the conformance table: polly is the root and its own harness is
// the parent's, that no child may ever be answered by.
const (
	agentP   = "a9e40000000000000000000000000001"
	parent   = "claude-sdk"    // polly
	native   = "claude-native" // claude_code, below polly
	inner    = "pi-native"     // deep, below claude_code
	deepest  = "codex"         // deepest, below deep
	sibling  = "openai-agents" // sdkkid, below polly
	sessionP = "5e550000000000000000000000000001"
	sessionC = "5e550000000000000000000000000002"
)

var tree = map[string]string{
	"config.yaml":                                               spec("polly", parent),
	"agents/claude_code/config.yaml":                            spec("claude_code", native),
	"agents/claude_code/agents/deep/config.yaml":                spec("deep", inner),
	"agents/claude_code/agents/deep/agents/deepest/config.yaml": spec("deepest", deepest),
	"agents/sdkkid/config.yaml":                                 spec("sdkkid", sibling),
}

func spec(name, harness string) string {
	return fmt.Sprintf("name: %s\nprompt: none\nexecutor: {harness: %s}\n", name, harness)
}

// chatting keeps its program between turns. A message with HOLD in it, or with
// MANUAL as in the recording, is answered when the program is interrupted; at
// GARBAGE it writes what is no event, and ends.
const chatting = `
echo "$1 $OUTRUNNER_SESSION_ID" >>"$2/started"
while IFS= read -r line; do
  case $line in
  '{"type":"message"'*HOLD*|'{"type":"message"'*MANUAL*)
    echo "$1 $OUTRUNNER_SESSION_ID" >>"$2/ran" ;;
  '{"type":"message"'*GARBAGE*)
    echo "$1 $OUTRUNNER_SESSION_ID" >>"$2/ran"
    echo '<html>'; exit 3 ;;
  '{"type":"message"'*)
    echo "$1 $OUTRUNNER_SESSION_ID" >>"$2/ran"
    echo '{"type":"response.output_text.delta","delta":"'"$1"' has done it"}'
    echo '{"type":"response.completed"}' ;;
  '{"type":"interrupt"'*)
    echo '{"type":"response.cancelled"}' ;;
  esac
done
`

// once is a program per message.
const once = `
echo "$1 $OUTRUNNER_SESSION_ID" >>"$2/started"
echo "$1 $OUTRUNNER_SESSION_ID $3" >>"$2/ran"
printf '%s has done it' "$1"
`

// world is a runner whose programs tell what they were, and the fake before it.
type world struct {
	*fakeserver.Server
	t      *testing.T
	runner *testkit.Runner
	notes  string // the folder that the programs write to
}

// newWorld makes a world whose harnesses are all of one adapter. Its runner is
// not started.
func newWorld(t *testing.T, adapter string) *world {
	t.Helper()
	s := fakeserver.New(t)
	w := &world{Server: s, t: t, runner: testkit.NewRunner(t, s.URL), notes: t.TempDir()}
	s.AddAgent(agentP, "polly", tree)
	program, argument := filepath.Join(w.notes, "program.sh"), ""
	text := chatting
	if adapter == "exec" {
		text, argument = once, `, "{message}"`
	}
	require.NoError(t, os.WriteFile(program, []byte(text), 0o600))
	var config strings.Builder
	config.WriteString("harnesses:\n")
	for _, h := range []string{parent, native, inner, deepest, sibling} {
		fmt.Fprintf(&config, "  %s: {adapter: %s, command: [sh, %q, %s, %q%s]}\n", h, adapter, program, h, w.notes, argument)
	}
	w.runner.Configure(config.String())
	return w
}

// family adds the parent and its child of the name.
func (w *world) family(name string) *world {
	w.AddSession(fakeserver.Session{ID: sessionP, AgentID: agentP})
	w.AddSession(fakeserver.Session{ID: sessionC, AgentID: agentP, Parent: sessionP, Name: name})
	return w
}

// start starts the runner, again, and waits until it is connected.
func (w *world) start(env ...string) {
	w.t.Helper()
	n := w.Ups()
	w.runner.Start(env...)
	w.Connected(n + 1)
}

// noted are the lines of a file of the programs'.
func (w *world) noted(name string) []string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.notes, name))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(w.t, err)
	return testkit.Lines(string(text))
}

// asked are the harnesses whose programs were started for a session.
func (w *world) asked(session string) []string {
	w.t.Helper()
	var list []string
	for _, line := range w.noted("started") {
		if harness, of, _ := strings.Cut(line, " "); of == session {
			list = append(list, harness)
		}
	}
	return list
}

// wakes are the texts that the runner has posted to a session.
func (w *world) wakes(session string) []string {
	var list []string
	for _, c := range w.Calls() {
		if c.Method == "POST" && c.Path == "/v1/sessions/"+session+"/events" && strings.Contains(c.Body, `"type":"message"`) {
			list = append(list, c.Body)
		}
	}
	return list
}

// read reads the inbox of the parent.
func (w *world) read(op string) string {
	w.t.Helper()
	return w.Tool(sessionP, "sys_read_inbox", op, `{}`)
}

// dispatch gives a sub-agent of the parent a task and returns the session.
func (w *world) dispatch(args string) string {
	w.t.Helper()
	before := len(w.Children(sessionP))
	handle := w.Tool(sessionP, "sys_session_send", "dispatch", args)
	kids := w.Children(sessionP)
	require.Len(w.t, kids, before+1, handle)
	require.Contains(w.t, handle, kids[before])
	return kids[before]
}

// status reports a child's edge, as its forwarder does by the server.
func (w *world) status(session, status, output string) (int, string) {
	w.t.Helper()
	return w.Do("POST", "/v1/sessions/"+session+"/events", fakeserver.Dict{
		"type": "external_session_status", "data": fakeserver.Dict{"status": status, "output": output}})
}

// scanned waits until the scan of a connection has come to an end, and returns
// what its log lines say. Later questions on the connection make lines of their
// own.
func (w *world) scanned(connection int) []string {
	w.t.Helper()
	var lines []string
	w.Until(func() bool {
		lines = nil
		for _, line := range w.runner.Process.Stderr.Lines() {
			if _, facts, ok := strings.Cut(line.Text, fmt.Sprintf("caught up tunnel_gen=%d ", connection)); ok {
				lines = append(lines, facts)
			}
		}
		return len(lines) > 0
	}, "the scan does not come to an end")
	return lines
}

const empty = "Inbox is empty — no completed tasks."
