package guard

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt has no subreaper to call here; members does what it can.
func adopt() (*family, error) {
	handleSignals()
	return &family{}, sealFiles()
}

// programAttr: this system has no parent-death signal.
func programAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// members are the processes below this one, and those in the program's group
// or below one of them. A process that left the group and whose parent has
// died is not found.
func (f *family) members() []int {
	procs, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	const zombie = 5 // SZOMB of <sys/proc.h>: dead, and perhaps never taken in
	children := make(map[int][]int)
	seen := map[int]bool{os.Getpid(): true}
	var all []int
	for i := range procs {
		pid, parent, group := int(procs[i].Proc.P_pid), int(procs[i].Eproc.Ppid), int(procs[i].Eproc.Pgid)
		if procs[i].Proc.P_stat == zombie {
			continue
		}
		children[parent] = append(children[parent], pid)
		if group == f.program && !seen[pid] {
			seen[pid] = true
			all = append(all, pid)
		}
	}
	add := func(pids []int) {
		for _, pid := range pids {
			if !seen[pid] {
				seen[pid] = true
				all = append(all, pid)
			}
		}
	}
	add(children[os.Getpid()])
	for i := 0; i < len(all); i++ {
		add(children[all[i]])
	}
	return all
}
