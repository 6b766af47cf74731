package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/outrunner/outrunner/"

// firstRows is the last row of the table that must be in the file without a
// hole.
const firstRows = 60

type row struct{ name, pkg, test string }

func read(t *testing.T) []row {
	raw, err := os.ReadFile("../rows.txt")
	require.NoError(t, err)
	var rows []row
	for n, line := range strings.Split(string(raw), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Fields(line)
		require.GreaterOrEqual(t, len(parts), 3, "line %d", n+1)
		rows = append(rows, row{parts[0], parts[1], strings.Join(parts[2:], " ")})
	}
	return rows
}

func TestEveryRowIsNamedOnce(t *testing.T) {
	rows := read(t)
	for n := range firstRows {
		require.Equal(t, fmt.Sprint("S", n+1), rows[n].name)
	}
}

// TestRowsRun runs the packages that the file names and requires that each
// test ran and passed; a name may be the beginning of one.
func TestRowsRun(t *testing.T) {
	passed := map[string][]string{}
	for _, r := range read(t) {
		if r.pkg == "n/a" {
			continue
		}
		if _, ok := passed[r.pkg]; !ok {
			passed[r.pkg] = run(t, r.pkg)
		}
		require.True(t, slices.ContainsFunc(passed[r.pkg], func(name string) bool {
			return name == r.test || strings.HasPrefix(name, r.test) && strings.Contains(r.test, "/")
		}), "row %s: no test %q passed in %s", r.name, r.test, r.pkg)
	}
}

// run returns the tests of a package that passed.
func run(t *testing.T, pkg string) []string {
	out, err := exec.CommandContext(t.Context(), "go", "test", "-json", "-run", "^Test(Scripts|Endpoints|Canon|Find.*)$", module+pkg).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		require.NoError(t, err, "%s\n%s", exit.Stderr, out)
	}
	require.NoError(t, err)
	var names []string
	lines := bufio.NewReader(bytes.NewReader(out))
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return names
		}
		require.NoError(t, err)
		var ev struct{ Action, Test string }
		require.NoError(t, json.Unmarshal(line, &ev))
		if ev.Action == "pass" && ev.Test != "" {
			names = append(names, ev.Test)
		}
	}
}
