package wire

// Declared is a terminal that an agent declares (terminals.md 1.4).
type Declared struct {
	Name    string
	Command string // a program; "" is the user's shell
	Args    []string
	Env     map[string]string
	// OSEnv is where it runs; nil is where the agent does.
	OSEnv *OSEnv

	Scrollback    int // lines of history; 0 is the default
	Passthrough   bool
	StartOnAttach bool
	// AllowCwd and AllowSandbox: whoever starts it may choose them.
	AllowCwd     bool
	AllowSandbox bool
}

// OSEnv is where an agent, or a terminal of it, runs.
type OSEnv struct {
	Cwd string // "", "." and "./" are the workspace
	// Sandbox is the kind that it insists on, "" when it names none. Nothing is
	// sandboxed here, so what names one cannot be started.
	Sandbox string
	// Pinned: its sandbox guards the network or copies what is written; nobody
	// may choose another.
	Pinned bool
}

// NoSandbox is the sandbox that is none.
const NoSandbox = "none"

// Terminal returns the terminal that an agent declares under a name.
func (s *Spec) Terminal(name string) (Declared, bool) {
	for _, d := range s.Terminals {
		if d.Name == name {
			return d, true
		}
	}
	return Declared{}, false
}
