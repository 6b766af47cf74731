package tunnel

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

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

func (s *scanner) word(word string, typ valueType) (value, error) {
	rest := s.data[s.pos:]
	if !bytes.HasPrefix(rest, []byte(word)) {
		return value{}, s.fail("expected a value")
	}
	s.pos += len(word)
	return value{text: rest[:len(word)], typ: typ}, nil
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
