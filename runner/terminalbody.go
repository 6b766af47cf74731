package runner

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTerminalName bounds the name and the key of a terminal, in bytes.
const maxTerminalName = 256

// givenSpec is what a request says of a terminal that the agent does not declare
// (terminals.md 1.4 b): the server has let it pass.
type givenSpec struct {
	Kind          *string           `json:"os_env_type"`
	Cwd           *string           `json:"cwd"`
	Command       *string           `json:"command"`
	Args          []string          `json:"args"`
	Env           map[string]string `json:"env"`
	Scrollback    *int              `json:"scrollback"`
	Passthrough   bool              `json:"tmux_allow_passthrough"`
	StartOnAttach bool              `json:"tmux_start_on_attach"`
}

// readCreation reads and checks the body. The path that it may name to put
// something into (bridge_inject_dir) is not taken from it.
func readCreation(w http.ResponseWriter, req *http.Request) (creation, error) {
	var c creation
	body, err := readResource(w, req)
	if err != nil {
		return c, err
	}
	var ok bool
	for _, f := range []struct {
		key      string
		into     *string
		required bool
	}{
		{"terminal", &c.Terminal, true}, {"session_key", &c.Key, true}, {"cwd", &c.Cwd, false}, {"sandbox", &c.Sandbox, false},
	} {
		if *f.into, ok = stringOrNull(body[f.key]); !ok {
			return c, invalid("'" + f.key + "' must be a string")
		}
		if f.required && *f.into == "" {
			return c, invalid("'terminal' and 'session_key' are required")
		}
	}
	if err := checkNames(c.Terminal, c.Key); err != nil {
		return c, err
	}
	c.Ensure = truthy(body["ensure_native_terminal"])
	if raw := body["spec"]; truthy(raw) {
		c.Spec = &givenSpec{}
		if err := json.Unmarshal(raw, c.Spec); err != nil {
			return c, invalid("'spec' cannot be used: " + err.Error())
		}
	}
	return c, checkText("'cwd'", c.Cwd)
}

// checkNames: both are shown, and are parts of ids.
func checkNames(name, key string) error {
	for _, s := range []string{name, key} {
		switch {
		case len(s) > maxTerminalName:
			return invalid("'terminal' and 'session_key' are at most 256 bytes long")
		case strings.TrimSpace(s) == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
			return invalid("'terminal' and 'session_key' must be text in one line")
		}
	}
	return nil
}

func checkText(what, s string) error {
	if strings.Contains(s, "\x00") {
		return invalid(what + " has a NUL in it")
	}
	return nil
}

// truthy is what counts as true to the upstream runner.
func truthy(raw json.RawMessage) bool {
	switch strings.TrimSpace(string(raw)) {
	case "", "null", "false", `""`, "0", "0.0", "[]", "{}":
		return false
	}
	return true
}
