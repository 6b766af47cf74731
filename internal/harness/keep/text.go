package keep

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// excerptSize bounds a line that is quoted in a sentence, in characters.
const excerptSize = 200

// Excerpt is a line as it may be quoted: valid, and not too long.
func Excerpt(line []byte) string {
	text := WithoutNUL(string(Visible(bytes.TrimSpace(line[:min(len(line), 4*excerptSize)]))))
	if runes := []rune(text); len(runes) > excerptSize {
		return strings.TrimSpace(string(runes[:excerptSize])) + "…"
	}
	return text
}

// Visible makes every byte that is not UTF-8 a visible \xNN, where a decoder
// would put U+FFFD, which says only that something was lost. The backslash is
// one of JSON, so that the result can stand in a string of it.
func Visible(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	var out bytes.Buffer
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		if c == utf8.RuneError && n == 1 {
			out.Write(hex.AppendEncode([]byte(`\\x`), text[:1]))
		} else {
			out.Write(text[:n])
		}
		text = text[n:]
	}
	return out.Bytes()
}

// WithoutNUL makes NUL visible too: some databases refuse it.
func WithoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", `\x00`) }
