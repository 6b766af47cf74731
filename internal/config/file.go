package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// maxFile bounds the configuration file.
const maxFile = 1 << 20

// File is the configuration file. Every key is optional; keys that a flag has
// too are the flag's default.
type File struct {
	Server    string `yaml:"server"`     // base URL of the server
	Listen    string `yaml:"listen"`     // host:port
	Workspace string `yaml:"workspace"`  // folder; relative to the file, ~ is the home folder
	State     string `yaml:"state"`      // folder; likewise
	IdleExit  string `yaml:"idle_exit"`  // like 1h: a runner ends that has had no work for so long
	LogLevel  string `yaml:"log_level"`  // debug, info, warn, error
	LogFormat string `yaml:"log_format"` // text, json

	// PublicHosts are further names under which the server may be reached.
	PublicHosts []string `yaml:"public_hosts"`
	// PassEnv names variables that every harness gets from the runner's own
	// environment. Without it they get a short fixed list.
	PassEnv []string `yaml:"pass_env"`
	// Harnesses maps a harness id to the program that stands behind it.
	Harnesses map[string]Harness `yaml:"harnesses"`
}

// Harness says how one harness id is run.
type Harness struct {
	Adapter string            `yaml:"adapter"`  // exec, stdio or acp
	Command []string          `yaml:"command"`  // program and arguments; {message} stands for the message
	Env     map[string]string `yaml:"env"`      // set for the program
	PassEnv []string          `yaml:"pass_env"` // passed on from the runner's environment
	// IdleTimeout ends a turn that has been silent for so long; 0 = default.
	IdleTimeout Duration `yaml:"idle_timeout"`
	// TurnTimeout ends a turn that has run for so long; 0 = default.
	TurnTimeout Duration `yaml:"turn_timeout"`
	// MaxOutput ends a turn that has written more; 0 = default.
	MaxOutput Size `yaml:"max_output"`
	// IdleReap ends a program that is kept between turns when it has had none
	// for so long; 0 = default.
	IdleReap Duration `yaml:"idle_reap"`
	// Steer: the program takes messages during a turn (adapter stdio).
	Steer bool `yaml:"steer"`

	// The rest is for the adapter acp, and as Omnigent has it under acp.agents.

	// Model is the agent's model when the session names none.
	Model string `yaml:"model"`
	// SessionIDMode tells who makes a session's id: SessionIDServer, the agent,
	// which is the default, or SessionIDClient, the runner.
	SessionIDMode string `yaml:"session_id_mode"`
	// SendModel has session/new name the model.
	SendModel bool `yaml:"send_model"`
	// OmnigentMCP lends the runner's tools to the agent; nil is true.
	OmnigentMCP *bool `yaml:"omnigent_mcp"`
	// InjectSystemPrompt tells the agent the instructions of its definition; nil
	// is true.
	InjectSystemPrompt *bool `yaml:"inject_system_prompt"`
	// EnvPassthrough is another word for PassEnv.
	EnvPassthrough []string `yaml:"env_passthrough"`
}

// The values of Harness.SessionIDMode.
const (
	SessionIDServer = "server"
	SessionIDClient = "client"
)

// ReadFile reads a configuration file. A missing file is an error that wraps
// fs.ErrNotExist. Paths in it come back absolute.
func ReadFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the config file: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the config file %s: %w", path, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("config file %s is larger than %d bytes", path, maxFile)
	}
	file, err := parse(text, path)
	if err != nil {
		return nil, err
	}
	base := filepath.Dir(path)
	for _, p := range []*string{&file.Workspace, &file.State} {
		if *p == "" {
			continue
		}
		expanded, err := Expand(*p)
		if err != nil {
			return nil, fmt.Errorf("config file %s: %w", path, err)
		}
		if !filepath.IsAbs(expanded) {
			expanded = filepath.Join(base, expanded)
		}
		if *p, err = filepath.Abs(expanded); err != nil {
			return nil, fmt.Errorf("config file %s: %w", path, err)
		}
	}
	return file, nil
}

func parse(text []byte, path string) (*File, error) {
	file := &File{}
	err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(file)
	if err != nil && !errors.Is(err, io.EOF) { // an empty file says nothing, and that is fine
		return nil, located(path, err)
	}
	for id, h := range file.Harnesses {
		if err := h.check(); err != nil {
			return nil, fmt.Errorf("config file %s: harnesses: %q: %w", path, id, err)
		}
	}
	return file, nil
}

// check finds what no adapter could run; whether an adapter exists is for the
// harness manager to say.
func (h Harness) check() error {
	switch {
	case h.Adapter == "":
		return errors.New("adapter is missing; write adapter: exec to run a command, adapter: stdio to talk with a program, or adapter: acp to drive an agent of the Agent Client Protocol")
	case len(h.Command) == 0 || h.Command[0] == "":
		return errors.New(`command is missing; write it as a list, like ["bash", "-c", "{message}"]`)
	case h.IdleTimeout < 0 || h.TurnTimeout < 0 || h.IdleReap < 0:
		return errors.New("a timeout is negative")
	case h.Adapter != adapterACP && h.forAgents():
		return errors.New("model, session_id_mode, send_model, omnigent_mcp and inject_system_prompt are for adapter: acp")
	case h.SessionIDMode != "" && h.SessionIDMode != SessionIDServer && h.SessionIDMode != SessionIDClient:
		return fmt.Errorf("session_id_mode is %q; write %s or %s", h.SessionIDMode, SessionIDServer, SessionIDClient)
	}
	return nil
}

// forAgents tells whether keys are set that only agents have.
func (h Harness) forAgents() bool {
	return h.Model != "" || h.SessionIDMode != "" || h.SendModel || h.OmnigentMCP != nil || h.InjectSystemPrompt != nil
}

// located is a parser's complaint in one line, with the place.
func located(path string, err error) error {
	var value *valueError
	if errors.As(err, &value) {
		return fmt.Errorf("config file %s, line %d: %w", path, value.line, value.err)
	}
	var y yaml.Error
	if errors.As(err, &y) {
		if t := y.GetToken(); t != nil && t.Position != nil {
			return fmt.Errorf("config file %s, line %d: %s", path, t.Position.Line, y.GetMessage())
		}
		return fmt.Errorf("config file %s: %s", path, y.GetMessage())
	}
	return fmt.Errorf("config file %s: %w", path, err)
}

// Expand replaces a leading ~ by the home folder.
func Expand(path string) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") && !strings.HasPrefix(path, "~"+string(filepath.Separator)) {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the home folder for %s: %w", path, err)
	}
	return filepath.Join(home, path[1:]), nil
}
