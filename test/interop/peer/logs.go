//go:build interop

package peer

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// maxLog is how much of a log a failed test shows, in bytes: its end.
const maxLog = 32 << 10

// showLogs shows, if the test fails, the log files that a published program has
// left beneath a folder.
func showLogs(t testing.TB, dir string) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error { // what cannot be read is not shown
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".log" {
				return nil
			}
			if text, err := os.ReadFile(path); err == nil {
				t.Logf("%s:\n%s", path, text[max(0, len(text)-maxLog):])
			}
			return nil
		})
	})
}
