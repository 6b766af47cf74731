//go:build unix

package subagents

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

// What is wrong with a child's agent ends its turn with a sentence, and never
// has its parent's program answer.
func TestAgentsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	with := func(more map[string]string) map[string]string {
		files := maps.Clone(tree)
		maps.Copy(files, more)
		return files
	}
	for _, c := range []struct {
		what  string
		files map[string]string
		name  string
		text  string
		end   string
	}{
		{"a name that is not in the tree", tree, "gone", "task", "failed:sub_agent_not_found"},
		{"the root's own name", tree, "polly", "task", "failed:sub_agent_not_found"},
		{"two of one name", with(map[string]string{"agents/twin/config.yaml": spec("claude_code", sibling)}), "claude_code", "task", "failed:spec_resolver_failed"},
		{"a path that leads outside", with(map[string]string{"agents/../../x/config.yaml": spec("x", sibling)}), "claude_code", "task", "failed:spec_resolver_failed"},
		{"no agent file", map[string]string{"README": "none"}, "claude_code", "task", "failed:spec_resolver_failed"},
		{"a program that writes no events", tree, "claude_code", "GARBAGE", "failed:exit_status"},
		{"a harness that nobody has set up", map[string]string{"config.yaml": spec("polly", parent),
			"agents/claude_code/config.yaml": spec("claude_code", "goose-native")}, "claude_code", "task", "failed:harness_not_configured"},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newWorld(t, "stdio").family(c.name)
			w.AddAgent(agentP, "polly", c.files)
			w.start()
			w.Watch(sessionC)
			require.Equal(t, c.end, w.Ended(sessionC, w.Send(sessionC, c.text)))
			require.NotContains(t, w.asked(sessionC), parent)
			for _, ev := range w.Events(sessionC) {
				if failed, ok := ev["error"].(fakeserver.Dict); ok && ev["type"] == "session.status" {
					require.Regexp(t, `^\S+ \S+ \S+`, failed["message"], "a sentence for the user")
					require.NotEmpty(t, failed["remediation"])
				}
			}
		})
	}
}

// An empty object and a 404 are the server's settled word: the one says that the
// session is nobody's child, the other that there is none.
func TestSettledAnswersAreNotUnreadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("claude_code")
	w.start()
	w.Watch(sessionC)
	mend := w.Break("GET", "/v1/sessions/"+sessionC, 0, fakeserver.Answer(404))
	item := w.Send(sessionC, "task")
	require.Equal(t, "failed:identity_unknown", w.Ended(sessionC, item))
	require.Empty(t, w.asked(sessionC))
	mend()
	w.Break("GET", "/v1/sessions/"+sessionC, 0, fakeserver.Empty)
	require.Equal(t, "completed", w.Ended(sessionC, w.Send(sessionC, "task")))
	require.Equal(t, []string{parent}, w.asked(sessionC))
}
