package tunnel

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// Header values are bytes in HTTP and text in a frame; as upstream does, each
// byte becomes the character of the same number and back (tunnel.md 6). Names
// go in lower case, sorted, with duplicates kept.

// wireHeaders returns h as it goes into a frame.
func wireHeaders(h http.Header) []Header {
	out := make([]Header, 0, len(h))
	for name, values := range h {
		for _, v := range values {
			out = append(out, Header{strings.ToLower(toLatin1(name)), toLatin1(v)})
		}
	}
	slices.SortStableFunc(out, func(a, b Header) int { return strings.Compare(a[0], b[0]) })
	return out
}

// httpHeader returns the headers of a frame as HTTP has them.
func httpHeader(list []Header) http.Header {
	h := make(http.Header, len(list))
	for _, pair := range list {
		h.Add(pair[0], fromLatin1(pair[1]))
	}
	return h
}

// toLatin1 reads each byte of s as a character.
func toLatin1(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

// fromLatin1 undoes toLatin1. A value with other characters, which no HTTP
// header can have been, stays as it is.
func fromLatin1(s string) string {
	if isASCII(s) {
		return s
	}
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return s
		}
		b = append(b, byte(r))
	}
	return string(b)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
