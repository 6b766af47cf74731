package terminal

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// statOf has the fields of a process after its name; nil if there is none.
func statOf(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
}

// lives tells whether a process runs; one that nobody has waited for does not.
func lives(pid int) bool {
	stat := statOf(pid)
	return stat != nil && stat[0] != "Z"
}

// resident is what a process has in memory.
func resident(t *testing.T, pid int) int {
	t.Helper()
	if pid == os.Getpid() {
		runtime.GC()
	}
	stat := statOf(pid)
	require.NotNil(t, stat)
	pages, err := strconv.Atoi(stat[21])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}

// worked is how long this process has had a processor.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var use syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// countingTmux is a tmux that writes down how it is called, and first runs what
// before says.
func countingTmux(t *testing.T, before string) (path string, calls func() []string) {
	t.Helper()
	tmux, err := exec.LookPath("tmux")
	require.NoError(t, err)
	dir := t.TempDir()
	path, log := filepath.Join(dir, "tmux"), filepath.Join(dir, "calls")
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" | head -n 1 >>%s\n%s\nexec %s \"$@\"\n", log, before, tmux)
	require.NoError(t, os.WriteFile(path, []byte(script), 0o700))
	return path, func() []string {
		data, err := os.ReadFile(log)
		require.NoError(t, err)
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
}
