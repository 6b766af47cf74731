package tunnel

import (
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
			return value{}, s.fail("unexpected end")
		}
		switch s.data[s.pos] {
		case '"':
			text := s.data[start:s.pos]
			s.pos++
			if lone {
				size = loneSurrogate
			}
			return value{text: text, size: size, typ: typeString}, nil
		case '\\':
			if s.pos+1 < len(s.data) && shortEscape(s.data[s.pos+1]) != 0 {
				size++
				s.pos += 2
				continue
			}
			r, n := longEscape(s.data[s.pos:])
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

// shortEscape returns the character that a backslash and c mean, 0 for none:
// \u0000 has no short escape.
func shortEscape(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return 0
}

// longEscape reads the \u escape at the beginning of b: the character it means
// and its length, that of two escapes when they are a surrogate pair. A
// surrogate alone is returned as such. The length is 0 when it is no escape.
func longEscape(b []byte) (r rune, n int) {
	r, ok := codeUnit(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := codeUnit(b[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6
}

// codeUnit reads \uXXXX at the beginning of b.
func codeUnit(b []byte) (rune, bool) {
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
