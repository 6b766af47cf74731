package agentspec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"

	"github.com/outrunner/outrunner/runner/wire"
)

const (
	agentsFolder = "agents"
	// maxDepth bounds how deep sub-agents nest; real trees have two levels.
	maxDepth = 16
)

// Load reads an extracted bundle. The root agent is config.yaml, or the one
// YAML file at the top; each folder in agents/ with a config.yaml is a
// sub-agent, and may have an agents/ of its own. A sub-agent without a name has
// its folder's; names are unique in the tree below the root. Spec.Dir is the
// agent's own folder in dir.
func Load(dir string) (*wire.Spec, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening an agent's folder: %w", err)
	}
	defer func() { _ = root.Close() }() // opened for reading only: nothing to lose
	t := tree{files: root.FS(), dir: dir, seen: map[string]string{}}
	name, err := t.rootFile()
	if err != nil {
		return nil, err
	}
	return t.agent(".", name, "", 0)
}

type tree struct {
	files fs.FS
	dir   string
	seen  map[string]string // name of a sub-agent -> its file
}

func (t *tree) rootFile() (string, error) {
	if _, err := fs.Stat(t.files, configName); err == nil {
		return configName, nil
	}
	var found []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		names, err := fs.Glob(t.files, pattern)
		if err != nil {
			return "", fmt.Errorf("looking for the agent file: %w", err)
		}
		found = append(found, names...)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", rejected("the bundle has no %s", configName)
	}
	return "", rejected("the bundle has no %s and several other YAML files: which is the agent?", configName)
}

// agent reads the agent in folder at, and what nests below it.
func (t *tree) agent(at, config, fallback string, depth int) (*wire.Spec, error) {
	if depth > maxDepth {
		return nil, rejected("%s: sub-agents nest deeper than %d levels", at, maxDepth)
	}
	where := path.Join(at, config)
	text, err := fs.ReadFile(t.files, where)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", where, err)
	}
	spec, err := parse(text, where, fallback)
	if err != nil {
		return nil, err
	}
	if depth > 0 {
		if other, taken := t.seen[spec.Name]; taken {
			return nil, rejected("%s and %s have the same name, %q", other, where, spec.Name)
		}
		t.seen[spec.Name] = where
	}
	spec.Dir = filepath.Join(t.dir, filepath.FromSlash(at))
	if spec.Skills, err = t.skills(at); err != nil {
		return nil, err
	}
	spec.Agents, err = t.below(path.Join(at, agentsFolder), depth+1)
	return spec, err
}

func (t *tree) below(at string, depth int) ([]*wire.Spec, error) {
	entries, err := fs.ReadDir(t.files, at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", at, err)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	var agents []*wire.Spec
	for _, e := range entries {
		folder := path.Join(at, e.Name())
		if !e.IsDir() {
			continue
		}
		if _, err := fs.Stat(t.files, path.Join(folder, configName)); errors.Is(err, fs.ErrNotExist) {
			continue // a folder of something else
		}
		spec, err := t.agent(folder, configName, e.Name(), depth)
		if err != nil {
			return nil, err
		}
		agents = append(agents, spec)
	}
	return agents, nil
}
