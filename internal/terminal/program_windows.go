package terminal

import "os/exec"

// findProgram finds a command on our own PATH.
func findProgram(command, _, _ string) (string, error) {
	full, err := exec.LookPath(command)
	if err != nil {
		return "", refuse("the program %q of a terminal is not on PATH: install it, or name it with its path", command)
	}
	return full, nil
}
