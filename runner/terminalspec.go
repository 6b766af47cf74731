package runner

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

// defaultScrollback is a terminal's history, in lines (terminals.md 1.4).
const defaultScrollback = 10_000

// terminalSpec says what a creation starts: what the agent declares under the
// name, else what the request itself says.
func (r *Runner) terminalSpec(session string, agent core.Agent, want creation) (wire.TerminalSpec, error) {
	declared, ok := agent.Spec.Terminal(want.Terminal)
	switch {
	case ok:
		if want.Cwd == "" && want.Spec != nil && want.Spec.Cwd != nil {
			want.Cwd = *want.Spec.Cwd
		}
	case wrapsNative(agent.Spec) && shells[want.Terminal]:
		return wire.TerminalSpec{}, invalid("Shell '" + want.Terminal + "' is not available on this host. Available shells: " + names(agent.Spec) + ".")
	default:
		var err error
		if declared, err = want.given(agent.Spec.OSEnv); err != nil {
			return wire.TerminalSpec{}, err
		}
	}
	return r.build(session, agent, declared, want)
}

// build makes the spec of a declared terminal, with what the caller may choose.
func (r *Runner) build(session string, agent core.Agent, d wire.Declared, want creation) (wire.TerminalSpec, error) {
	spec := wire.TerminalSpec{
		Session: session, Name: want.Terminal, Key: want.Key, Command: d.Command, Args: d.Args, Env: d.Env,
		Scrollback: d.Scrollback, Passthrough: d.Passthrough, StartOnAttach: d.StartOnAttach,
	}
	if spec.Command == "" {
		spec.Command = r.cfg.Shell
	}
	if spec.Scrollback == 0 {
		spec.Scrollback = defaultScrollback
	}
	env := d.OSEnv
	if env == nil {
		env = agent.Spec.OSEnv
	}
	if env == nil {
		env = &wire.OSEnv{}
	}
	if err := chooseSandbox(*env, d, want.Sandbox); err != nil {
		return spec, err
	}
	root := r.workspaceOf(agent)
	if agent.Spec.OSEnv != nil && !placeholder(agent.Spec.OSEnv.Cwd) {
		root = below(root, agent.Spec.OSEnv.Cwd)
	}
	if !placeholder(env.Cwd) {
		root = below(r.workspaceOf(agent), env.Cwd)
	}
	var err error
	spec.Cwd, err = chooseFolder(root, d, want.Cwd)
	return spec, err
}

// given is a terminal as the request describes it, in the agent's sandbox;
// nobody may choose anything of it beside.
func (c creation) given(env *wire.OSEnv) (wire.Declared, error) {
	s := c.Spec
	if s == nil {
		s = &givenSpec{}
	}
	d := wire.Declared{
		Name: c.Terminal, Command: "bash", Args: s.Args, Env: s.Env, Passthrough: s.Passthrough, StartOnAttach: s.StartOnAttach,
	}
	if s.Command != nil {
		d.Command = *s.Command
	}
	if s.Scrollback != nil {
		d.Scrollback = *s.Scrollback
	}
	if s.Cwd != nil && !placeholder(*s.Cwd) {
		d.OSEnv = &wire.OSEnv{}
		if env != nil {
			*d.OSEnv = *env
		}
		d.OSEnv.Cwd = *s.Cwd
	}
	switch {
	case s.Kind != nil && *s.Kind != "caller_process":
		return d, invalid("there is no environment of the type '" + *s.Kind + "' here")
	case d.Command == "":
		return d, invalid("'spec.command' is empty")
	case d.Scrollback < 0 || d.Scrollback > 1_000_000:
		return d, invalid("'spec.scrollback' must be from 0 to 1000000 lines")
	}
	for _, text := range append([]string{d.Command}, d.Args...) {
		if err := checkText("'spec'", text); err != nil {
			return d, err
		}
	}
	for name, value := range d.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return d, invalid("'spec.env' has a name or a value that no variable can have")
		}
	}
	return d, nil
}

// chooseSandbox refuses what would need a sandbox: there is none here, and to do
// without one is not ours to decide (terminals.md 6).
func chooseSandbox(env wire.OSEnv, d wire.Declared, choice string) error {
	kind := env.Sandbox
	switch {
	case choice == "":
	case !d.AllowSandbox:
		return invalid("This terminal does not allow to choose a sandbox; set allow_sandbox_override for it.")
	case env.Pinned:
		return invalid("The sandbox of this terminal guards the network or its files; no other may be chosen.")
	case choice != wire.NoSandbox && choice != "linux_bwrap":
		return invalid("There is no sandbox '" + choice + "': it is none or linux_bwrap.")
	default:
		kind = choice
	}
	if kind == "" || kind == wire.NoSandbox {
		return nil
	}
	return &apiError{
		http.StatusInternalServerError, "terminal_launch_failed",
		"The terminal wants a sandbox (" + kind + "), and this runner has none. Declare sandbox: none for it, if what runs in it may do what you may.",
	}
}

// chooseFolder returns the folder to start in: the root, or where the terminal
// allows it a folder below that, links followed.
func chooseFolder(root string, d wire.Declared, choice string) (string, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil || !isFolder(real) {
		return "", invalid("The folder " + root + " does not exist; create it, or choose another one.")
	}
	if placeholder(choice) {
		return real, nil
	}
	if !d.AllowCwd {
		return "", invalid("This terminal does not allow to choose its folder; set allow_cwd_override for it.")
	}
	if err := checkText("'cwd'", choice); err != nil {
		return "", err
	}
	chosen, err := filepath.EvalSymlinks(below(real, choice))
	if err != nil || !isFolder(chosen) {
		return "", invalid("The folder '" + choice + "' does not exist.")
	}
	if rel, err := filepath.Rel(real, chosen); err != nil || !filepath.IsLocal(rel) {
		return "", invalid("The folder '" + choice + "' lies outside of " + real + ", where this terminal may start.")
	}
	return chosen, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// placeholder tells whether a folder is written and none is meant.
func placeholder(cwd string) bool { return cwd == "" || cwd == "." || cwd == "./" }

// below is a folder as it is written, seen from another one.
func below(root, cwd string) string {
	if cwd == "~" || strings.HasPrefix(cwd, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, cwd[1:])
		}
	}
	if filepath.IsAbs(cwd) {
		return filepath.Clean(cwd)
	}
	return filepath.Join(root, cwd)
}

// workspaceOf is the folder that the session works in.
func (r *Runner) workspaceOf(agent core.Agent) string {
	if agent.Workspace == "" {
		return r.cfg.Workspace
	}
	return below(r.cfg.Workspace, agent.Workspace)
}

// userShell is what a terminal runs that names no program.
func userShell() string {
	if shell := os.Getenv("SHELL"); shell != "" {
		if _, err := exec.LookPath(shell); err == nil {
			return shell
		}
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		return bash
	}
	return "sh"
}

// shells are programs that people take for a terminal's name.
var shells = map[string]bool{"bash": true, "zsh": true, "fish": true, "sh": true, "dash": true, "ksh": true, "tcsh": true}

// wrapsNative tells whether an agent only shows a native program.
func wrapsNative(spec *wire.Spec) bool { return strings.HasSuffix(spec.Name, "-native-ui") }

// names are the names that an agent declares.
func names(spec *wire.Spec) string {
	var list []string
	for _, d := range spec.Terminals {
		list = append(list, d.Name)
	}
	if len(list) == 0 {
		return "none"
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
