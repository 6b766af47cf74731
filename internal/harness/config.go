package harness

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/outrunner/outrunner/internal/harness/acp"
	"github.com/outrunner/outrunner/internal/harness/exec"
	"github.com/outrunner/outrunner/internal/harness/guard"
)

// Shell is the harness of the default agent: each message is a command line
// for bash. A definition of that id in Config takes its place.
const Shell = "acp:shell"

// DefaultShell is the definition of Shell.
func DefaultShell() Definition {
	return Definition{Adapter: AdapterExec, Command: []string{"bash", "-c", exec.Placeholder}}
}

// Check tells whether a definition can work. New refuses one that cannot.
func Check(id string, d Definition) error {
	_, err := d.check("harnesses."+id, adapters())
	return err
}

// The limits of a definition that sets none.
const (
	DefaultIdleReap    = time.Hour
	DefaultIdleTimeout = time.Hour
	DefaultTurnTimeout = 3 * time.Hour
	DefaultMaxOutput   = 64 << 20
)

// DefaultAgentIdleTimeout is shorter than that of other programs: an agent tells
// all that it does, and while it runs a tool or waits for a human its clock
// stands still. It is silent when its model is.
const DefaultAgentIdleTimeout = 5 * time.Minute

// DefaultGuardLimit leaves a guard the time to give up by itself.
const DefaultGuardLimit = guard.KillLimit + 2*time.Second

// Config sets up a Manager.
type Config struct {
	// Harnesses is the table of harnesses by canonical id ("acp:mine").
	Harnesses map[string]Definition
	// Workspace is where programs start whose session has no folder of its
	// own. "" is the current folder.
	Workspace string
	// PassEnv names variables of this process that every program gets; a name
	// that ends in "*" stands for all that begin so.
	PassEnv []string
	// Guard is the argv of the guard process; guard.Self gives it.
	Guard []string
	// InterruptGrace is the time between an interrupt and the terminate that
	// follows, TerminateGrace that between terminate and kill. 0 is 1.5 s
	// (guard.DefaultGrace), with which nothing is left 3 s after a death of
	// the runner.
	InterruptGrace, TerminateGrace time.Duration
	// GuardLimit is how much longer than these a guard may take to end its
	// program; then it is taken for hung and killed. 0 is DefaultGuardLimit.
	GuardLimit time.Duration
	// Tools is how a program reaches the runner's tools; the zero value lends
	// none.
	Tools Tools
	// OnSpawn is called in each turn after its program was started and before
	// any of its output is read. nil does nothing.
	OnSpawn func()
	// Log is where what no turn can tell goes. nil is nowhere.
	Log *slog.Logger
}

// Tools is how a program reaches the runner's tools.
type Tools struct {
	// Command is the argv of an MCP server that has them; --session and the
	// session's id are added.
	Command []string
	// Socket is where that server finds them. Every program is told, so that it
	// can start one by itself.
	Socket string
}

// envTools tells a program where the runner's tools are.
const envTools = "OUTRUNNER_TOOLS"

// Definition is one harness.
type Definition struct {
	// Adapter names how the program is driven: AdapterExec, AdapterStdio or
	// AdapterACP.
	Adapter string
	// Command is the program and its arguments. For exec, {message} in an
	// argument is replaced by the message's text; with no such argument the
	// text is the program's standard input.
	Command []string
	// Env is set for the program, on top of everything else.
	Env map[string]string
	// PassEnv is like Config.PassEnv, for this harness.
	PassEnv []string
	// IdleTimeout ends a turn whose program writes nothing for so long. 0 is
	// DefaultIdleTimeout, for AdapterACP DefaultAgentIdleTimeout.
	IdleTimeout time.Duration
	// TurnTimeout ends a turn that takes longer. 0 is DefaultTurnTimeout.
	TurnTimeout time.Duration
	// MaxOutput ends a turn whose program writes more bytes. 0 is
	// DefaultMaxOutput.
	MaxOutput int64
	// IdleReap ends a program that is kept between turns and has had none for
	// so long. 0 is DefaultIdleReap.
	IdleReap time.Duration
	// Steer: the program takes messages during a turn, and says which it took.
	// For AdapterStdio.
	Steer bool
	// ACP is for AdapterACP.
	ACP acp.Options
}

