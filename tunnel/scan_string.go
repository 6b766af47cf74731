package tunnel

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string; the next byte is its opening quote.
func (s *scanner) str() (value, error) {
	s.pos++
	start := s.pos
	size, lone := 0, false
	for {
		n := plainPrefix(s.data[s.pos:])
		s.pos += n
		size += n
		if s.pos == len(s.data) {
			return value{}, s.fail("")
		}
		switch s.data[s.pos] {
		case '"':
			text := s.data[start:s.pos]
			s.pos++
			if lone {
				size = loneSurrogate
			}
			return value{text: text, size: size, kind: typeString}, nil
		case '\\':
			r, n := parseEscape(s.data[s.pos:])
			if n == 0 {
				return value{}, s.fail("invalid escape")
			}
			if utf16.IsSurrogate(r) {
				lone = true
			} else {
				size += utf8.RuneLen(r)
			}
			s.pos += n
		default:
			return value{}, s.fail("control character in a string")
		}
	}
}

// parseEscape reads the escape at the beginning of b: the character it means
// and its length, two \u escapes when they are a surrogate pair. A surrogate
// alone is returned as such. The length is 0 when it is no escape.
func parseEscape(b []byte) (r rune, n int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	r, ok := parseUnicodeEscape(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := parseUnicodeEscape(b[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6
}

// parseUnicodeEscape reads \uXXXX at the beginning of b.
func parseUnicodeEscape(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape returns the string that v means, in one allocation of the right
// size. v has no lone surrogate.
func (v value) unescape() string {
	if v.size == len(v.text) {
		return string(v.text) // every escape is longer than what it means
	}
	var out strings.Builder
	out.Grow(v.size)
	for text := v.text; ; {
		n := plainPrefix(text)
		out.Write(text[:n])
		if n == len(text) {
			return out.String()
		}
		r, escape := parseEscape(text[n:])
		out.WriteRune(r)
		text = text[n+escape:]
	}
}

// is reports whether v is the string s.
func (v value) is(s string) bool {
	if v.kind != typeString || v.size != len(s) {
		return false
	}
	if v.size == len(v.text) {
		return string(v.text) == s
	}
	return v.unescape() == s
}
