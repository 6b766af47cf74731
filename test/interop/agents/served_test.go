//go:build interop

package agents

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/interop/peer"
	"github.com/outrunner/outrunner/test/testkit"
	"github.com/outrunner/outrunner/test/testkit/modelmock"
)

// patience bounds every wait: the first start of the program takes its time.
const patience = 3 * time.Minute

const id = "acp:opencode"

// served is a session of the real agent, with a runner and a server around it.
type served struct {
	*peer.Server
	t       *testing.T
	runner  *peer.Runner
	session string
	watch   *peer.Watch
	seen    int // questions that were answered
	turns   int // that have ended
}

// A real agent answers through our runner, on a server of each kind.
func TestServed(t *testing.T) {
	t.Parallel()
	for _, kind := range []peer.Kind{peer.Theirs, peer.Ours} {
		t.Run(string(kind)+" server", func(t *testing.T) {
			t.Parallel()
			s := peer.NewServer(t, kind)
			// One after the other: the agent's start alone keeps a core busy for long.
			for name, play := range map[string]func(*served){
				"opencode: text, a tool allowed and denied, interrupt": (*served).converse,
				"opencode: the runner killed in a turn, and resumed":   (*served).killed,
				"opencode: a task for a sub-agent by its tools":        (*served).delegate,
			} {
				peer.Alone(t, peer.RunnerOn(kind), name, func(t *testing.T, _ *peer.Notes) { play(serve(t, s.For(t))) })
			}
		})
	}
}

func serve(t *testing.T, s *peer.Server) *served {
	t.Helper()
	program := os.Getenv("OUTRUNNER_INTEROP_OPENCODE")
	require.NotEmpty(t, program, "set OUTRUNNER_INTEROP_OPENCODE to the path of opencode")
	w := &served{Server: s, t: t, runner: s.NewRunner("")}
	home := t.TempDir()
	t.Cleanup(func() { // it writes into its home until its end
		w.runner.RequireGone()
		testkit.RequireNone(t, home)
	})
	config, err := json.Marshal(map[string]any{"harnesses": map[string]any{id: map[string]any{
		"adapter": "acp", "command": []string{program, "acp"}, "env": modelmock.New(t).OpenCode(home),
	}}})
	require.NoError(t, err)
	w.runner.Configure(string(config)) // JSON is YAML
	w.runner.Start()
	s.WaitRunner(w.runner.ID)
	bundle := peer.Agent("coder", id).With("helper", "acp:shell")
	bundle["config.yaml"] = strings.Replace(bundle["config.yaml"], "  model: test-model\n", "", 1) // the agent has its own
	w.session = s.NewSession(bundle, w.runner.ID)
	w.watch = s.Watch(w.session)
	return w
}

// ended waits for the next end of a turn.
func (w *served) ended(status string) {
	w.t.Helper()
	w.turns++
	require.Equal(w.t, status, w.watch.Settled(patience, w.turns)[w.turns-1].Status)
}

// decide answers the agent's next question.
func (w *served) decide(action string) (asked peer.Dict) {
	w.t.Helper()
	testkit.UntilSlow(w.t, patience, func() bool { return len(w.watch.Of("response.elicitation_request")) > w.seen },
		testkit.Is("the agent asks nothing"))
	asked = w.watch.Of("response.elicitation_request")[w.seen]
	w.seen++
	shown := w.Must(http.MethodGet, "/v1/sessions/"+w.session+"?include_items=false", nil)["pending_elicitations"].([]any)
	require.Len(w.t, shown, 1, "the snapshot shows the question")
	w.Must(http.MethodPost, "/v1/sessions/"+w.session+"/elicitations/"+asked["elicitation_id"].(string)+"/resolve", peer.Dict{"action": action})
	testkit.UntilSlow(w.t, patience, func() bool {
		return len(w.Must(http.MethodGet, "/v1/sessions/"+w.session+"?include_items=false", nil)["pending_elicitations"].([]any)) == 0
	}, testkit.Is("the question stays open"))
	return asked
}

