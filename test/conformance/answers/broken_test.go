//go:build unix

package answers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

// tries is how often a runner asks again before the server is mended.
const tries = 3

// Every call that a turn is made of is answered wrongly for a while, in each
// way. The runner lives, says once what was wrong, and goes on when the server
// is well.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	const base = "/v1/sessions/" + session
	faults := map[string]fakeserver.Fault{"HTML": fakeserver.HTML, "502": badGateway, "EOF": fakeserver.Truncated, "{}": fakeserver.Empty}
	for _, c := range []struct {
		name, method, path string
		end                string            // of the message that was sent meanwhile
		says               map[string]string // by fault, instead of its name
	}{
		// An empty snapshot is a settled one (subagents-catchup.md W1).
		{"snapshot", "GET", base, "failed:identity_unknown", map[string]string{"{}": ""}},
		{"items", "GET", base + "/items", "completed", map[string]string{"{}": "the answer has no list of items"}},
		{"agent", "GET", base + "/agent/contents", "failed:identity_unknown", map[string]string{"{}": "was answered with JSON"}},
		{"store", "POST", base + "/events", "completed", map[string]string{"{}": "the answer names no item"}},
	} {
		for fault, how := range faults {
			t.Run(c.name+" "+fault, func(t *testing.T) {
				t.Parallel()
				says, end := fault, c.end
				if other, ok := c.says[fault]; ok {
					says = other
				}
				if says == "" {
					end = "completed"
				}
				w := newWorld(t)
				mend := w.Break(c.method, c.path, 0, how)
				item := w.Send(session, "echo one")
				if end != "completed" {
					require.Equal(t, end, w.Ended(session, item))
				} else if says != "" {
					w.called(c.method, c.path, tries)
				}
				mend()
				require.Equal(t, end, w.Ended(session, item))
				w.requireWell()
				if says == "" {
					require.Empty(t, w.complaints())
					return
				}
				seen := map[string]bool{}
				for _, line := range w.complaints() {
					require.Contains(t, line, says)
					_, what, _ := strings.Cut(line, " WRN ")
					what, _, _ = strings.Cut(what, " error=")
					require.False(t, seen[what], "said twice: %q", w.complaints())
					seen[what] = true
				}
				require.NotEmpty(t, seen, "nobody is told")
			})
		}
	}
}
