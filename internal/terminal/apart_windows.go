package terminal

import "os/exec"

// apart has nothing to do: there is no tmux.
func apart(*exec.Cmd) {}
