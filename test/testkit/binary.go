package testkit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// binary builds the program at its first call; the result stays. It is raced
// when the tests are.
var binary = sync.OnceValues(func() (string, error) {
	top, err := repository()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "outrunner-test-")
	if err != nil {
		return "", err
	}
	name := "outrunner"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	args := []string{"build", "-tags", "crashpoints", "-o", filepath.Join(dir, name)}
	if raced {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "./cmd/outrunner")...)
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("building the program: %w\n%s", err, out), os.RemoveAll(dir))
	}
	return filepath.Join(dir, name), nil
})

// Binary is the built program.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := binary()
	require.NoError(t, err)
	return path
}

// RemoveBinary removes the built program; a TestMain calls it last.
func RemoveBinary() error {
	path, err := binary()
	if err != nil {
		return nil // there is none
	}
	return os.RemoveAll(filepath.Dir(path))
}

// repository is the folder above that has the program.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "outrunner", "main.go")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("the tests do not run inside the repository")
		}
		dir = up
	}
}
