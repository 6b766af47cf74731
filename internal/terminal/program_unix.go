//go:build unix

package terminal

import (
	"os"
	"path/filepath"
	"strings"
)

// findProgram finds a command as its terminal would: by the terminal's PATH, and
// a path with a slash from the terminal's folder.
func findProgram(command, dir, path string) (string, error) {
	if strings.ContainsRune(command, '/') {
		full := command
		if !filepath.IsAbs(full) {
			full = filepath.Join(dir, full)
		}
		if executable(full) {
			return full, nil
		}
		return "", refuse("the program %s of a terminal is not there, or cannot be run", full)
	}
	for _, folder := range filepath.SplitList(path) {
		if folder == "" {
			folder = dir
		}
		if full := filepath.Join(folder, command); filepath.IsAbs(full) && executable(full) {
			return full, nil
		}
	}
	return "", refuse("the program %q of a terminal is not on PATH: install it, or name it with its path", command)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
