package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the top of the tree, from here.
const root = "../.."

// rule is one rule of the table.
type rule struct {
	name, file     string
	lines, neutral []string
}

// rules reads the tables.
func rules(t *testing.T) []rule {
	t.Helper()
	files, err := filepath.Glob("rules/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var all []rule
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, block := range strings.Split(string(raw), "\n\n") {
			lines := strings.Split(strings.Trim(block, "\n"), "\n")
			if len(lines) < 2 || strings.HasPrefix(lines[1], "# ") {
				continue // words on the table
			}
			r := rule{name: strings.TrimPrefix(lines[0], "# "), file: lines[1]}
			for _, line := range lines[2:] {
				switch line[0] {
				case '-':
					r.lines = append(r.lines, strings.TrimSpace(line[1:]))
				case '+':
					r.neutral = append(r.neutral, line[1:])
				default:
					require.Failf(t, "neither - nor +", "%s: %q", r.name, line)
				}
			}
			require.NotEmpty(t, r.lines, r.name)
			require.NotEmpty(t, r.neutral, r.name)
			all = append(all, r)
		}
	}
	return all
}

// without returns the file of a rule with its neutral form in its place. The
// last line of the rule may be the beginning of one.
func (r rule) without(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, r.file))
	require.NoError(t, err)
	source := strings.Split(string(raw), "\n")
	found := r.find(t, source)
	end := found + len(r.lines)
	tail := strings.TrimSpace(source[end-1])[len(r.lines[len(r.lines)-1]):]
	text := append([]string{}, source[:found]...)
	text = append(text, r.neutral...)
	text[len(text)-1] += tail
	return strings.Join(append(text, source[end:]...), "\n")
}

// find returns the line at which the rule stands.
func (r rule) find(t *testing.T, source []string) int {
	t.Helper()
	found := -1
	for n := range source {
		if r.at(source[n:]) {
			require.Negative(t, found, "%s: %s has its lines twice", r.name, r.file)
			found = n
		}
	}
	require.GreaterOrEqual(t, found, 0, "%s: its lines are not in %s any more", r.name, r.file)
	return found
}

func (r rule) at(source []string) bool {
	if len(source) < len(r.lines) {
		return false
	}
	for n, line := range r.lines {
		got := strings.TrimSpace(source[n])
		if got != line && (n < len(r.lines)-1 || len(r.lines) == 1 || !strings.HasPrefix(got, line)) {
			return false
		}
	}
	return true
}

func TestEveryRuleIsThere(t *testing.T) {
	named := map[string]bool{}
	all := rules(t)
	require.Greater(t, len(all), 40)
	for _, r := range all {
		require.False(t, named[r.name], "%q is there twice", r.name)
		named[r.name] = true
		before, err := os.ReadFile(filepath.Join(root, r.file))
		require.NoError(t, err)
		require.NotEqual(t, string(before), r.without(t), r.name)
	}
}
