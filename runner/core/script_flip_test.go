package core

import (
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFlippedScriptsFail changes what each script expects, in one place, and
// requires that the script then fails: one that would pass all the same shows
// nothing. Which line is changed, and how, follows from the script's name.
func TestFlippedScriptsFail(t *testing.T) {
	if *update {
		return // what they expect is being written
	}
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, sc := range scenarios(string(raw)) {
			flipped, ok := sc.flip()
			require.True(t, ok, "%s: %q expects nothing", file, sc.name)
			require.NotEqual(t, flipped.play(t), flipped.text, "%s: %q does not notice a change", file, sc.name)
			require.Equal(t, sc.text, flipped.play(t), "%s: %q hangs on what it expects", file, sc.name)
		}
	}
}

// flip drops, repeats or changes one expected line.
func (sc scenario) flip() (scenario, bool) {
	lines := strings.Split(sc.text, "\n")
	var expected []int
	for n, line := range lines {
		if strings.HasPrefix(line, "  ") {
			expected = append(expected, n)
		}
	}
	if len(expected) == 0 {
		return sc, false
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(sc.name)) // a hash takes everything
	pick := int(h.Sum32() >> 1)
	at := expected[pick%len(expected)]
	switch line := lines[at]; pick / len(expected) % 3 {
	case 0:
		lines = slices.Delete(lines, at, at+1)
	case 1:
		lines = slices.Insert(lines, at, line)
	default:
		lines[at] = line + "!"
	}
	return scenario{sc.name, strings.Join(lines, "\n")}, true
}
