package agentspec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/outrunner/outrunner/runner/wire"
)

const (
	skillsFolder = "skills"
	skillFile    = "SKILL.md"
	// maxSkill bounds the text of one skill, in bytes, and maxSkills how many an
	// agent has.
	maxSkill  = 256 << 10
	maxSkills = 256
)

// skills reads the skills of the agent in folder at: each folder in skills/ with
// a SKILL.md, whose head may name it and say what it is for. One that cannot be
// used is left out: the agent works without it.
func (t *tree) skills(at string) ([]wire.Skill, error) {
	folder := path.Join(at, skillsFolder)
	entries, err := fs.ReadDir(t.files, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", folder, err)
	}
	var list []wire.Skill
	taken := map[string]bool{}
	for _, e := range entries {
		where := path.Join(folder, e.Name())
		skill, ok := t.skill(where)
		if skill.Name == "" {
			skill.Name = e.Name()
		}
		if !e.IsDir() || !ok || taken[skill.Name] || checkName(skill.Name) != nil || len(list) == maxSkills {
			continue
		}
		taken[skill.Name] = true
		skill.Dir = filepath.Join(t.dir, filepath.FromSlash(where))
		list = append(list, skill)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list, nil
}

func (t *tree) skill(where string) (wire.Skill, bool) {
	f, err := t.files.Open(path.Join(where, skillFile))
	if err != nil {
		return wire.Skill{}, false
	}
	defer func() { _ = f.Close() }() // opened for reading only: nothing to lose
	text, err := io.ReadAll(io.LimitReader(f, maxSkill+1))
	if err != nil || len(text) > maxSkill || !utf8.Valid(text) {
		return wire.Skill{}, false
	}
	var head struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	front, body := frontMatter(text)
	if yaml.Unmarshal(front, &head) != nil {
		return wire.Skill{}, false
	}
	return wire.Skill{Name: head.Name, Description: head.Description, Text: strings.TrimSpace(string(body))}, true
}

// frontMatter cuts the YAML between two lines of dashes off the top of a text.
func frontMatter(text []byte) (front, body []byte) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	if !ok {
		return nil, text
	}
	if front, body, ok = bytes.Cut(rest, []byte("\n---\n")); ok {
		return front, body
	}
	return nil, text
}
