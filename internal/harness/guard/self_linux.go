package guard

import "os"

// selfLink is the running binary itself, not what its path names by now: an
// upgrade may have put another version there, and the two would have to speak
// the same protocol.
const selfLink = "/proc/self/exe"

func executable() (string, error) {
	if _, err := os.Stat(selfLink); err == nil {
		return selfLink, nil
	}
	return os.Executable()
}
