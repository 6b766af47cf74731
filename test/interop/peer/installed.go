//go:build interop

package peer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// installed is the program that setup.sh has installed under that name: of the
// environment, else of the file that it wrote into the cache.
func installed(t testing.TB, name string) string {
	t.Helper()
	if path := os.Getenv(name); path != "" {
		return path
	}
	dir := os.Getenv("OUTRUNNER_INTEROP_CACHE")
	if dir == "" {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		dir = filepath.Join(cache, "outrunner", "interop")
	}
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	require.NoError(t, err, "nothing is installed: run test/interop/setup.sh, or make interop")
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return path
		}
	}
	require.FailNow(t, "run test/interop/setup.sh", "it has not installed %s", name)
	return ""
}

// Python starts the Python that has the published packages; it takes the
// arguments of one, and its process id stays.
func Python(t testing.TB) string { t.Helper(); return installed(t, "OUTRUNNER_INTEROP_PYTHON") }

// OpenCode is the coding agent.
func OpenCode(t testing.TB) string { t.Helper(); return installed(t, "OUTRUNNER_INTEROP_OPENCODE") }
