package server

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
)

// shellAgent is there without any file: it runs each message with a shell, and
// has the user's shell as a terminal.
const shellAgent = `name: shell
prompt: Each message is run as a command in the workspace.
executor:
  harness: acp:shell
os_env: {type: caller_process, cwd: ., sandbox: {type: none}}
terminals:
  shell:
    allow_cwd_override: true
`

// maxAgentFile bounds an agent file, in bytes.
const maxAgentFile = 1 << 20

// The sources of an agent.
const (
	sourceBuiltin = "builtin"
	sourceFile    = "file"
	sourceFolder  = "folder"
	sourceUpload  = "upload"
)

// catalog reads the agents that the server offers: the built-in one, one per
// YAML file, and one per folder, which may have sub-agents (folder.go). It
// looks at the files at each call, so an edit counts at once.
type catalog struct {
	dir string
	log *slog.Logger

	mu        sync.Mutex
	complaint map[string]string // per file, so that it is logged once
	folders   map[string]folder // what was read of a folder, by its path
}

// scan reads the built-in agent, the files and the folders. What is broken is
// logged and left out.
func (c *catalog) scan() []*agent {
	byID := make(map[string]*agent)
	if a, err := parseAgent([]byte(shellAgent), sourceBuiltin); err == nil {
		byID[a.ID] = a
	}
	entries, err := os.ReadDir(c.dir) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	c.complain(c.dir, err)
	from := make(map[string]string)
	for _, entry := range entries {
		name := filepath.Join(c.dir, entry.Name())
		a, err := c.read(name)
		if err == nil && a == nil {
			continue
		}
		if err == nil && from[a.ID] != "" {
			err = fmt.Errorf("its name %q is already that of %s", a.Name, from[a.ID])
		}
		c.complain(name, err)
		if err != nil {
			continue
		}
		from[a.ID] = filepath.Base(name)
		byID[a.ID] = a // a file named "shell" takes the place of the built-in one
	}
	out := make([]*agent, 0, len(byID))
	for _, a := range byID {
		out = append(out, a)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// read reads one entry of the folder for agents; nil means that it is none.
func (c *catalog) read(name string) (*agent, error) {
	if strings.HasPrefix(filepath.Base(name), ".") {
		return nil, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return c.readFolder(name)
	}
	if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" {
		return nil, nil
	}
	if !info.Mode().IsRegular() || info.Size() > maxAgentFile {
		return nil, fmt.Errorf("it is not a file of at most %d bytes", maxAgentFile)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parseAgent(text, sourceFile)
}

// complain logs what is wrong with a file, once, and when it is mended.
func (c *catalog) complain(file string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.complaint == nil {
		c.complaint = make(map[string]string)
	}
	was := c.complaint[file]
	switch {
	case err == nil && was != "":
		delete(c.complaint, file)
		c.log.Info("agent file is usable now", "file", file)
	case err != nil && was != err.Error():
		c.complaint[file] = err.Error()
		c.log.Warn("agent file is not usable", "file", file, "error", err)
	}
}

// makeAgentsDir makes the folder for agent files, so that a user finds it.
func makeAgentsDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the folder for agents: %w", err)
	}
	return nil
}
