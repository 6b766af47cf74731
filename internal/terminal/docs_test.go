package terminal

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table of docs/terminals.md names tests that there are, one for each trap at
// least.
func TestEveryTrapHasATest(t *testing.T) {
	const root = "../../"
	doc, err := os.ReadFile(root + "docs/terminals.md")
	require.NoError(t, err)
	var code strings.Builder
	for _, pattern := range []string{"internal/terminal/*_test.go", "internal/terminal/screen/*_test.go", "test/conformance/*terminal*/*_test.go"} {
		files, err := filepath.Glob(root + pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			code.Write(text)
		}
	}
	rows := regexp.MustCompile(`(?m)^\| T(\d+) \|.*\|.*\|$`).FindAllString(string(doc), -1)
	require.Len(t, rows, 35)
	for _, row := range rows {
		names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(row, -1)
		require.NotEmpty(t, names, row)
		for _, name := range names {
			require.Contains(t, code.String(), "\nfunc "+name[1]+"(", row)
		}
	}
}
