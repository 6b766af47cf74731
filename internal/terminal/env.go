package terminal

import (
	"runtime"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// The names under which a program finds out which terminal it runs in
// (terminals.md 2.2).
const (
	envInstance = "OMNIGENT_TERMINAL_INSTANCE_ID"
	envLaunch   = "OMNIGENT_TERMINAL_LAUNCH_ID"
	envSession  = "OMNIGENT_TERMINAL_LAUNCH_SESSION_ID"
)

// private tells the variables of the runner that no terminal inherits: its
// credentials and settings, and what tells of a terminal that the runner itself
// runs in (terminals.md T31, T34). tmux sets its own.
func private(name string) bool {
	upper := strings.ToUpper(name)
	switch upper {
	case "TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "COLUMNS", "LINES", "OMNIGENT_TMUX_SOCK":
		return true
	}
	for _, prefix := range []string{"OMNIGENT_TERMINAL_", "OMNIGENT_RUNNER_"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	ours := strings.HasPrefix(upper, "OUTRUNNER_") || strings.HasPrefix(upper, "OMNIGENT_")
	return ours && (strings.Contains(upper, "TOKEN") || strings.Contains(upper, "SECRET"))
}

// environment is what a program in a terminal gets: the runner's own without
// what is private, then what the launch says, then what we say. It is also what
// tmux itself is started with, because tmux hands on all that it has.
func environment(own []string, spec wire.TerminalSpec, generation string) []string {
	vars := map[string]string{}
	for _, entry := range own {
		// Windows has variables such as "=C:".
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" && !private(name) {
			vars[name] = value
		}
	}
	vars["COLORTERM"] = "truecolor"
	for name, value := range spec.Env {
		vars[name] = value
	}
	for _, name := range spec.UnsetEnv {
		delete(vars, name)
	}
	vars[envInstance], vars[envLaunch], vars[envSession] = generation, generation, spec.Session
	if locale := effectiveLocale(vars); runtime.GOOS != "windows" && !isUTF8(locale) {
		// A service often has no locale, and in the "C" one tmux and the
		// programs in it mangle every character that is not ASCII (T29).
		vars["LANG"], vars["LC_ALL"] = utf8Locale(), utf8Locale()
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func effectiveLocale(vars map[string]string) string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if vars[name] != "" {
			return vars[name]
		}
	}
	return ""
}

func isUTF8(locale string) bool {
	upper := strings.ToUpper(locale)
	return strings.Contains(upper, "UTF-8") || strings.Contains(upper, "UTF8")
}

func utf8Locale() string {
	if runtime.GOOS == "darwin" {
		return "en_US.UTF-8"
	}
	return "C.UTF-8"
}

// lookup finds a variable in an environment.
func lookup(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
