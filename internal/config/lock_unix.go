//go:build unix

package config

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock takes the file's lock or returns ErrInUse. It lives with the open file:
// our children do not inherit it, because Go opens files close-on-exec.
func lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrInUse
		}
		return err
	}
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
