package agentspec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"

	"github.com/outrunner/outrunner/runner/wire"
)

const (
	// maxTerminals bounds what one agent may declare.
	maxTerminals = 64
	// maxScrollback bounds a terminal's history, in lines.
	maxScrollback = 1_000_000
)

// terminals reads the block of an agent file that declares terminals:
//
//	terminals:
//	  shell:                       # the user's shell, in the workspace
//	    allow_cwd_override: true
//	  logs:
//	    command: tail
//	    args: [-f, app.log]
//	    os_env: {cwd: logs}
//
// It is stricter than the rest of the file: a key that we do not know is an
// error, because a terminal that is less restricted than its author wrote is
// worse than none. Keys that are known and mean nothing here are taken.
func terminals(block yaml.MapSlice) ([]wire.Declared, error) {
	if len(block) > maxTerminals {
		return nil, fmt.Errorf("terminals: more than %d are declared", maxTerminals)
	}
	var list []wire.Declared
	for _, entry := range block {
		name, ok := entry.Key.(string)
		if !ok {
			return nil, fmt.Errorf("terminals: the name %v is no text: put it in quotes", entry.Key)
		}
		if err := checkTerminalName(name); err != nil {
			return nil, fmt.Errorf("terminals: the name %q %w", name, err)
		}
		d, err := declared(name, entry.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// checkTerminalName: it is shown in tabs and is part of ids, but never of a
// path or a command line.
func checkTerminalName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("is empty")
	case len(name) > maxName:
		return fmt.Errorf("is longer than %d bytes", maxName)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("contains a character that cannot be printed")
	}
	return nil
}

// declared reads one terminal; a text alone is its command.
func declared(name string, value any) (wire.Declared, error) {
	where := "terminals." + name
	if command, ok := value.(string); ok {
		value = map[string]any{"command": command}
	}
	f, err := newFields(where, value)
	if err != nil {
		return wire.Declared{}, err
	}
	d := wire.Declared{
		Name: name, Command: f.text("command"), Args: f.texts("args"), Env: f.env("env"),
		AllowCwd: f.flag("allow_cwd_override"), AllowSandbox: f.flag("allow_sandbox_override"),
		Scrollback:  f.number("scrollback", maxScrollback),
		Passthrough: f.flag("tmux_allow_passthrough"), StartOnAttach: f.flag("tmux_start_on_attach"),
	}
	// Of a program's own log and of names that nobody sees here.
	f.skip("log_file", "session_prefix")
	if env := f.take("os_env"); env != "inherit" {
		if d.OSEnv, err = osEnv(where+".os_env", env); err != nil {
			return wire.Declared{}, err
		}
	}
	return d, f.done()
}

// osEnv reads where an agent or a terminal runs; a text alone is its type.
func osEnv(where string, value any) (*wire.OSEnv, error) {
	if value == nil {
		return nil, nil
	}
	if kind, ok := value.(string); ok {
		value = map[string]any{"type": kind}
	}
	f, err := newFields(where, value)
	if err != nil {
		return nil, err
	}
	env := &wire.OSEnv{Cwd: f.text("cwd")}
	if kind := f.text("type"); kind != "" && kind != "caller_process" {
		return nil, fmt.Errorf("%s.type: there is no %q here; leave it out, or write caller_process", where, kind)
	}
	// They ask for a copy of the workspace, which a sandbox would make.
	if f.flag("fork") || f.flag("start_in_scratch") {
		env.Sandbox, env.Pinned = "copy", true
	}
	kind, pinned, err := sandbox(where+".sandbox", f.take("sandbox"))
	if err != nil {
		return nil, err
	}
	if kind != "" && env.Sandbox == "" {
		env.Sandbox, env.Pinned = kind, pinned
	}
	return env, f.done()
}

// sandbox reads the kind of a sandbox, and whether it is more than a kind. What
// else it says is only for those who have one.
func sandbox(where string, value any) (kind string, pinned bool, err error) {
	switch v := value.(type) {
	case nil:
		return "", false, nil
	case bool:
		if v {
			return "", false, fmt.Errorf("%s: true is no kind of sandbox", where)
		}
		return wire.NoSandbox, false, nil
	case string:
		return v, false, nil
	case map[string]any:
		kind, ok := v["type"].(string)
		if !ok && v["type"] != nil {
			return "", false, fmt.Errorf("%s.type must be a text", where)
		}
		if kind == "" {
			kind = "auto" // its author wants one, of whatever kind
		}
		for _, key := range []string{"egress_rules", "git_ssh", "credential_proxy"} {
			pinned = pinned || !empty(v[key])
		}
		paths, _ := v["write_paths"].([]any)
		pinned = pinned || slices.ContainsFunc(paths, func(p any) bool { _, plain := p.(string); return !plain })
		return kind, pinned, nil
	}
	return "", false, fmt.Errorf("%s must be a mapping, a text or false", where)
}

func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
