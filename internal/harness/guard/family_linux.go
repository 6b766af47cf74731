package guard

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt makes this process the parent of every orphan below it.
func adopt() (*family, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("becoming a subreaper: %w", err)
	}
	handleSignals()
	return &family{}, sealFiles()
}

// programAttr makes the kernel kill the program should the guard itself be
// killed.
func programAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// members are all processes below this one: children, theirs, and so on.
func (f *family) members() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []int{f.program} // without /proc, the one we know
	}
	children := make(map[int][]int)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has gone meanwhile
		}
		if parent, ok := parentOf(stat); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	all := children[os.Getpid()]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// parentOf reads the parent from /proc/PID/stat: "pid (name) state parent …".
// The name is the program's to choose, brackets and spaces included, so what
// counts is the last bracket.
func parentOf(stat []byte) (int, bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, false
	}
	fields := bytes.Fields(stat[i+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
