package tunnel

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// TextContent reports whether a body of this content type travels as text
// (tunnel.md 6): a test of the lower-cased value's beginning, nothing more.
// An absent content type ("") is JSON in a request and bytes in a response.
func TextContent(contentType string, response bool) bool {
	if contentType == "" {
		return !response
	}
	return hasPrefixFold(contentType, "text/") || // text/event-stream too
		hasPrefixFold(contentType, "application/json") || // application/jsonl and json-patch+json too
		hasPrefixFold(contentType, "application/x-ndjson")
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// EncodeBody returns b as it goes into a frame, and the encoding to name
// there. Text that is not valid UTF-8 goes as base64, which every receiver
// follows frame by frame, so that no byte of it is lost (tunnel.md 18, W5).
func EncodeBody(b []byte, text bool) (body, encoding string) {
	if text && utf8.Valid(b) {
		return string(b), EncodingUTF8
	}
	return encodeBase64(b), EncodingBase64
}

// encodeBase64 is base64.StdEncoding.EncodeToString with one allocation of the
// result's size instead of two: of bulk, allocating is the larger cost.
func encodeBase64(b []byte) string {
	var chars [1024]byte
	const whole = len(chars) / 4 * 3 // bytes that fill chars, without padding
	var out strings.Builder
	out.Grow(base64.StdEncoding.EncodedLen(len(b)))
	for len(b) > 0 {
		n := min(len(b), whole)
		base64.StdEncoding.Encode(chars[:], b[:n])
		out.Write(chars[:base64.StdEncoding.EncodedLen(n)])
		b = b[n:]
	}
	return out.String()
}

// DecodeBody returns the bytes of a request's or response's body. Base64 is
// read as upstream reads it: characters outside the alphabet are skipped, and
// only missing padding or a lone last character is an error (tunnel.md 6).
func DecodeBody(body, encoding string) ([]byte, error) {
	switch encoding {
	case EncodingUTF8:
		return []byte(body), nil
	case EncodingBase64:
		if b, err := base64.StdEncoding.DecodeString(body); err == nil {
			return b, nil
		}
		return decodeLenient(body)
	}
	return nil, unknownEncoding(encoding)
}

// DecodeChannel returns the bytes of a ws.frame, and whether it is a text
// message. Its base64 is strict: any character outside the alphabet is an
// error, and the frame is to be dropped (tunnel.md 6).
func DecodeChannel(data, encoding string) (b []byte, text bool, err error) {
	switch encoding {
	case EncodingUTF8:
		return []byte(data), true, nil
	case EncodingBase64:
		// The standard decoder skips line ends; upstream's does not here.
		if strings.ContainsAny(data, "\r\n") {
			return nil, false, errors.New("decoding channel data: line end in base64")
		}
		b, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, false, fmt.Errorf("decoding channel data: %w", err)
		}
		return b, false, nil
	}
	return nil, false, unknownEncoding(encoding)
}

func unknownEncoding(encoding string) error {
	return fmt.Errorf("unknown body encoding %s", excerpt(encoding))
}

// decodeLenient reads base64 with anything between its characters. Padding
// that completes a group ends the data, whatever follows; other padding is
// skipped like any character outside the alphabet.
func decodeLenient(s string) ([]byte, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil, errors.New("decoding base64 body: character outside ASCII")
	}
	out := make([]byte, 0, base64.StdEncoding.DecodedLen(len(s)))
	var group uint32 // the bits of the open group
	var have, pads int
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '=' {
			pads++
			if have >= 2 && have+pads >= 4 {
				return appendGroup(out, group, have), nil
			}
			continue
		}
		v, ok := sixBits(c)
		if !ok {
			continue
		}
		group, have, pads = group<<6|v, have+1, 0
		if have == 4 {
			out = appendGroup(out, group, 4)
			group, have = 0, 0
		}
	}
	if have != 0 {
		return nil, errors.New("decoding base64 body: incorrect padding")
	}
	return out, nil
}

// appendGroup appends the bytes that the first n characters of a base64 group
// hold whole: n-1 of them.
func appendGroup(out []byte, group uint32, n int) []byte {
	group <<= 6 * (4 - n)
	return append(out, byte(group>>16), byte(group>>8), byte(group))[:len(out)+n-1]
}

// sixBits returns the value of one character of the base64 alphabet.
func sixBits(c byte) (uint32, bool) {
	switch {
	case 'A' <= c && c <= 'Z':
		return uint32(c - 'A'), true
	case 'a' <= c && c <= 'z':
		return uint32(c-'a') + 26, true
	case '0' <= c && c <= '9':
		return uint32(c-'0') + 52, true
	case c == '+':
		return 62, true
	case c == '/':
		return 63, true
	}
	return 0, false
}
