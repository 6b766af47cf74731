package guard

import "os"

// executable is the running binary itself, not what its path names by now: an
// upgrade may have put another version there, and the two would have to speak
// the same protocol.
func executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}
