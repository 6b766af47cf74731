package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// leading gives its two sub-agents a task at GO, and reads its inbox at any other
// message.
const leading = `
say() { printf '%s\n' "$1"; }
call() { say '{"type":"response.output_item.done","item":{"type":"function_call","status":"action_required","call_id":"'"$1"'","name":"'"$2"'","arguments":'"$3"'}}'; }
task() { call "$1" sys_session_send '{"agent":"'"$1"'","title":"the '"$1"'","args":"do it"}'; }
want=0
while IFS= read -r line; do
  case $line in
  '{"type":"message"'*)
    content=${line#*'"content":'}
    case ${content##*'"role":"user"'} in
    *GO*) want=2; task worker; task critic ;;
    *) want=1; call inbox sys_read_inbox '{}' ;;
    esac ;;
  '{"type":"tool_result"'*)
    want=$((want - 1))
    [ $want = 0 ] && say '{"type":"response.output_text.delta","delta":"led"}' && say '{"type":"response.completed"}' ;;
  '{"type":"interrupt"'*) say '{"type":"response.cancelled"}' ;;
  esac
done
`

// working answers with its name, once somebody has written to its gate.
const working = `
while IFS= read -r line; do
  case $line in
  '{"type":"message"'*)
    read -r how <"$1/gate-$2"
    if [ "$how" = fail ]; then
      echo '{"type":"response.failed","error":{"code":"tired","message":"The '"$2"' is tired.","remediation":"Let it rest."}}'
    else
      echo '{"type":"response.output_text.delta","delta":"the '"$2"' has done it"}'
      echo '{"type":"response.completed"}'
    fi ;;
  '{"type":"interrupt"'*) echo '{"type":"response.cancelled"}' ;;
  esac
done
`

// lead gives the world an agent with two sub-agents, before it begins.
func (w *world) lead() (gate func(agent, how string)) {
	w.t.Helper()
	notes := w.t.TempDir()
	for name, text := range map[string]string{
		"config.yaml":               "name: lead\nprompt: You lead.\nexecutor: {harness: acp:lead}\n",
		"agents/worker/config.yaml": "name: worker\nexecutor: {harness: acp:worker}\n",
		"agents/critic/config.yaml": "name: critic\nexecutor: {harness: acp:critic}\n",
	} {
		path := filepath.Join(w.State, "server", "agents", "lead", filepath.FromSlash(name))
		require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(w.t, os.WriteFile(path, []byte(text), 0o600))
	}
	var config strings.Builder
	config.WriteString("harnesses:\n")
	for h, text := range map[string]string{"lead": leading, "worker": working, "critic": working} {
		program := filepath.Join(notes, h+".sh")
		require.NoError(w.t, os.WriteFile(program, []byte(text), 0o600))
		require.NoError(w.t, syscall.Mkfifo(filepath.Join(notes, "gate-"+h), 0o600))
		fmt.Fprintf(&config, "  %q: {adapter: stdio, command: [sh, %q, %q, %s]}\n", "acp:"+h, program, notes, h)
	}
	w.runner.Configure(config.String())
	return func(agent, how string) {
		require.NoError(w.t, os.WriteFile(filepath.Join(notes, "gate-"+agent), []byte(how+"\n"), 0o600))
	}
}

// node selects a sub-agent in the tree.
func node(name string) string {
	return fmt.Sprintf("[...document.querySelectorAll(%q)].find(e => e.querySelector('.tree-name')?.textContent.includes(%q))", byID("tree-node"), name)
}

// A parent gives tasks: its sub-agents appear in the tree with what they do,
// live; each can be looked at, and leads back.
func TestATreeOfAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := w.lead()
	w.begin()
	root := w.NewSession("lead")
	p := open(t, w.URL, "/c/"+root, desk)
	p.seesNot(byID("agent-tree"))
	p.say("GO")
	for _, agent := range []string{"worker", "critic"} {
		p.until(node(agent)+"?.dataset.state === 'running'", agent+" does not run in the tree")
	}
	p.until("document.querySelectorAll('[data-testid=tool-call][data-tool=sys_session_send][data-state=done]').length === 2", "the two calls are not shown")
	gate("worker", "well")
	p.until(node("worker")+"?.dataset.state === 'done'", "the worker is not done")
	p.until(node("critic")+"?.dataset.state === 'running'", "the critic does not run")
	gate("critic", "fail")
	p.until(node("critic")+"?.dataset.state === 'failed'", "the critic has not failed")
	p.reads(byID("tree-error"), "The critic is tired.")
	p.reads(byID("tool-call", attr("data-tool", "sys_read_inbox")), "the worker has done it")

	child := value[string](p, node("worker")+".dataset.sessionId")
	p.click(byID("tree-node", attr("data-session-id", child)))
	p.sees(byID("session", attr("data-session-id", child)))
	p.reads(stored, "the worker has done it")
	p.sees(byID("tree-node", attr("data-session-id", child), attr("aria-current", "page")))
	p.click(byID("to-parent"))
	p.sees(byID("session", attr("data-session-id", root)))
	p.reads(stored, "led")
}