// calls are the stored uses of tools, and their outputs.
func (w *served) calls() (calls, outputs []peer.Dict) {
	w.t.Helper()
	for _, row := range w.Rows(w.session) {
		switch row["type"] {
		case "function_call":
			calls = append(calls, row)
		case "function_call_output":
			outputs = append(outputs, row)
		}
	}
	return calls, outputs
}

func (w *served) converse() {
	w.Send(w.session, "SAY hello there")
	w.ended("completed")
	require.Equal(w.t, "hello there", strings.TrimSpace(w.Said(w.session)))
	usage, _ := w.watch.Of("response.completed")[0]["response"].(peer.Dict)["usage"].(peer.Dict)
	require.NotEmpty(w.t, usage["total_tokens"], "the turn's usage is told: %v", usage)

	w.Send(w.session, "SHELL echo allowed > allowed.txt && cat allowed.txt")
	asked := w.decide("accept")
	require.Contains(w.t, asked["params"].(peer.Dict)["content_preview"], "echo allowed")
	w.ended("completed")
	require.Equal(w.t, []string{"allowed"}, w.runner.Lines("allowed.txt"))
	calls, outputs := w.calls()
	require.Len(w.t, calls, 1, "one card of the tool")
	require.Len(w.t, outputs, 1)
	require.Equal(w.t, calls[0]["call_id"], outputs[0]["call_id"])
	require.Contains(w.t, outputs[0]["output"], "allowed")

	w.Send(w.session, "SHELL echo denied > denied.txt")
	w.decide("decline")
	w.turns++
	w.watch.Settled(patience, w.turns) // how a refusal ends is the agent's affair
	require.NoFileExists(w.t, filepath.Join(w.runner.Workspace, "denied.txt"))

	w.Send(w.session, "SLOW")
	testkit.UntilSlow(w.t, patience, func() bool { return strings.Contains(w.watch.Live(), "3") && len(w.watch.Ends()) == w.turns },
		testkit.Is("the slow answer does not begin"))
	w.Event(w.session, "interrupt", peer.Dict{})
	w.ended("cancelled")
	w.Send(w.session, "SAY and on we go")
	w.ended("completed")
	require.Contains(w.t, w.Said(w.session), "and on we go")
	testkit.RequireNone(w.t, filepath.Join(w.runner.Home, "nothing"), w.runner.Process)
}

// killed: the agent keeps the conversation over a death of the runner. What was
// said before it is stored, the turn that it cut has one end, and the next
// message finds an agent that remembers.
func (w *served) killed() {
	w.Send(w.session, "SAY remember the number 4711")
	w.ended("completed")
	w.Send(w.session, "LINES")
	testkit.UntilSlow(w.t, patience, func() bool {
		items, err := w.Items(w.session)
		return err == nil && len(items) > 3 && len(w.watch.Ends()) == w.turns
	}, testkit.Is("nothing of the slow answer is stored"))
	w.runner.Kill()
	stored := w.Said(w.session)
	w.runner.Start()
	w.WaitRunner(w.runner.ID)
	w.turns++
	end := w.watch.Settled(patience, w.turns)[w.turns-1]
	require.Equal(w.t, "failed", end.Status)
	require.Equal(w.t, "runner_restarted", end.Code)
	require.True(w.t, strings.HasPrefix(w.Said(w.session), stored), "what was stored stays")

	w.Send(w.session, "RECALL")
	w.ended("completed")
	require.Contains(w.t, w.Said(w.session), "remember the number 4711")
}

// delegate: the agent gives a sub-agent a task by the runner's tools, which it
// was lent by MCP, is woken, and reads the result.
func (w *served) delegate() {
	w.Send(w.session, `CALL sys_session_send {"agent":"helper","title":"one","args":"echo done by the helper"}`)
	for _, end := range w.watch.Settled(patience, 2) { // its own turn, and that of the message that wakes it
		require.Equal(w.t, "completed", end.Status)
	}
	require.Contains(w.t, w.Said(w.session), "The tool said: ")
	require.Contains(w.t, w.Said(w.session), "done by the helper")
	calls, _ := w.calls()
	require.Len(w.t, calls, 2)
	kids := w.Page("/v1/sessions/" + w.session + "/child_sessions?limit=10")
	require.Len(w.t, kids, 1)
	require.Equal(w.t, "helper", kids[0]["tool"])
}
