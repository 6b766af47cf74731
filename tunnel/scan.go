package tunnel

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deep a frame may nest. It is the deepest that upstream is
// known to take; 10,000 levels make it fail (tunnel.md 4, 18 W21).
const maxDepth = 3000

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
	kind valueType
}

// loneSurrogate is the size of a string with an escape such as \ud800 that
// has no partner. JSON allows it, UTF-8 does not.
const loneSurrogate = -1

// each calls visit for each element of an array until it says no. It reports
// whether v is an array and visit never did.
func (v value) each(visit func(element value) bool) bool {
	if v.kind != typeArray {
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
	if v.kind == typeObject {
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

// scanner reads JSON text from front to back and checks all of it. It knows
// JSON as upstream's parser does: NaN, Infinity, -Infinity and lone surrogate
// escapes are values, an integer of more than maxIntDigits digits is an error.
// Nesting costs a bit a level, not a stack frame.
type scanner struct {
	data []byte
	pos  int
}

// syntaxError says what is wrong with the text, and where.
type syntaxError struct {
	what string
	pos  int
}

func (e *syntaxError) Error() string {
	return e.what + " at byte " + strconv.Itoa(e.pos)
}

func (s *scanner) fail(what string) error {
	if s.pos >= len(s.data) {
		what = "unexpected end"
	}
	return &syntaxError{what: what, pos: s.pos}
}

// peek skips white space and returns the next byte, 0 at the end. (A NUL in
// the text is no beginning of anything, so 0 is an error either way.)
func (s *scanner) peek() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take skips white space and consumes c, if that is the next byte.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// end checks that only white space is left.
func (s *scanner) end() error {
	if s.peek(); s.pos < len(s.data) {
		return s.fail("data after the value")
	}
	return nil
}

// object reads an object and calls visit for each member, in order.
func (s *scanner) object(visit func(key, member value)) error {
	if !s.take('{') {
		return s.fail("expected an object")
	}
	if s.take('}') {
		return nil
	}
	for {
		key, err := s.key()
		if err != nil {
			return err
		}
		member, err := s.value()
		if err != nil {
			return err
		}
		visit(key, member)
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.fail("expected ',' or '}'")
		}
	}
}

// key reads a member's key and the colon.
func (s *scanner) key() (value, error) {
	if s.peek() != '"' {
		return value{}, s.fail("expected a key")
	}
	key, err := s.str()
	if err == nil && !s.take(':') {
		err = s.fail("expected ':'")
	}
	return key, err
}

// value reads one value of any type.
func (s *scanner) value() (value, error) {
	switch c := s.peek(); c {
	case '{', '[':
		return s.container()
	default:
		return s.scalar(c)
	}
}

// scalar reads a value that holds no other; c is its first byte.
func (s *scanner) scalar(c byte) (value, error) {
	switch c {
	case '"':
		return s.str()
	case 't':
		return s.word("true", typeBool)
	case 'f':
		return s.word("false", typeBool)
	case 'n':
		return s.word("null", typeNull)
	case 'N':
		return s.word("NaN", typeFloat)
	case 'I':
		return s.word("Infinity", typeFloat)
	default:
		return s.number()
	}
}

func (s *scanner) word(word string, kind valueType) (value, error) {
	rest := s.data[s.pos:]
	if !bytes.HasPrefix(rest, []byte(word)) {
		return value{}, s.fail("expected a value")
	}
	s.pos += len(word)
	return value{text: rest[:len(word)], kind: kind}, nil
}

// container reads an array or object with all that is in it.
func (s *scanner) container() (value, error) {
	start := s.pos
	var open nesting
	for {
		// A value begins here: go down, or read it.
		c := s.peek()
		if c == '{' || c == '[' {
			if !open.push(c == '{') {
				return value{}, s.fail("nested too deep")
			}
			s.pos++
			if c == '{' && !s.take('}') {
				if _, err := s.key(); err != nil {
					return value{}, err
				}
				continue
			} else if c == '[' && !s.take(']') {
				continue
			}
			open.depth-- // it was empty
		} else if _, err := s.scalar(c); err != nil {
			return value{}, err
		}
		// A value ended here: close what ends with it, then go on behind a comma.
		for open.depth > 0 && s.take(open.closer()) {
			open.depth--
		}
		if open.depth == 0 {
			kind := typeArray
			if s.data[start] == '{' {
				kind = typeObject
			}
			return value{text: s.data[start:s.pos], kind: kind}, nil
		}
		if !s.take(',') {
			return value{}, s.fail("expected ',' or the end of an array or object")
		}
		if open.closer() == '}' {
			if _, err := s.key(); err != nil {
				return value{}, err
			}
		}
	}
}

// nesting is the stack of open containers, a bit each: set for an object. The
// frame itself is one level more.
type nesting struct {
	depth int
	bits  [(maxDepth + 63) / 64]uint64
}

func (n *nesting) push(object bool) bool {
	if n.depth+1 >= maxDepth {
		return false
	}
	mask := uint64(1) << (n.depth % 64)
	if object {
		n.bits[n.depth/64] |= mask
	} else {
		n.bits[n.depth/64] &^= mask
	}
	n.depth++
	return true
}

// closer returns the byte that ends the innermost open container.
func (n *nesting) closer() byte {
	if top := n.depth - 1; n.bits[top/64]>>(top%64)&1 == 1 {
		return '}'
	}
	return ']'
}

// number reads a number.
func (s *scanner) number() (value, error) {
	start := s.pos
	s.takeByte('-')
	if start < s.pos && s.pos < len(s.data) && s.data[s.pos] == 'I' {
		v, err := s.word("Infinity", typeFloat)
		v.text = s.data[start:s.pos]
		return v, err
	}
	digits := s.digits()
	if digits == 0 {
		return value{}, s.fail("expected a value")
	}
	if digits > 1 && s.data[s.pos-digits] == '0' {
		s.pos -= digits - 1
		return value{}, s.fail("digit after a leading zero")
	}
	kind := typeInt
	if s.takeByte('.') {
		kind = typeFloat
		if s.digits() == 0 {
			return value{}, s.fail("expected a digit")
		}
	}
	if s.takeByte('e') || s.takeByte('E') {
		kind = typeFloat
		if !s.takeByte('+') {
			s.takeByte('-')
		}
		if s.digits() == 0 {
			return value{}, s.fail("expected a digit")
		}
	}
	if kind == typeInt && digits > maxIntDigits {
		return value{}, &syntaxError{what: "integer of more than " + strconv.Itoa(maxIntDigits) + " digits", pos: start}
	}
	return value{text: s.data[start:s.pos], kind: kind}, nil
}

// takeByte consumes c, if that is the very next byte.
func (s *scanner) takeByte(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// digits consumes the digits that stand next and returns how many.
func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// validText checks what JSON text must be before it is any JSON: UTF-8.
func (s *scanner) validText() error {
	if utf8.Valid(s.data) {
		return nil
	}
	for s.pos < len(s.data) {
		r, n := utf8.DecodeRune(s.data[s.pos:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		s.pos += n
	}
	return s.fail("invalid UTF-8")
}
