package turn

import "github.com/outrunner/outrunner/internal/harness/guard"

// Reason is why a turn is ended before it ends by itself.
type Reason int

// The reasons, those from outside first.
const (
	Running        Reason = iota // none
	Interrupted                  // somebody asked the turn to stop
	SessionClosed                // the session needs no program any more
	RunnerStopping               // this process is about to end

	Cancelled  // the turn's context ended
	EmitFailed // its output could not be passed on
	Silent     // it wrote nothing for IdleTimeout
	TooLong    // it ran for TurnTimeout
	TooMuch    // it wrote MaxOutput
	Broken     // what it wrote, or does not read, makes going on senseless
)

// Step is where the ladder begins.
func (r Reason) Step() guard.Step {
	switch r {
	case Running:
		return guard.Running
	case Interrupted:
		return guard.Interrupt
	case Cancelled, EmitFailed:
		return guard.Kill
	}
	return guard.Terminate
}

// Deaf: nobody listens to the turn any more.
func (r Reason) Deaf() bool { return r == Cancelled || r == EmitFailed }
