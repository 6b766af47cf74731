package runner

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

const (
	// toolTimeout bounds what a terminal tool does, but for a launch.
	toolTimeout = 10 * time.Second
	// maxTyped bounds a text that a tool types, in bytes; maxKeys the keys.
	maxTyped = 1 << 20
	maxKeys  = 256
	// maxScreen bounds what a tool reads of a terminal, in bytes; the newest is
	// kept. maxHistory bounds the lines that it may ask for.
	maxScreen  = 1 << 20
	maxHistory = 1_000_000
)

// useTerminal carries out a terminal tool; the output is JSON for the model
// (terminals.md 2.3).
func (r *Runner) useTerminal(ctx context.Context, use core.UseTerminal) string {
	out, err := r.terminalTool(ctx, use)
	if err != nil {
		out = map[string]string{"error": err.Error()}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		raw, _ = json.Marshal(map[string]string{"error": err.Error()}) // a string always encodes
	}
	return string(raw)
}

type toolArgs map[string]json.RawMessage

func (r *Runner) terminalTool(ctx context.Context, use core.UseTerminal) (any, error) {
	if use.Name == "sys_terminal_list" {
		return r.toolList(use.Session, use.Agent), nil
	}
	var args toolArgs
	if json.Unmarshal(use.Args, &args) != nil || args == nil {
		return nil, errors.New("the arguments must be a JSON object")
	}
	name, key := args.text("terminal"), args.text("session")
	if name == "" || key == "" {
		return nil, errors.New("it needs 'terminal' and 'session', texts that are not empty")
	}
	if use.Name == "sys_terminal_launch" {
		return r.toolLaunch(ctx, use, args, name, key)
	}
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	term, found := r.running(use.Session, name, key)
	switch {
	case use.Name == "sys_terminal_close":
		return r.toolClose(ctx, term, found, name, key)
	case !found:
		return nil, notRunning(name, key)
	case use.Name == "sys_terminal_send":
		return r.toolSend(ctx, term, args)
	}
	return r.toolRead(ctx, term, args)
}

// text is an argument that is a text, or "".
func (a toolArgs) text(key string) string {
	s, _ := stringOrNull(a[key])
	return s
}

func notRunning(name, key string) error {
	return errors.New("terminal '" + name + ":" + key + "' not found or not running")
}

func (r *Runner) running(session, name, key string) (wire.Terminal, bool) {
	list := r.listTerminals(session)
	at := slices.IndexFunc(list, func(t wire.Terminal) bool { return t.Name == name && t.Key == key && t.Running })
	if at < 0 {
		return wire.Terminal{}, false
	}
	return list[at], true
}

func (r *Runner) toolLaunch(ctx context.Context, use core.UseTerminal, args toolArgs, name, key string) (any, error) {
	declared, ok := use.Agent.Spec.Terminal(name)
	if !ok {
		return nil, errors.New("unknown terminal '" + name + "'; declared: " + names(use.Agent.Spec))
	}
	want := creation{Terminal: name, Key: key}
	if want.Cwd, ok = stringOrNull(args["cwd"]); !ok {
		return nil, errors.New("'cwd' must be a text")
	}
	if want.Sandbox, ok = stringOrNull(args["sandbox"]); !ok {
		return nil, errors.New("'sandbox' must be a text")
	}
	if err := checkNames(name, key); err != nil {
		return nil, err
	}
	spec, err := r.build(use.Session, use.Agent, declared, want)
	if err != nil {
		return nil, err
	}
	status := "launched"
	if _, running := r.running(use.Session, name, key); running {
		status = "already_running"
	}
	ctx, cancel := context.WithTimeout(ctx, launchTimeout)
	defer cancel()
	made, err := r.terminals.launch(ctx, spec, byAgent)
	if err != nil {
		return nil, errors.New("launch failed: " + err.Error())
	}
	return struct {
		Terminal string `json:"terminal"`
		Session  string `json:"session"`
		Socket   string `json:"tmux_socket"`
		OSEnv    bool   `json:"has_os_env"`
		Status   string `json:"status"`
	}{name, key, made.Socket, true, status}, nil
}

