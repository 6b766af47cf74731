package guard

import "time"

// Step is how hard the family is asked to end. The ladder only goes down.
type Step int

// The steps of the ladder.
const (
	Running   Step = iota
	Interrupt      // SIGINT to the program's group (Windows: Ctrl-Break)
	Terminate      // SIGTERM to every member of the family
	Kill           // SIGKILL to every member, until none is left
)

const (
	// DefaultGrace is the time between two steps of the ladder. Two of them
	// and the kill fit in the 3 s in which nothing may be left.
	DefaultGrace = 1500 * time.Millisecond
	// KillLimit is how long the guard kills before it reports who is left.
	KillLimit = 5 * time.Second
	// killEvery is the time between two rounds of kills: a family that forks
	// faster than one round finds it dies in a later one.
	killEvery = 10 * time.Millisecond
)

// End is how a program ended, told when its whole family was gone.
type End struct {
	// Code is the exit status; 0 when Signal is set.
	Code int `json:"code"`
	// Signal names the signal that ended the program ("SIGSEGV"), or is "".
	Signal string `json:"signal,omitempty"`
	// Step is the hardest step that was taken while the program still ran.
	Step Step `json:"step"`
	// Left counts members of the family that could not be killed.
	Left int `json:"left,omitempty"`
	// Lost: the guard itself was killed, and nothing else here is known.
	Lost bool `json:"-"`
}

// order goes from the runner to the guard, one JSON value a line: first a
// start, then steps. Bytes, not strings: a path need not be UTF-8.
type order struct {
	Start *start `json:"start,omitempty"`
	Step  Step   `json:"step,omitempty"`
}

type start struct {
	Argv           [][]byte      `json:"argv"`
	Stdin          []byte        `json:"stdin"` // nil: the null device
	Talk           *handles      `json:"talk,omitempty"`
	InterruptGrace time.Duration `json:"interrupt_grace"`
	TerminateGrace time.Duration `json:"terminate_grace"`
}

// handles are the files that the guard inherits for its program, by the number
// that they have there.
type handles struct {
	In  uintptr `json:"in"`
	Out uintptr `json:"out"`
}

// report goes from the guard to the runner, one JSON value a line: first
// Started or Failed, and after Started an End.
type report struct {
	Started int         `json:"started,omitempty"` // the program's process id
	Failed  *NotStarted `json:"failed,omitempty"`
	End     *End        `json:"end,omitempty"`
}
