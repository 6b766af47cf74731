package guard

import (
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
)

// notStarted says in a few words why a program could not be started.
func notStarted(err error) *NotStarted {
	return &NotStarted{Reason: reason(err), Missing: errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)}
}

func reason(err error) string {
	var missing *exec.Error
	switch {
	case errors.As(err, &missing) && errors.Is(missing.Err, exec.ErrNotFound):
		return "not found in PATH"
	case errors.Is(err, exec.ErrDot):
		return "found only in the current folder; put ./ before its name to mean that one"
	case errors.As(err, &missing) && errors.Is(missing.Err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrNotExist):
		// The file was there a moment ago: what is missing is what its first
		// line names.
		return "its interpreter is missing; see the first line of the file"
	case errors.Is(err, syscall.E2BIG):
		return "the message is too long for a command line; send a shorter one, or let a program read it from standard input"
	case errors.Is(err, syscall.ENOEXEC):
		return "it is not a program for this machine"
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	} else if missing != nil {
		err = missing.Err
	}
	return strings.TrimSpace(err.Error())
}
