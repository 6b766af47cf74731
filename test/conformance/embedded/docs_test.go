//go:build unix

package embedded

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// documented are the code blocks of a language in a page of the documentation.
func documented(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../docs", page))
	require.NoError(t, err)
	var blocks []string
	for _, found := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```\n").FindAllSubmatch(text, -1) {
		blocks = append(blocks, string(found[1]))
	}
	return blocks
}

// The agent with sub-agents that the documentation shows does what it says, as
// it stands there: it dispatches two children, is woken, and answers with both
// results.
func TestTheDocumentedAgentWithSubAgents(t *testing.T) {
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Log("there is no python3 here, so this example was not run; CI must have one")
		require.Empty(t, os.Getenv("CI"), "CI must have python3: %v", err)
		return
	}
	yaml, lead := documented(t, "sub-agents.md", "yaml"), documented(t, "sub-agents.md", "python")
	worker := documented(t, "harness-stdio.md", "python")
	require.Len(t, yaml, 3)
	require.Len(t, lead, 1)
	require.Len(t, worker, 1)

	s := testkit.NewServer(t)
	s.AddAgentFiles("lead", map[string]string{"config.yaml": yaml[0], "agents/worker/config.yaml": yaml[1]})
	r := testkit.NewRunner(t, s.URL)
	r.Configure(yaml[2])
	for name, text := range map[string]string{"lead.py": lead[0], "worker.py": worker[0]} {
		require.NoError(t, os.WriteFile(r.Path(name), []byte(text), 0o600))
	}
	// A version manager's python3 would need more of the environment.
	r.Start("PATH=" + filepath.Dir(strings.TrimSpace(string(python))) + string(os.PathListSeparator) + os.Getenv("PATH"))
	s.WaitOnline()

	root := s.NewSession("lead")
	end := s.Settled(testkit.Patience, root, s.Send(root, "paint the door and oil the hinges"))[0]
	require.Equal(t, "completed", end.Status, end.Message)
	tasks := []string{"paint the door", "oil the hinges"}
	var said string
	testkit.Until(t, testkit.Patience, func() bool {
		items, err := s.Items(root)
		require.NoError(t, err)
		said = ""
		for _, i := range items {
			if i.Role == "assistant" {
				said += i.Text() + "\n"
			}
		}
		for _, task := range tasks {
			if !strings.Contains(said, task) {
				return false
			}
		}
		return true
	}, func() string { return "the lead has not told of both results: " + said })

	kids, err := s.Children(root)
	require.NoError(t, err)
	require.Len(t, kids, len(tasks))
	for _, kid := range kids {
		require.Equal(t, 1, strings.Count(said, fmt.Sprintf("[System: sub-agent task %s completed — worker:%s returned: %[2]s ]", kid.ID, kid.Name)), said)
		require.Contains(t, tasks, kid.Name)
	}
	items, err := s.Items(root)
	require.NoError(t, err)
	wakes := 0
	for _, i := range items {
		if i.Role == "user" && strings.HasPrefix(i.Text(), "[System: sub-agent worker/") {
			wakes++
		}
	}
	require.Positive(t, wakes, "the lead is woken")

	show := func(session string) string {
		p := testkit.Run(t, testkit.Options{}, "sessions", "show", session, "--server", s.URL)
		require.Zero(t, p.Wait(testkit.Patience), p.Stderr)
		return p.Stdout.String()
	}
	tree := show(root)
	require.Contains(t, tree, "\nsub-agents, 0 results not read:\n")
	for _, kid := range kids {
		require.Regexp(t, `(?m)^[├└]─ worker:`+kid.Name+` +`+kid.ID+` +completed$`, tree)
		require.Regexp(t, `(?m)^parent +`+root+`, idle\b`, show(kid.ID))
	}
}
