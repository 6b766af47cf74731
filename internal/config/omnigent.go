package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// adapterACP is the adapter of all agents in a file of Omnigent.
const adapterACP = "acp"

// OmnigentFile is where Omnigent keeps its configuration, "" when the environment
// does not tell.
func OmnigentFile(lookup func(string) (string, bool)) string {
	if dir, _ := lookup("OMNIGENT_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "config.yaml")
	}
	home := "HOME"
	if runtime.GOOS == "windows" {
		home = "USERPROFILE"
	}
	if dir, _ := lookup(home); dir != "" {
		return filepath.Join(dir, ".omnigent", "config.yaml")
	}
	return ""
}

// OmnigentAgents reads the agents under acp.agents in a configuration of
// Omnigent, by the harness ids that they have there (harness.md 1). The file is
// somebody else's: what is not known is skipped, and so is an entry that makes no
// sense, which the error tells; the others are returned all the same. A file that
// is not there has no agents.
func OmnigentAgents(path string) (map[string]Harness, error) {
	text, err := readBounded(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the agents of Omnigent: %w", err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, located(path, err)
	}
	section, isMap := file["acp"].(map[string]any)
	list, isList := section["agents"].([]any)
	switch {
	case file["acp"] == nil || isMap && section["agents"] == nil:
		return nil, nil
	case !isList:
		return nil, fmt.Errorf("config file %s: acp.agents is not a list", path)
	}
	agents := make(map[string]Harness, len(list))
	seen := make(map[string]int)
	var wrong []error
	for i, entry := range list {
		fields, _ := entry.(map[string]any)
		id, agent, err := omnigentAgent(fields, seen)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("config file %s: acp.agents[%d]: %w", path, i, err))
			continue
		}
		if _, taken := agents[id]; !taken {
			agents[id] = agent
		}
	}
	return agents, errors.Join(wrong...)
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return text, err
}

// omnigentAgent reads one entry. An entry that Omnigent itself would not count
// does not count among those of its name.
func omnigentAgent(fields map[string]any, seen map[string]int) (id string, agent Harness, err error) {
	name, command := textIn(fields, "name"), textIn(fields, "command")
	switch {
	case fields == nil:
		return "", agent, errors.New("it is not a mapping")
	case name == "":
		return "", agent, errors.New("name is missing")
	case command == "":
		return "", agent, errors.New("command is missing; it is one line of text")
	}
	id = "acp:" + slug(name, seen)
	agent = Harness{Adapter: adapterACP, Model: textIn(fields, "model")}
	if agent.Command, err = words(command); err != nil {
		return "", agent, fmt.Errorf("command: %w", err)
	}
	if textIn(fields, "session_id_mode") == SessionIDClient {
		agent.SessionIDMode = SessionIDClient
	}
	agent.SendModel = truthy(fields["send_model"])
	for key, to := range map[string]**bool{"omnigent_mcp": &agent.OmnigentMCP, "inject_system_prompt": &agent.InjectSystemPrompt} {
		value, ok := fields[key]
		if !ok {
			continue
		}
		flag, isBool := value.(bool)
		if !isBool {
			return "", agent, fmt.Errorf("%s is neither true nor false", key)
		}
		*to = &flag
	}
	agent.EnvPassthrough, err = namesIn(fields["env_passthrough"])
	return id, agent, err
}

func textIn(fields map[string]any, key string) string {
	text, _ := fields[key].(string)
	return strings.TrimSpace(text)
}

// truthy is how Python reads a value where it wants a flag.
func truthy(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case uint64:
		return v != 0
	case int64:
		return v != 0
	}
	return true
}

// namesIn are names of variables: a list, or one of them.
func namesIn(value any) (names []string, err error) {
	var items []any
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		items = []any{v}
	case []any:
		items = v
	default:
		return nil, errors.New("env_passthrough is not a list of names")
	}
	for _, item := range items {
		name, _ := item.(string)
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return nil, errors.New("env_passthrough has something that is not a name")
		case strings.Contains(name, "="):
			return nil, errors.New("env_passthrough has a value; it lists names, and the values come from the environment")
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return names, nil
}

// slug is a name as an id has it. The second of a name gets -2, and so on.
func slug(name string, seen map[string]int) string {
	id := strings.Join(strings.FieldsFunc(strings.ToLower(name), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	}), "-")
	if id == "" {
		id = "agent"
	}
	if seen[id]++; seen[id] > 1 {
		return fmt.Sprintf("%s-%d", id, seen[id])
	}
	return id
}
