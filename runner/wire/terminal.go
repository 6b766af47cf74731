package wire

import (
	"context"
	"strings"
)

// TerminalSpec says what runs in a terminal (terminals.md 1.4).
type TerminalSpec struct {
	Session string
	Name    string   // as the agent declares it
	Key     string   // tells instances of one name apart
	Command string   // a program, found on PATH
	Args    []string // without the program
	Cwd     string   // absolute

	Env        map[string]string // beside what every terminal gets
	UnsetEnv   []string          // taken away again
	Scrollback int               // lines of history, default 10000

	Passthrough   bool // escape sequences that tmux does not know go through
	StartOnAttach bool // the program waits for its first viewer
	KeepAfterExit bool // the last screen stays until the terminal is closed
}

// Terminal is a terminal that runs, or ran (terminals.md 1.2).
type Terminal struct {
	Session string
	Name    string
	Key     string
	Cwd     string
	Running bool

	Socket string // tmux's, an absolute path; "" where tmux does not serve it
	Target string // what to attach to there
	// Generation tells a terminal from a later one of the same id.
	Generation string
}

// ID is the terminal's id within its session (terminals.md 1.1). Two names may
// have the same id; a launch refuses the second.
func (t Terminal) ID() string { return "terminal_" + SafeName(t.Name) + "_" + SafeName(t.Key) }

// EnvironmentID is the id of the environment that the terminal runs in.
func (t Terminal) EnvironmentID() string { return "env_" + t.ID() }

// SafeName makes a name fit for an id: whatever is not a letter, a digit, '_',
// '.' or '-' becomes '_', a run of them one (terminals.md 1.1).
func SafeName(name string) string {
	var b strings.Builder
	run := false
	for _, r := range strings.TrimSpace(name) {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-", r) {
			b.WriteRune(r)
			run = false
		} else if !run {
			b.WriteByte('_')
			run = true
		}
	}
	if s := strings.Trim(b.String(), "_"); s != "" {
		return s
	}
	return "resource"
}

// TerminalNews is what happens to terminals by itself or by a launch; what a
// caller closes or transfers is no news.
type TerminalNews struct {
	Kind     TerminalNewsKind
	Terminal Terminal
	Exit     TerminalExit // of TerminalExited
}

// TerminalNewsKind says what happened.
type TerminalNewsKind string

const (
	TerminalCreated TerminalNewsKind = "created" // launched, or found again after a restart
	TerminalExited  TerminalNewsKind = "exited"  // its program ended; the viewers have the last screen
	TerminalActive  TerminalNewsKind = "active"  // its screen changed; at most once a second
)

// TerminalExit says how a program ended. Both are zero after a clean exit.
type TerminalExit struct {
	Status int
	Signal int
	Tail   string // the last lines of the screen
}

// Viewer is one end of an attached terminal: a browser behind the tunnel
// (terminals.md 3.2). Reading and writing go on at the same time.
type Viewer interface {
	// Read returns the next message: text is a control message as JSON, the
	// rest are bytes typed. It fails when the viewer has gone.
	Read(ctx context.Context) (data []byte, text bool, err error)
	// Write sends one message and blocks while the viewer is behind.
	Write(ctx context.Context, data []byte, text bool) error
}

// Detached says why an attach ended (terminals.md 3.4).
type Detached struct {
	Code   int // WebSocket close code
	Reason string
}
