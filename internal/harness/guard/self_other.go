//go:build !linux

package guard

import "os"

// selfLink: this system has no name for the running binary itself.
const selfLink = ""

func executable() (string, error) { return os.Executable() }
