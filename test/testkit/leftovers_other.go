//go:build !linux

package testkit

// RequireGone ends the runner as kill -9 does, if it still runs. That nothing
// is left of it then is promised on Linux only.
func (r *Runner) RequireGone() {
	if r.Process != nil {
		r.Kill()
	}
}