func (r *Runner) toolSend(ctx context.Context, term wire.Terminal, args toolArgs) (any, error) {
	text, ok := stringOrNull(args["text"])
	switch {
	case !ok:
		return nil, errors.New("'text' must be a string if provided")
	case len(text) > maxTyped:
		return nil, errors.New("'text' is over 1 MiB; write a file instead")
	}
	pressed := "Enter"
	if raw, given := args["keys"]; given && json.Unmarshal(raw, &pressed) != nil || string(args["keys"]) == "null" {
		return nil, errors.New("'keys' must be a string if provided")
	}
	keys := strings.Fields(pressed)
	if len(keys) > maxKeys {
		return nil, errors.New("'keys' has more than 256 keys")
	}
	for _, key := range keys {
		// A word with a dash would be an option of the program that presses them.
		if len(key) > 1 && key[0] == '-' || len(key) > 64 || strings.ContainsFunc(key, unicode.IsControl) {
			return nil, errors.New("'keys' has a word that is no key: " + key + "; give text as 'text'")
		}
	}
	if err := r.terminals.port.Type(ctx, term.Session, term.ID(), text, keys); err != nil {
		return nil, useError("send", term, err)
	}
	return map[string]string{"status": "sent"}, nil
}

func (r *Runner) toolRead(ctx context.Context, term wire.Terminal, args toolArgs) (any, error) {
	history := 0
	if raw, given := args["scrollback"]; given && (json.Unmarshal(raw, &history) != nil || history < 0 || string(raw) == "null") {
		return nil, errors.New("'scrollback' must be a non-negative integer")
	}
	screen, err := r.terminals.port.Screen(ctx, term.Session, term.ID(), min(history, maxHistory))
	if err != nil {
		return nil, useError("read", term, err)
	}
	cut := tail(screen, maxScreen)
	return struct {
		Terminal   string `json:"terminal"`
		Screen     string `json:"screen"`
		Scrollback int    `json:"scrollback_lines"`
		Truncated  bool   `json:"truncated,omitempty"`
	}{term.Name + ":" + term.Key, cut, history, len(cut) < len(screen)}, nil
}

func (r *Runner) toolClose(ctx context.Context, term wire.Terminal, found bool, name, key string) (any, error) {
	status := "not_found"
	if found {
		err := r.terminals.close(ctx, term)
		switch {
		case errors.Is(err, wire.ErrNotFound):
		case err != nil:
			return nil, useError("close", term, err)
		default:
			status = "closed"
			r.terminals.tell(deletedEvent(term))
		}
	}
	return struct {
		Terminal string `json:"terminal"`
		Session  string `json:"session"`
		Status   string `json:"status"`
	}{name, key, status}, nil
}

// listed is a terminal as the tools list it.
type listed struct {
	Terminal string `json:"terminal"`
	Session  string `json:"session"`
	Command  string `json:"command"`
	Running  bool   `json:"running"`
	OSEnv    bool   `json:"has_os_env"`
	Socket   string `json:"tmux_socket"`
}

func (r *Runner) toolList(session string, agent core.Agent) []listed {
	list := []listed{}
	for _, t := range r.listTerminals(session) {
		l := listed{Terminal: t.Name, Session: t.Key, Running: t.Running, OSEnv: true, Socket: t.Socket}
		if d, ok := agent.Spec.Terminal(t.Name); ok {
			if l.Command = d.Command; l.Command == "" {
				l.Command = r.cfg.Shell
			}
		}
		list = append(list, l)
	}
	return list
}

func useError(what string, term wire.Terminal, err error) error {
	if errors.Is(err, wire.ErrNotFound) {
		return notRunning(term.Name, term.Key)
	}
	return errors.New(what + " failed: " + err.Error())
}

// tail is the end of a text, of whole characters.
func tail(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
