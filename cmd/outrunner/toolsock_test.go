package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheSocketOfTheTools(t *testing.T) {
	require.Equal(t, filepath.Join("/home/me/.outrunner/runner", "tools.sock"), toolSocket("/home/me/.outrunner/runner"))
	t.Setenv("TMPDIR", "/tmp")
	long := "/" + strings.Repeat("a", socketPath)
	require.LessOrEqual(t, len(toolSocket(long)), socketPath)
	require.Equal(t, toolSocket(long), toolSocket(long), "outrunner mcp finds it")
	require.NotEqual(t, toolSocket(long), toolSocket(long+"b"))

	dir := filepath.Join(t.TempDir(), "d")
	require.NoError(t, closedFolder(dir))
	require.NoError(t, closedFolder(dir), "it is ours")
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	link := dir + "-link"
	require.NoError(t, os.Symlink(dir, link))
	require.ErrorContains(t, closedFolder(link), "not a folder of this user")
}
