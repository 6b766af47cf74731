//go:build linux

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// leading is the program of an agent with sub-agents: at GO:1-16 it gives so
// many of them a task, and at each message it reads its inbox. A GO may come
// together with a wake, so it is looked for behind the last tool's answer.
const leading = `
say() { printf '%s\n' "$1"; }
call() { say '{"type":"response.output_item.done","item":{"type":"function_call","status":"action_required","call_id":"'"$1"'","name":"'"$2"'","arguments":'"$3"'}}'; }
want=0
while IFS= read -r line; do
  case $line in
  '{"type":"message"'*)
    content=${line#*'"content":'} new=${content##*'"function_call_output"'}
    want=1
    call inbox sys_read_inbox '{}'
    case $new in *GO:*)
      range=${new#*GO:} range=${range%%[!0-9-]*}
      n=${range%-*} to=${range#*-}
      while [ "$n" -le "$to" ]; do
        want=$((want + 1))
        call "send-$n" sys_session_send '{"agent":"worker","title":"'"$n"'","args":"TASK-'"$n"'"}'
        n=$((n + 1))
      done ;;
    esac ;;
  '{"type":"tool_result"'*)
    want=$((want - 1))
    [ $want = 0 ] && say '{"type":"response.output_text.delta","delta":"led"}' && say '{"type":"response.completed"}' ;;
  '{"type":"interrupt"'*) say '{"type":"response.cancelled"}' ;;
  esac
done
`

// working is the program of a sub-agent: it notes that it has begun, stands
// before the gate of its task, and ends as that says.
const working = `
while IFS= read -r line; do
  case $line in
  '{"type":"message"'*)
    n=${line##*TASK-} n=${n%%[!0-9]*}
    echo "$n" >>"$1/ran"
    read -r how <"$1/gate-$n"
    case $how in
    well)
      echo '{"type":"response.output_text.delta","delta":"'"$n"' is done"}'
      echo '{"type":"response.completed"}' ;;
    badly) echo '{"type":"response.failed","error":{"code":"no_luck","message":"'"$n"' had no luck"}}' ;;
    esac ;;
  '{"type":"interrupt"'*) echo '{"type":"response.cancelled"}' ;;
  esac
done
`

// family is a world whose agent has sub-agents, and the line to its runner.
type family struct {
	world
	line  *testkit.Proxy
	root  string              // a session of the agent
	gates map[string]*os.File // by the title of the child
}

// newFamily makes gates for so many children, titled 1, 2, ...
func newFamily(t *testing.T, children int) *family {
	t.Helper()
	s := testkit.NewServer(t)
	p := testkit.NewProxy(t, s.Address)
	f := &family{world: world{s, testkit.NewRunner(t, p.URL)}, line: p, gates: map[string]*os.File{}}
	s.AddAgentFiles("lead", map[string]string{
		"config.yaml":               "name: lead\nprompt: You lead.\nexecutor: {harness: \"acp:lead\"}\n",
		"agents/worker/config.yaml": "name: worker\nexecutor: {harness: \"acp:worker\"}\n",
	})
	for name, text := range map[string]string{"lead": leading, "worker": working} {
		require.NoError(t, os.WriteFile(f.runner.Path(name+".sh"), []byte(text), 0o600))
	}
	for n := range children {
		title := fmt.Sprint(n + 1)
		path := f.runner.Path("gate-" + title)
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		gate, err := os.OpenFile(path, os.O_RDWR, 0) // both ends, so that nobody waits for the other
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, gate.Close()) })
		f.gates[title] = gate
	}
	f.runner.Configure(fmt.Sprintf(`harnesses:
  "acp:lead": {adapter: stdio, command: [sh, %q]}
  "acp:worker": {adapter: stdio, command: [sh, %q, %q]}
`, f.runner.Path("lead.sh"), f.runner.Path("worker.sh"), filepath.Clean(f.runner.Workspace)))
	f.runner.Start()
	f.WaitOnline()
	f.root = f.NewSession("lead")
	return f
}

// end lets a child end, now or as soon as it has begun.
func (f *family) end(t *testing.T, title, how string) {
	t.Helper()
	_, err := f.gates[title].WriteString(how + "\n")
	require.NoError(t, err)
}

// kids are the children by title.
func (f *family) kids(t *testing.T) map[string]testkit.Child {
	t.Helper()
	list, err := f.Children(f.root)
	require.NoError(t, err)
	out := map[string]testkit.Child{}
	for _, c := range list {
		require.NotContains(t, out, c.Name, "one child of a title")
		out[c.Name] = c
	}
	return out
}
