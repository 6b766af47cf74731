//go:build mutants

package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// quick are the tests that notice nearly everything, in seconds; what they do
// not notice the others may.
const quick = "^(TestScripts|TestRows|TestAuthority|TestChildRows|TestSeedScripts.*)$"

var packages = []string{"./runner/core", "./catchup/..."}

// TestMutants puts each rule's neutral form in its place and requires that a
// test fails.
func TestMutants(t *testing.T) {
	for _, r := range rules(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			overlay := r.overlay(t)
			if out, err := goTool(t, append([]string{"build", "-overlay", overlay}, packages...)); err != nil {
				require.Failf(t, "the neutral form does not compile", "%s", out)
			}
			if r.survives(t, overlay, "-run", quick) && r.survives(t, overlay) {
				t.Errorf("no test notices: %s (%s)", r.name, r.file)
			}
		})
	}
}

// overlay writes the changed file, and the map that has the go tool take it.
func (r rule) overlay(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	changed := filepath.Join(dir, "changed.go")
	require.NoError(t, os.WriteFile(changed, []byte(r.without(t)), 0o600))
	original, err := filepath.Abs(filepath.Join(root, r.file))
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, raw, 0o600))
	return overlay
}

// survives tells whether all tests pass without the rule.
func (r rule) survives(t *testing.T, overlay string, flags ...string) bool {
	t.Helper()
	args := append([]string{"test", "-vet=off", "-timeout", "2m", "-overlay", overlay}, flags...)
	out, err := goTool(t, append(args, packages...))
	require.NotContains(t, out, "[build failed]", "a failure to build is no failure of a test")
	return err == nil
}

func goTool(t *testing.T, args []string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
