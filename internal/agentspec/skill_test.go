package agentspec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestSkills(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"config.yaml":                            "name: lead\n",
		"skills/zeta/SKILL.md":                   "Just do it.\n",
		"skills/alpha/SKILL.md":                  "---\r\nname: review\r\ndescription: Reviews.\r\n---\r\nReview $ARGUMENTS.\r\n",
		"skills/alpha/more.txt":                  "x",
		"skills/twin/SKILL.md":                   "---\nname: review\n---\nAnother one.",
		"skills/broken/SKILL.md":                 "---\nname: [\n---\nx",
		"skills/binary/SKILL.md":                 "\xff",
		"skills/huge/SKILL.md":                   strings.Repeat("x", maxSkill+1),
		"skills/empty/other.md":                  "x",
		"skills/loose.md":                        "x",
		"skills/open/SKILL.md":                   "---\nnot closed",
		"skills/nameless/SKILL.md":               "---\nname: \"a\\nb\"\n---\nx",
		"agents/worker/config.yaml":              "name: worker\n",
		"agents/worker/skills/own/SKILL.md":      "Mine.",
		"agents/worker/skills/own/deep/SKILL.md": "Not one.",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	spec, err := Load(dir)
	require.NoError(t, err)
	require.Equal(t, []wire.Skill{
		{Name: "open", Text: "---\nnot closed", Dir: filepath.Join(dir, "skills", "open")},
		{Name: "review", Description: "Reviews.", Text: "Review $ARGUMENTS.", Dir: filepath.Join(dir, "skills", "alpha")},
		{Name: "zeta", Text: "Just do it.", Dir: filepath.Join(dir, "skills", "zeta")},
	}, spec.Skills)
	require.Equal(t, []wire.Skill{{Name: "own", Text: "Mine.", Dir: filepath.Join(dir, "agents", "worker", "skills", "own")}}, spec.Agents[0].Skills)
}
