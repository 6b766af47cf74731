//go:build unix

package main

import "os"

// orphaned reports that the process is not our parent any more.
func orphaned(pid int) bool { return os.Getppid() != pid }