// check fills in what cfg leaves open, and refuses what cannot work with an
// error that names the key of the config file.
func (cfg Config) check(table map[string]adapter) (Config, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if len(cfg.Guard) == 0 {
		return cfg, fmt.Errorf("setting up harnesses: no guard command was given")
	}
	workspace, err := filepath.Abs(cfg.Workspace)
	if err != nil {
		return cfg, fmt.Errorf("finding the workspace %q: %w", cfg.Workspace, err)
	}
	cfg.Workspace = workspace
	setDefault(&cfg.InterruptGrace, guard.DefaultGrace)
	setDefault(&cfg.TerminateGrace, guard.DefaultGrace)
	setDefault(&cfg.GuardLimit, DefaultGuardLimit)
	if err := checkPassEnv("pass_env", cfg.PassEnv); err != nil {
		return cfg, err
	}
	harnesses := map[string]Definition{Shell: DefaultShell()}
	maps.Copy(harnesses, cfg.Harnesses)
	for id, def := range harnesses {
		if harnesses[id], err = def.check("harnesses."+id, table); err != nil {
			return cfg, err
		}
	}
	cfg.Harnesses = harnesses
	return cfg, nil
}

func (d Definition) check(key string, table map[string]adapter) (Definition, error) {
	_, known := table[d.Adapter]
	switch {
	case d.Adapter == "":
		return d, fmt.Errorf("%s.adapter is missing; the adapters are: %s", key, adapterNames(table))
	case !known:
		return d, fmt.Errorf("%s.adapter: there is no adapter %q; the adapters are: %s", key, d.Adapter, adapterNames(table))
	case len(d.Command) == 0 || strings.TrimSpace(d.Command[0]) == "":
		return d, fmt.Errorf("%s.command is empty; write the program and its arguments as a list", key)
	case strings.Contains(d.Command[0], exec.Placeholder):
		return d, fmt.Errorf("%s.command: the program itself cannot be %s", key, exec.Placeholder)
	case d.Adapter != AdapterExec && slices.ContainsFunc(d.Command, func(a string) bool { return strings.Contains(a, exec.Placeholder) }):
		return d, fmt.Errorf("%s.command: %s is for the adapter %s; a program of the adapter %s reads messages from its standard input",
			key, exec.Placeholder, AdapterExec, d.Adapter)
	case d.Adapter != AdapterACP && d.ACP != (acp.Options{}):
		return d, fmt.Errorf("%s: model, session_id_mode, send_model and inject_system_prompt are for the adapter %s", key, AdapterACP)
	case d.Adapter != AdapterStdio && d.Steer:
		return d, fmt.Errorf("%s.steer is for the adapter %s", key, AdapterStdio)
	case d.IdleTimeout < 0 || d.TurnTimeout < 0 || d.IdleReap < 0:
		return d, fmt.Errorf("%s: a timeout is negative", key)
	case d.MaxOutput < 0:
		return d, fmt.Errorf("%s.max_output is negative", key)
	}
	if err := checkPassEnv(key+".pass_env", d.PassEnv); err != nil {
		return d, err
	}
	for name, value := range d.Env {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00"):
			return d, fmt.Errorf("%s.env: %q is not a variable", key, name)
		case secret(name):
			return d, fmt.Errorf("%s.env: %s is a credential of the runner and is never given to a program", key, name)
		}
	}
	if d.Adapter == AdapterACP {
		setDefault(&d.IdleTimeout, DefaultAgentIdleTimeout)
	}
	setDefault(&d.IdleTimeout, DefaultIdleTimeout)
	setDefault(&d.TurnTimeout, DefaultTurnTimeout)
	setDefault(&d.MaxOutput, DefaultMaxOutput)
	setDefault(&d.IdleReap, DefaultIdleReap)
	return d, nil
}

func checkPassEnv(key string, names []string) error {
	for _, name := range names {
		if secret(name) {
			return fmt.Errorf("%s: %s is a credential of the runner and is never given to a program", key, name)
		}
	}
	return nil
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// folder is where a session's programs start.
func (cfg Config) folder(workspace string) (string, error) {
	dir := cfg.Workspace
	if workspace != "" {
		dir = workspace
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cfg.Workspace, dir)
		}
	}
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		return "", fmt.Errorf("the workspace %s does not exist; create it, or choose another folder for the session", dir)
	case err != nil:
		return "", fmt.Errorf("the workspace cannot be used: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("the workspace %s is not a folder; choose another one for the session", dir)
	}
	return dir, nil
}
