package exec

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// decoder turns bytes into text that survives JSON and every store on the way:
// valid UTF-8, without NUL. A character that was cut between two reads is held
// back until the rest comes. A byte that is not UTF-8 becomes a visible \xNN,
// and so does NUL, which some databases refuse; what a program wrote is never
// replaced by U+FFFD, which would say only that something was lost.
type decoder struct {
	held []byte // the beginning of a character, at most 3 bytes
}

func (d *decoder) decode(b []byte) string {
	return d.text(b, false)
}

// rest gives what was held back when the output has ended.
func (d *decoder) rest() string {
	return d.text(nil, true)
}

func (d *decoder) text(b []byte, last bool) string {
	if len(d.held) > 0 {
		b = append(d.held, b...)
		d.held = nil
	}
	var out strings.Builder
	out.Grow(len(b))
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		switch {
		case c == utf8.RuneError && n == 1 && !last && !utf8.FullRune(b):
			d.held = append([]byte(nil), b...)
			return out.String()
		case c == utf8.RuneError && n == 1, c == 0:
			fmt.Fprintf(&out, `\x%02x`, b[0])
		default:
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.String()
}
