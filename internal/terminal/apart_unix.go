//go:build unix

package terminal

import (
	"os/exec"
	"syscall"
)

// apart keeps a tmux out of our process group, so that a ^C for the runner is
// not one for it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
