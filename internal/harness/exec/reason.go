package exec

import "github.com/outrunner/outrunner/internal/harness/guard"

// Reason is why a turn is ended before its program ends by itself.
type Reason int

// The reasons from outside.
const (
	running        Reason = iota
	Interrupted           // somebody asked the turn to stop
	SessionClosed         // the session needs no program any more
	RunnerStopping        // this process is about to end

	cancelled  // the turn's context ended
	emitFailed // its output could not be passed on
	silent     // it wrote nothing for IdleTimeout
	tooLong    // it ran for TurnTimeout
	tooMuch    // it wrote MaxOutput
)

// step is where the ladder begins.
func (r Reason) step() guard.Step {
	switch r {
	case running:
		return guard.Running
	case Interrupted:
		return guard.Interrupt
	case cancelled, emitFailed:
		return guard.Kill
	}
	return guard.Terminate
}

// deaf: nobody listens to the turn any more.
func (r Reason) deaf() bool { return r == cancelled || r == emitFailed }
