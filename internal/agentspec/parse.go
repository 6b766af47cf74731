package agentspec

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/outrunner/outrunner/runner/wire"
)

const (
	// maxYAML bounds one agent file. Real ones are a few KiB; the parser's
	// memory is many times the text.
	maxYAML = 1 << 20
	// maxName bounds an agent's name, in bytes.
	maxName = 128
	// defaultHarness is what a file means that names neither a harness nor a
	// type.
	defaultHarness = "omnigent"
)

// file is what we read of an agent file; keys that only other programs
// understand are allowed.
type file struct {
	Name     string   `yaml:"name"`
	Prompt   string   `yaml:"prompt"`
	Executor executor `yaml:"executor"`
	Spawn    bool     `yaml:"spawn"`

	OSEnv     any           `yaml:"os_env"`
	Terminals yaml.MapSlice `yaml:"terminals"`
}

type executor struct {
	Type    string `yaml:"type"`
	Harness string `yaml:"harness"`
	Model   string `yaml:"model"`
	Effort  string `yaml:"reasoning_effort"`
	Config  struct {
		Harness string `yaml:"harness"`
	} `yaml:"config"`
}

// Parse reads one agent file. Both forms are accepted:
//
//	spec_version: 1                        name: helper
//	name: helper                           prompt: You help.
//	prompt: You help.                      executor:
//	executor:                                harness: claude-sdk
//	  type: omnigent                         model: m1
//	  model: m1
//	  config: {harness: claude-sdk}
//
// The harness is executor.config.harness, else executor.harness, else
// executor.type, else "omnigent", as written: compare it with wire.Canon. A
// file has a name; everything else may be absent. os_env and terminals are
// read in terminals.go. Errors wrap wire.ErrRejected.
func Parse(text []byte) (*wire.Spec, error) {
	return parse(text, "the agent file", "")
}

// parse names the file as where in errors; fallback is the name of an agent
// whose file has none.
func parse(text []byte, where, fallback string) (*wire.Spec, error) {
	if len(text) > maxYAML {
		return nil, rejected("%s is larger than %d bytes", where, maxYAML)
	}
	if !utf8.Valid(text) {
		return nil, rejected("%s is not UTF-8 text", where)
	}
	var f file
	if err := yaml.Unmarshal(text, &f); err != nil {
		return nil, rejected("%s is not a valid agent: %s", where, oneLine(err))
	}
	if f.Name == "" {
		f.Name = fallback
	}
	if err := checkName(f.Name); err != nil {
		return nil, rejected("%s: name %q %w", where, f.Name, err)
	}
	env, err := osEnv("os_env", f.OSEnv)
	if err != nil {
		return nil, rejected("%s: %w", where, err)
	}
	declared, err := terminals(f.Terminals)
	if err != nil {
		return nil, rejected("%s: %w", where, err)
	}
	return &wire.Spec{
		Name:      f.Name,
		Prompt:    f.Prompt,
		Model:     f.Executor.Model,
		Effort:    f.Executor.Effort,
		Spawn:     f.Spawn,
		OSEnv:     env,
		Terminals: declared,
		Harness:   first(f.Executor.Config.Harness, f.Executor.Harness, f.Executor.Type, defaultHarness),
	}, nil
}

// checkName keeps names printable in one line and usable in "agent:session"
// titles and as one part of a path, which is where they end up.
func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("is empty: give the agent a name")
	case len(name) > maxName:
		return fmt.Errorf("is longer than %d bytes", maxName)
	case name != strings.TrimSpace(name):
		return errors.New("starts or ends with a space")
	case strings.ContainsAny(name, `/\:`):
		return errors.New("contains a slash, a backslash or a colon")
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("contains a character that cannot be printed")
	}
	return nil
}

// oneLine is a parser's complaint without the excerpt of the source that it
// draws below it.
func oneLine(err error) string {
	var located yaml.Error
	if !errors.As(err, &located) {
		return err.Error()
	}
	if t := located.GetToken(); t != nil && t.Position != nil {
		return fmt.Sprintf("line %d: %s", t.Position.Line, located.GetMessage())
	}
	return located.GetMessage()
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
