package testkit

import (
	"os/exec"
	"syscall"
)

// dieWithUs has a process killed when this one ends without having ended it: by
// a panic, the test's time limit, or a kill.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
