//go:build unix

package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// leading is the parent's program: at GO it gives each of its sub-agents the
// rest of that line as a task, at any other message it reads its inbox. It notes
// what its tools answer.
const leading = `
say() { printf '%s\n' "$1"; }
call() { say '{"type":"response.output_item.done","item":{"type":"function_call","status":"action_required","call_id":"'"$1"'","name":"'"$2"'","arguments":'"$3"'}}'; }
task() { call "$1" sys_session_send '{"agent":"'"$1"'","title":"1","args":"'"$2"'"}'; }
want=0
while IFS= read -r line; do
  case $line in
  '{"type":"message"'*)
    content=${line#*'"content":'}
    case ${content##*'"role":"user"'} in
    *GO-HOLD*) want=2; task worker HOLD; task critic HOLD ;;
    *GO-GATE*) want=2; task worker GATE; task critic GATE ;;
    *GO*) want=2; task worker "do it"; task critic "do it" ;;
    *) want=1; call inbox sys_read_inbox '{}' ;;
    esac ;;
  '{"type":"tool_result"'*)
    echo "$line" >>"$1/results"
    want=$((want - 1))
    [ $want = 0 ] && say '{"type":"response.output_text.delta","delta":"led"}' && say '{"type":"response.completed"}' ;;
  '{"type":"interrupt"'*) say '{"type":"response.cancelled"}' ;;
  esac
done
`

// working is a sub-agent's program, which answers with its own name; at HOLD it
// never answers, and at GATE once somebody has written to its gate.
const working = `
while IFS= read -r line; do
  case $line in
  '{"type":"message"'*)
    echo "$2 $OUTRUNNER_SESSION_ID" >>"$1/ran"
    case $line in
    *HOLD*) ;;
    *)
      case $line in *GATE*) read -r _ <"$1/gate-$2" ;; esac
      echo '{"type":"response.output_text.delta","delta":"'"$2"' has done it"}'
      echo '{"type":"response.completed"}' ;;
    esac ;;
  '{"type":"interrupt"'*) echo '{"type":"response.cancelled"}' ;;
  esac
done
`

// world is a server and a runner of ours, and an agent with two sub-agents.
type world struct {
	*testkit.Server
	t      *testing.T
	runner *testkit.Runner
	notes  string // the folder that the programs write to
	root   string // a session of the agent
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := testkit.NewServer(t)
	w := &world{Server: s, t: t, runner: testkit.NewRunner(t, s.URL), notes: t.TempDir()}
	for name, text := range map[string]string{
		"config.yaml":               "name: lead\nprompt: You lead.\nexecutor: {harness: acp:lead}\n",
		"agents/worker/config.yaml": "name: worker\nexecutor: {harness: acp:worker}\n",
		"agents/critic/config.yaml": "name: critic\nexecutor: {harness: acp:critic}\n",
	} {
		path := filepath.Join(s.State, "server", "agents", "lead", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	var config strings.Builder
	config.WriteString("harnesses:\n")
	for _, h := range []string{"lead", "worker", "critic"} {
		text := working
		if h == "lead" {
			text = leading
		}
		program := filepath.Join(w.notes, h+".sh")
		require.NoError(t, os.WriteFile(program, []byte(text), 0o600))
		fmt.Fprintf(&config, "  %q: {adapter: stdio, command: [sh, %q, %q, %s]}\n", "acp:"+h, program, w.notes, h)
	}
	for _, h := range []string{"worker", "critic"} {
		require.NoError(t, syscall.Mkfifo(w.gate(h), 0o600))
	}
	w.runner.Configure(config.String())
	w.runner.Start()
	w.WaitOnline()
	w.root = w.NewSession("lead")
	return w
}

// gate is what a sub-agent's program reads at GATE.
func (w *world) gate(agent string) string { return filepath.Join(w.notes, "gate-"+agent) }

// open opens a sub-agent's gate. It waits until the program stands before it.
func (w *world) open(agent string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(w.gate(agent), []byte("open\n"), 0o600))
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

// told is how many of the tools' answers to the parent have that text.
func (w *world) told(text string) int {
	w.t.Helper()
	n := 0
	for _, line := range w.noted("results") {
		n += strings.Count(line, text)
	}
	return n
}

// child is what the server tells of a sub-agent.
type child struct {
	ID     string            `json:"id"`
	Tool   string            `json:"tool"`
	Status string            `json:"current_task_status"`
	Labels map[string]string `json:"labels"`
}

func (w *world) children() map[string]child {
	w.t.Helper()
	var page struct{ Data []child }
	status, text, err := w.Do("GET", "/v1/sessions/"+w.root+"/child_sessions?limit=100", nil)
	require.NoError(w.t, err)
	require.Equal(w.t, 200, status, string(text))
	require.NoError(w.t, decode(text, &page))
	out := map[string]child{}
	for _, c := range page.Data {
		require.NotContains(w.t, out, c.Tool, "one child of a name")
		out[c.Tool] = c
	}
	return out
}
