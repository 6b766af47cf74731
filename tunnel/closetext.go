package tunnel

import "unicode/utf8"

// maxCloseText is the longest reason of a close frame in bytes (RFC 6455, 5.5).
const maxCloseText = 123

// closeText cuts a reason to what fits, on the border of a character.
func closeText(s string) string {
	if len(s) <= maxCloseText {
		return s
	}
	n := maxCloseText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
