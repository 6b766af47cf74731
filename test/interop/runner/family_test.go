//go:build interop

package runner

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/interop/peer"
	"github.com/outrunner/outrunner/test/testkit"
)

// leading is the parent's program: at GO it gives each of its sub-agents the
// rest of that word as a task, at any other message it reads its inbox. It notes
// what its tools answer.
const leading = `
say() { printf '%s\n' "$1"; }
call() { say '{"type":"response.output_item.done","item":{"type":"function_call","status":"action_required","call_id":"'"$1"'","name":"'"$2"'","arguments":'"$3"'}}'; }
task() { call "$1$turn" sys_session_send '{"agent":"'"$1"'","title":"1","args":"'"$2"'"}'; }
want=0 turn=0
while IFS= read -r line; do
  case $line in
  '{"type":"message"'*)
    turn=$((turn + 1))
    content=${line#*'"content":'}
    case ${content##*'"role":"user"'} in
    *GO-HOLD*) want=2; task worker HOLD; task critic HOLD ;;
    *GO-GATE*) want=2; task worker GATE; task critic GATE ;;
    *GO*) want=2; task worker "do it"; task critic "do it" ;;
    *) want=1; call inbox$turn sys_read_inbox '{}' ;;
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

var workers = []string{"worker", "critic"}

// family is a session whose agent has two sub-agents.
type family struct {
	*peer.Server
	t      *testing.T
	runner *peer.Runner
	notes  string // the folder that the programs write to
	root   string // a session of the agent
	watch  *peer.Watch
}

// newFamily starts a runner with the programs, behind url, and makes a session.
func newFamily(t *testing.T, s *peer.Server, url string) *family {
	t.Helper()
	f := &family{Server: s, t: t, runner: s.NewRunner(url), notes: t.TempDir()}
	var config strings.Builder
	config.WriteString("harnesses:\n")
	for _, h := range append([]string{"lead"}, workers...) {
		text := working
		if h == "lead" {
			text = leading
		}
		program := filepath.Join(f.notes, h+".sh")
		require.NoError(t, os.WriteFile(program, []byte(text), 0o600))
		fmt.Fprintf(&config, "  %q: {adapter: stdio, command: [sh, %q, %q, %s]}\n", "acp:"+h, program, f.notes, h)
	}
	for _, h := range workers {
		require.NoError(t, syscall.Mkfifo(f.gate(h), 0o600))
	}
	f.runner.Configure(config.String())
	f.runner.Start()
	s.WaitRunner(f.runner.ID)
	f.root = s.NewSession(peer.Agent("lead", "acp:lead").With("worker", "acp:worker").With("critic", "acp:critic"), f.runner.ID)
	f.watch = s.Watch(f.root)
	return f
}

// gate is what a sub-agent's program reads at GATE.
func (f *family) gate(agent string) string { return filepath.Join(f.notes, "gate-"+agent) }

// open opens the gates. It waits until the programs stand before them.
func (f *family) open() {
	f.t.Helper()
	for _, agent := range workers {
		require.NoError(f.t, os.WriteFile(f.gate(agent), []byte("open\n"), 0o600))
	}
}

// noted are the lines of a file of the programs'.
func (f *family) noted(name string) []string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.notes, name))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(f.t, err)
	return testkit.Lines(string(text))
}

// told is how often the tools' answers to the parent have that text.
func (f *family) told(text string) int {
	f.t.Helper()
	n := 0
	for _, line := range f.noted("results") {
		n += strings.Count(line, text)
	}
	return n
}

func (f *family) awaitTold(text string) {
	f.t.Helper()
	testkit.UntilSlow(f.t, turnLimit, func() bool { return f.told(text) > 0 },
		func() string { return fmt.Sprintf("the parent has read %q; it has read %q", text, f.noted("results")) })
}

// children are what the server tells of the sub-agents, by their names.
func (f *family) children() map[string]peer.Dict {
	f.t.Helper()
	out := map[string]peer.Dict{}
	for _, c := range f.Page("/v1/sessions/" + f.root + "/child_sessions?limit=100") {
		name := c["tool"].(string)
		require.NotContains(f.t, out, name, "one child of a name")
		out[name] = c
	}
	return out
}

// child is the session of a sub-agent.
func (f *family) child(agent string) string {
	f.t.Helper()
	id, _ := f.children()[agent]["id"].(string)
	require.NotEmpty(f.t, id, "the child %s", agent)
	return id
}

// awaitTasks waits until the server says of every child how its task stands.
func (f *family) awaitTasks(status string) {
	f.t.Helper()
	testkit.UntilSlow(f.t, turnLimit, func() bool {
		kids := f.children()
		for _, agent := range workers {
			if kids[agent]["current_task_status"] != status {
				return false
			}
		}
		return true
	}, func() string { return fmt.Sprintf("the children's tasks are %s: %v", status, f.children()) })
}

// awaitAtWork waits until both children have begun and the parent is at rest.
func (f *family) awaitAtWork() {
	f.t.Helper()
	f.awaitTasks("in_progress")
	testkit.UntilSlow(f.t, turnLimit, func() bool {
		// A server that knows the word is told that the parent waits for them,
		// and then shows it as running.
		told := f.watch.Of("session.status")
		return len(told) > 0 && (told[len(told)-1]["status"] == "idle" || told[len(told)-1]["status"] == "waiting") && len(f.noted("ran")) == len(workers)
	}, func() string {
		at, err := f.Session(f.root)
		return fmt.Sprintf("both children are at work and the parent is at rest: it is %+v %v, there began %v", at, err, f.noted("ran"))
	})
}

// requireReceipts waits until the server keeps that each result was read.
func (f *family) requireReceipts() {
	f.t.Helper()
	testkit.UntilSlow(f.t, turnLimit, func() bool {
		kids := f.children()
		for _, agent := range workers {
			labels, _ := kids[agent]["labels"].(peer.Dict)
			if labels["omnigent.subagent.dispatch_id"] == nil || labels["omnigent.subagent.dispatch_id"] != labels["omnigent.subagent.delivered_id"] {
				return false
			}
		}
		return true
	}, func() string { return fmt.Sprintf("the receipts are written: %v", f.children()) })
}

// requireQuiet requires that nobody is left at work, as the server sees it.
func (f *family) requireQuiet() {
	f.t.Helper()
	for _, id := range []string{f.root, f.child("worker"), f.child("critic")} {
		testkit.UntilSlow(f.t, turnLimit, func() bool {
			at, err := f.Session(id)
			return err == nil && (at.Status == "idle" || at.Status == "failed")
		}, testkit.Is("session "+id+" comes to rest"))
	}
}

// forwarded posts a child's status, as the forwarder of its own program does,
// and returns what the server answers.
func (f *family) forwarded(agent string, data peer.Dict) (status int) {
	f.t.Helper()
	status, text, err := f.Do(http.MethodPost, "/v1/sessions/"+f.child(agent)+"/events",
		peer.Dict{"type": "external_session_status", "data": data})
	require.NoError(f.t, err)
	f.t.Logf("the server answers %d %s to the status of %s", status, text, agent)
	return status
}
