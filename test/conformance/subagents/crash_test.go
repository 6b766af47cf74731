//go:build unix

package subagents

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

// The points that lie between a child's task and its parent's reading, in the
// order in which they are passed: the first time by the child's turn, the second
// by the turn that the wake begins, whose parent reads.
var points = []string{
	"segment:1", "posted:1", "acknowledged:1", "ended:1", "result:1", "terminal:1", // of the child
	"accepted:2", "replied:3", "opened:2", "spawned:2", "segment:2", "posted:2", "acknowledged:2", "ended:2", "terminal:2", // of the wake
	"drained:2", "replied:4", // of the reading; the first that is written so is the answer to the dispatch
}

// A runner that is killed anywhere between the end of a child and the reading of
// its result delivers the result once, wakes the parent, and tells a reading
// that is repeated the same.
func TestKilledBetweenResultAndReading(t *testing.T) {
	t.Parallel()
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			w := newWorld(t, "stdio")
			w.AddSession(fakeserver.Session{ID: sessionP, AgentID: agentP})
			w.start("OUTRUNNER_CRASH_AT=" + point)
			w.Watch(sessionP)
			w.streaming(sessionP)
			// The answers may get lost with the runner.
			_ = w.TryTool(sessionP, "sys_session_send", "dispatch", `{"agent":"claude_code","title":"one","args":"task"}`)
			if point == "drained:2" || point == "replied:4" {
				w.woken(1)
				w.rested(sessionP, 1)
				_ = w.TryTool(sessionP, "sys_read_inbox", "r1", `{}`)
			}
			w.Until(w.runner.Process.Ended, "the runner does not pass the point")
			kids := w.Children(sessionP)
			require.Len(t, kids, 1)
			kid := kids[0]

			w.start()
			w.Until(func() bool { return len(w.wakes(sessionP)) > 0 }, "the parent is not woken")
			w.rested(sessionP, 1)
			w.Until(func() bool { return w.stateOf(kid) != "running" }, "the child is not at rest")

			first := w.read("r1")
			require.Equal(t, 1, strings.Count(first, "[System: sub-agent task "+kid+" "), first)
			require.Equal(t, first, w.read("r1"), "the same operation is told the same")
			require.Equal(t, empty, w.read("r2"))
			w.receipted(kid)
			switch who := "[System: sub-agent task " + kid; point {
			case "segment:1", "posted:1", "acknowledged:1": // perhaps the child's own turn was cut
				require.Regexp(t, `(?s)^\`+who+`( completed — claude_code:one returned: claude-native has done it| failed — claude_code:one error: .*)\]$`, first)
			default:
				require.Equal(t, who+" completed — claude_code:one returned: "+native+" has done it]", first)
			}
			require.Subset(t, []string{native}, w.asked(kid))
			require.Len(t, w.Children(sessionP), 1)

			w.runner.Kill()
			w.start()
			if again := w.read("r3"); again != empty { // a second wake's turn was cut
				require.Contains(t, again, "(shown before)", "nothing comes back as new at the next start")
				require.Equal(t, 1, strings.Count(again, "[System: sub-agent task "), again)
			}
		})
	}
}

func (w *world) stateOf(session string) (status string) {
	w.Change(session, func(s *fakeserver.Session) { status = s.Status })
	return status
}

// rested waits until the session's agent has answered n times, and rests.
func (w *world) rested(session string, n int) {
	w.t.Helper()
	w.Until(func() bool { return len(w.Said(session)) >= n && w.stateOf(session) != "running" }, "the session does not come to rest")
}
