package tunnel

import "strings"

// valueType is what a JSON value is. An integer is a number without fraction
// and exponent; every other number, NaN and Infinity included, is a float.
type valueType uint8

const (
	typeAbsent valueType = iota
	typeNull
	typeBool
	typeInt
	typeFloat
	typeString
	typeArray
	typeObject
)

// String returns the JSON name of the type.
func (t valueType) String() string {
	switch t {
	case typeAbsent:
		return "nothing"
	case typeNull:
		return "null"
	case typeBool:
		return "boolean"
	case typeInt, typeFloat:
		return "number"
	case typeString:
		return "string"
	case typeArray:
		return "array"
	default:
		return "object"
	}
}

// value is a JSON value where it stands: nothing is copied or unescaped until
// a field asks for it. The text of a string is without its quotes.
type value struct {
	text []byte
	size int // of a string: bytes once unescaped; loneSurrogate if no UTF-8 can hold it
	typ  valueType
}

// loneSurrogate is the size of a string with an escape such as \ud800 that
// has no partner. JSON allows it, UTF-8 does not.
const loneSurrogate = -1

// each calls visit for each element of an array until it says no. It reports
// whether v is an array and visit never did.
func (v value) each(visit func(element value) bool) bool {
	if v.typ != typeArray {
		return false
	}
	s := scanner{data: v.text, pos: 1}
	for s.peek() != ']' {
		// The text was checked when v was scanned.
		element, err := s.value()
		if err != nil || !visit(element) {
			return false
		}
		s.take(',')
	}
	return true
}

// member returns the last member of an object with that key.
func (v value) member(key string) value {
	var found value
	if v.typ == typeObject {
		s := scanner{data: v.text}
		// The text was checked when v was scanned.
		_ = s.object(func(k, member value) {
			if k.is(key) {
				found = member
			}
		})
	}
	return found
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
		text = text[n:]
		if c := shortEscape(text[1]); c != 0 {
			out.WriteByte(c)
			text = text[2:]
			continue
		}
		r, escape := longEscape(text)
		out.WriteRune(r)
		text = text[escape:]
	}
}

// is reports whether v is the string s.
func (v value) is(s string) bool {
	if v.typ != typeString || v.size != len(s) {
		return false
	}
	if v.size == len(v.text) {
		return string(v.text) == s
	}
	return v.unescape() == s
}
