//go:build !linux

package testkit

import "testing"

// RequireGone ends the runner as kill -9 does, if it still runs. That nothing
// is left of it then is promised on Linux only.
func (r *Runner) RequireGone() {
	if r.Process != nil {
		r.Kill()
	}
}

// RequireNone looks for nothing: what a runner leaves behind can be told from
// other processes on Linux only.
func RequireNone(testing.TB, string, ...*Process) {}

// EndLeftovers ends nothing, for the same reason.
func EndLeftovers(testing.TB, string, ...*Process) {}
