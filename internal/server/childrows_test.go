package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Row S155: an end stays one, whatever goes on in the background.
func TestAnEndWithWorkInTheBackground(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	child := s.child(root, "worker", "1")
	for _, status := range []string{"waiting", "idle"} {
		code, out := s.report(child, map[string]any{"status": status, "background_task_count": 1})
		require.Equal(t, 202, code, out)
		require.Equal(t, "idle", r.echoed(child)["status"], status)
	}
}

// Row S156: the children that live inside of codex and devin report to their
// parents themselves, so nobody has to be there for their ends.
func TestTheEndOfAnInnerChildIsNotWaitedFor(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Timing.Control = 100 * time.Millisecond })
	r := s.runner("secret")
	root := s.lead(map[string]any{"runner_id": r.id()})
	ends := map[string]int{"codex": 202, "devin": 202, "claude": 503}
	kids := map[string]string{}
	for program := range ends {
		kids[program] = s.child(root, "worker", program, map[string]any{
			"labels": map[string]string{"omnigent.wrapper": program + "-native-ui-subagent"},
		})
	}
	r.disconnect()
	s.eventually("away", func() bool { return s.snapshot(root)["runner_online"] == false })
	for program, want := range ends {
		code, out := s.report(kids[program], map[string]any{"status": "idle"})
		require.Equal(t, want, code, "%s: %v", program, out)
	}
}
