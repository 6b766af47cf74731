package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"github.com/outrunner/outrunner/internal/agentspec"
	"github.com/outrunner/outrunner/internal/server/store"
	"github.com/outrunner/outrunner/runner/wire"
)

// shellAgent is there without any file: it runs each message with a shell.
const shellAgent = `name: shell
prompt: Each message is run as a command in the workspace.
executor:
  harness: acp:shell
`

// maxAgentFile bounds an agent file, in bytes.
const maxAgentFile = 1 << 20

// The sources of an agent.
const (
	sourceBuiltin = "builtin"
	sourceFile    = "file"
	sourceUpload  = "upload"
)

// agent is an agent that sessions can have now.
type agent struct {
	store.Agent
	spec *wire.Spec
}

// revision names the agent's content for runners: when it changes, they read
// the bundle again.
func (a *agent) revision() string { return a.ID + "/" + a.Digest }

// catalog reads the agents that the server offers: the built-in one and one
// per YAML file. It looks at the files at each call, so an edit counts at once.
type catalog struct {
	dir string
	log *slog.Logger

	mu        sync.Mutex
	complaint map[string]string // per file, so that it is logged once
}

// scan reads the built-in agent and the files. A broken file is logged and left
// out.
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
		if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" {
			continue
		}
		a, err := readAgent(name)
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

func readAgent(name string) (*agent, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
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

func parseAgent(text []byte, source string) (*agent, error) {
	spec, err := agentspec.Parse(text)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	a := &agent{spec: spec, Agent: store.Agent{
		Owner: ownerLocal, Name: spec.Name, Source: source,
		Digest: hex.EncodeToString(sum[:]), Content: text,
	}}
	switch source {
	case sourceUpload:
		a.ID = shortHash("uploaded:" + ownerLocal + "\x00" + spec.Name + "\x00" + a.Digest)
	default:
		a.ID = shortHash("builtin:" + spec.Name)
	}
	return a, nil
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

// agents lists what the server offers, each with its version.
func (s *Server) agents(ctx context.Context) ([]*agent, error) {
	list := s.catalog.scan()
	for _, a := range list {
		if err := s.version(ctx, a); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// agent finds the agent of a session as it is now: one that the server offers,
// or an uploaded one. An agent whose file is gone is a 410.
func (s *Server) agent(ctx context.Context, id string) (*agent, error) {
	for _, a := range s.catalog.scan() {
		if a.ID == id {
			return a, s.version(ctx, a)
		}
	}
	row, err := s.db.Read().Agent(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, refuse(404, "not_found", "There is no agent with the id %q.", clip(id, 64))
	}
	if err != nil {
		return nil, err
	}
	if row.Source != sourceUpload {
		return nil, refuse(410, "session_agent_missing",
			"The agent %q is not offered any more: its file is gone from %s, or is broken (the server's log says how).", row.Name, s.catalog.dir)
	}
	spec, err := agentspec.Parse(row.Content)
	if err != nil {
		return nil, refuse(410, "session_agent_missing", "The agent %q can not be read: %v.", row.Name, err)
	}
	return &agent{Agent: row, spec: spec}, nil
}

// version notes the content that the server has now, and gives the agent its
// version and times.
func (s *Server) version(ctx context.Context, a *agent) error {
	row, err := s.db.Read().Agent(ctx, a.ID)
	if err == nil && row.Digest == a.Digest {
		a.Agent = row
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return s.db.Write(ctx, func(tx *store.Tx) error { return tx.SawAgent(ctx, &a.Agent) })
}

// shortHash is the wire's way to make an id from a name: 32 hex digits.
func shortHash(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])[:32]
}

// makeAgentsDir makes the folder for agent files, so that a user finds it.
func makeAgentsDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the folder for agents: %w", err)
	}
	return nil
}
