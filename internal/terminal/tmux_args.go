package terminal

import (
	"strconv"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

const (
	// tmuxSession is the one session of each server, and its target.
	tmuxSession = "main"
	// startSignal is what a program that starts with its first viewer waits for.
	startSignal = "outrunner-start-on-attach"
	// The size of a new terminal. It is small on purpose: the first viewer makes
	// it grow, and many programs redraw badly when it shrinks.
	startCols, startRows = 80, 24
	// maxArgs is what tmux takes of arguments in one launch, with room for ours.
	maxArgs = 12 << 10
)

// base is how every tmux command of a socket begins.
func base(socket string) []string { return []string{"-S", socket, "-f", "/dev/null"} }

// launchArgs is the one invocation that makes a server with its session
// (terminals.md 2.2). It comes before the program's first byte, and its client
// goes on as our control client. The folder to start in is the client's own,
// never an argument, which tmux would expand (T28).
func launchArgs(tmux, socket string, spec wire.TerminalSpec, program []string) []string {
	args := append(base(socket), "-C")
	run := func(words ...string) {
		args = append(args, words...)
		args = append(args, ";")
	}
	set := func(words ...string) { run(append([]string{"set-option"}, separate(words)...)...) }
	set("-g", "history-limit", strconv.Itoa(spec.Scrollback))
	set("-sq", "extended-keys", "on")
	set("-sq", "extended-keys-format", "csi-u")
	set("-sq", "set-clipboard", "external")
	set("-g", "mouse", "on")
	set("-g", "focus-events", "on")
	set("-g", "escape-time", "0")
	set("-g", "prefix", "None")
	set("-g", "prefix2", "None")
	run("unbind-key", "-a", "-T", "prefix")
	for _, key := range []string{"MouseDown3Pane", "MouseDown3Status", "MouseDown3StatusLeft"} {
		run("unbind-key", "-q", "-T", "root", key)
		run("unbind-key", "-q", "-T", "root", "M-"+key)
	}
	run("bind-key", "-T", "root", "PPage", "if-shell", "-F", "#{alternate_on}", "send-keys PPage", "copy-mode -eu")
	set("-g", "status", "on")
	for _, style := range []string{"status-style", "status-left-style", "status-right-style"} {
		set("-g", style, "fg=default,bg=default")
	}
	set("-g", "@outrunner-session", spec.Session)
	set("-g", "status-left", "outrunner: #{@outrunner-session}")
	set("-g", "status-left-length", "200")
	set("-g", "status-right", "")
	set("-g", "status-right-length", "0")
	set("-g", "window-status-separator", "")
	set("-wg", "window-status-format", "")
	set("-wg", "window-status-current-format", "")
	set("-g", "automatic-rename", "off")
	set("-g", "allow-rename", "off")
	// A dead pane stays for as long as we need to read it; only then is the last
	// screen sure to be seen (T18).
	set("-g", "remain-on-exit", "on")
	set("-g", "remain-on-exit-format", "")
	set("-sq", "exit-empty", "off")
	if spec.Passthrough {
		set("-g", "allow-passthrough", "on")
	}
	run(append([]string{"new-session", "-s", tmuxSession, "-x", strconv.Itoa(startCols), "-y", strconv.Itoa(startRows), "--"}, separate(program)...)...)
	// tmux 3.3 falls over when it makes a session while sizes are manual.
	set("-g", "window-size", "manual")
	// What a hook does is not told to control clients; what another client does is.
	return append(args, "set-hook", "-w", "-t", tmuxSession, "pane-died",
		"run-shell -b "+quote(shellWord(tmux)+" rename-window -t "+tmuxSession+": ended"))
}

// wrapper starts a program in its pane and stays until tmux has read all that it
// printed: tmux throws away what it has not read when the pane's process ends. It
// asks its terminal whether it is well, and tmux answers when it has come to the
// question (T18). A ^C is the program's alone.
const wrapper = `trap : INT QUIT
"$@"
status=$?
command -p stty raw -echo min 0 time 20
printf '\033[5n'
tries=0
while [ $tries -lt 50 ]; do
	tries=$((tries+1))
	case "$(command -p dd bs=64 count=1 2>/dev/null)" in *'[0n'*|'') break;; esac
done
exit $status`

// startWrapper has the program wait for its first viewer.
const startWrapper = `"$1" -S "$2" wait-for ` + startSignal + `; shift 2
` + wrapper

// program is what tmux starts in the pane. tmux starts two words or more without
// a shell of its own.
func program(tmux, socket string, spec wire.TerminalSpec, path string) []string {
	argv := append([]string{path}, spec.Args...)
	if spec.StartOnAttach {
		return append([]string{"/bin/sh", "-c", startWrapper, "sh", tmux, socket}, argv...)
	}
	return append([]string{"/bin/sh", "-c", wrapper, "sh"}, argv...)
}

// signalled tells the signal in a status of the wrapper: a shell has no other way
// to pass it on.
func signalled(status int) int {
	if status > 128 && status <= 128+64 {
		return status - 128
	}
	return 0
}

// separate keeps tmux from taking the end of a word for the end of a command.
func separate(argv []string) []string {
	out := make([]string, len(argv))
	for i, word := range argv {
		if strings.HasSuffix(word, ";") {
			word = word[:len(word)-1] + `\;`
		}
		out[i] = word
	}
	return out
}

// shellWord writes text as one word of a POSIX shell.
func shellWord(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
