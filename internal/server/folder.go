package server

import (
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"os"
	"time"

	"github.com/outrunner/outrunner/internal/agentspec"
)

// maxAgentBytes bounds the unpacked content of an agent's folder.
const maxAgentBytes = 64 << 20

// settledAfter is how old the newest change of a folder must be before what was
// read of it is believed to be all: a file system may give two changes in a row
// the same time.
const settledAfter = 2 * time.Second

// folder is what was read of an agent's folder: the files may be many, and the
// catalog is read for each message.
type folder struct {
	seen  uint64 // the fingerprint of what was read
	agent *agent
}

// readFolder reads an agent from a folder: config.yaml, and one folder for each
// sub-agent in agents/ (server.md 5). It is read again when a name, a size, a
// mode or a time in it has changed.
func (c *catalog) readFolder(dir string) (*agent, error) {
	seen, newest, err := fingerprint(dir)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	was, ok := c.folders[dir]
	c.mu.Unlock()
	if ok && was.seen == seen {
		known := *was.agent // its version is the caller's to fill in
		return &known, nil
	}
	a, err := loadFolder(dir, sourceFolder)
	if err != nil {
		return nil, err
	}
	if time.Since(newest) < settledAfter {
		return a, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.folders == nil {
		c.folders = make(map[string]folder)
	}
	known := *a
	c.folders[dir] = folder{seen: seen, agent: &known}
	return a, nil
}

// loadFolder reads an agent and its sub-agents.
func loadFolder(dir, source string) (*agent, error) {
	spec, err := agentspec.Load(dir)
	if err != nil {
		return nil, err
	}
	digest, err := agentspec.Digest(dir, maxAgentBytes)
	if err != nil {
		return nil, err
	}
	return newAgent(spec, digest, source, func() ([]byte, error) { return agentspec.Pack(dir, maxAgentBytes) }), nil
}

// fingerprint sums up what a look at a folder shows without opening its files,
// and tells its newest change.
func fingerprint(dir string) (sum uint64, newest time.Time, err error) {
	hash := fnv.New64a()
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		line := binary.AppendUvarint([]byte(name), 0)
		line = binary.AppendVarint(line, info.Size())
		line = binary.AppendVarint(line, info.ModTime().UnixNano())
		line = binary.AppendUvarint(line, uint64(info.Mode()))
		_, err = hash.Write(line)
		return err
	})
	return hash.Sum64(), newest, err
}
