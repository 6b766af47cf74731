//go:build !linux

package guard

import "os"

// executable is the path of the running binary.
func executable() (string, error) { return os.Executable() }
