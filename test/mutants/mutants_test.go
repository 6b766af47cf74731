//go:build mutants

package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The packages whose tests must notice. What the quick tests of a package do not
// notice the others may; -rapid.nofailfile keeps the properties from writing
// down what a mutant makes them find.
var packages = []struct{ path, quick, rest string }{
	{"runner/core", "^(TestScripts|TestSeedScripts.*)$", "-rapid.nofailfile"},
	{"catchup/plan", "^(TestRows|TestAuthority|TestChildRows)$", "-test.v=false"},
}

// TestMutants leaves each rule out, alone, and requires that a test fails.
func TestMutants(t *testing.T) {
	all := rules(t)
	overlay, apart := switched(t, all)
	programs := build(t, overlay)
	require.Empty(t, programs.notice(t, 0), "nothing is left out")
	t.Logf("%d rules, %d of them built apart", len(all), len(apart))
	for n, r := range all {
		number := n + 1
		t.Run(r.name, func(t *testing.T) {
			programs := programs
			if _, ok := apart[number]; ok {
				programs = build(t, writeOverlay(t, t.TempDir(), map[string]string{r.file: r.without(t)}))
			}
			if programs.notice(t, number) == "" {
				t.Errorf("no test notices: %s (%s)", r.name, r.file)
			}
		})
	}
}

// writeOverlay writes changed files, and the map that has the go tool take them.
func writeOverlay(t *testing.T, dir string, changed map[string]string) string {
	t.Helper()
	replace := map[string]string{}
	for file, text := range changed {
		original, err := filepath.Abs(filepath.Join(root, file))
		require.NoError(t, err)
		replace[original] = filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		require.NoError(t, os.WriteFile(replace[original], []byte(text), 0o600))
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, raw, 0o600))
	return overlay
}

// programs are the test programs of the packages.
type programs []string

func build(t *testing.T, overlay string) (list programs) {
	t.Helper()
	dir := t.TempDir()
	for n, pkg := range packages {
		program := filepath.Join(dir, fmt.Sprint(n, ".test"))
		cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", program, "./"+pkg.path)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		list = append(list, program)
	}
	return list
}

// notice returns the package whose tests fail without a rule, "" if none do.
func (p programs) notice(t *testing.T, number int) string {
	t.Helper()
	for n, pkg := range packages {
		if p.fails(t, n, number, "-test.run", pkg.quick) {
			return pkg.path
		}
	}
	for n, pkg := range packages {
		if p.fails(t, n, number, pkg.rest) {
			return pkg.path
		}
	}
	return ""
}

func (p programs) fails(t *testing.T, n, number int, flags ...string) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p[n], append(flags, "-test.timeout=2m")...)
	cmd.Dir = filepath.Join(root, packages[n].path)
	cmd.Env = append(os.Environ(), fmt.Sprint("MUTANT=", number))
	return cmd.Run() != nil
}
