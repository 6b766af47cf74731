package terminal

import (
	"io/fs"
	"os"
)

// tryLock has nothing to guard: no terminal outlives its runner here.
func tryLock(*os.File) error { return nil }

func ownedByUs(fs.FileInfo) bool { return true }
