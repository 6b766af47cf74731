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

// firstRows is the last row of the table: the file has them all, in order.
const firstRows = 226

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
	require.Len(t, rows, firstRows)
	for n := range firstRows {
		require.Equal(t, fmt.Sprint("S", n+1), rows[n].name)
	}
}

// scripts are the tests that play the dialogues of the core.
const scripts = "TestScripts/"

// TestRowsRun runs the tests that the file names and requires that each ran and
// passed. Of the name of a script the beginning is enough; the whole of it must
// name the row.
func TestRowsRun(t *testing.T) {
	rows := slices.DeleteFunc(read(t), func(r row) bool { return r.pkg == "n/a" })
	named := map[string][]string{} // package: its top-level tests
	for _, r := range rows {
		top, _, _ := strings.Cut(r.test, "/")
		if !slices.Contains(named[r.pkg], top) {
			named[r.pkg] = append(named[r.pkg], top)
		}
	}
	passed := map[string][]string{}
	for pkg, tests := range named {
		passed[pkg] = run(t, pkg, tests)
	}
	for _, r := range rows {
		require.True(t, slices.ContainsFunc(passed[r.pkg], r.holds), "row %s: no test %q passed in %s", r.name, r.test, r.pkg)
	}
}

// holds tells whether a test is the one of the row.
func (r row) holds(test string) bool {
	if !strings.HasPrefix(r.test, scripts) {
		return test == r.test
	}
	words := strings.FieldsFunc(test, func(c rune) bool { return c == '/' || c == '_' || c == ',' || c == ':' })
	return strings.HasPrefix(test, r.test) && slices.Contains(words, r.name)
}

// run returns the tests of a package that passed, of those that are asked for.
func run(t *testing.T, pkg string, tests []string) []string {
	pattern := "^(" + strings.Join(tests, "|") + ")$"
	out, err := exec.CommandContext(t.Context(), "go", "test", "-json", "-run", pattern, module+pkg).Output()
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
