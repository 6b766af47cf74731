package tunnel

import "unicode/utf8"

// appendString appends s as a JSON string: raw UTF-8, with only the escapes
// that JSON demands. For invalid UTF-8 see Append.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if !utf8.ValidString(s) {
		return append(appendBroken(dst, s), '"')
	}
	return append(appendEscaped(dst, s), '"')
}

// appendEscaped appends s, which is valid UTF-8, without the quotes.
func appendEscaped(dst []byte, s string) []byte {
	for {
		n := plainPrefix(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return dst
		}
		dst = appendEscape(dst, s[n])
		s = s[n+1:]
	}
}

// appendBroken appends s without the quotes, its invalid bytes as lone
// surrogates U+DC80 to U+DCFF: no JSON text means anything else by them.
func appendBroken(dst []byte, s string) []byte {
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, '\\', 'u', 'd', 'c', hexDigits[s[0]>>4], hexDigits[s[0]&15])
		} else {
			dst = appendEscaped(dst, s[:n])
		}
		s = s[n:]
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendEscape appends the escape of a quote, backslash or control character.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
