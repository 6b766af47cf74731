package tunnel

import "strconv"

// number reads a number, or -Infinity.
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
	typ := typeInt
	if s.takeByte('.') {
		typ = typeFloat
		if s.digits() == 0 {
			return value{}, s.fail("expected a digit")
		}
	}
	if s.takeByte('e') || s.takeByte('E') {
		typ = typeFloat
		if !s.takeByte('+') {
			s.takeByte('-')
		}
		if s.digits() == 0 {
			return value{}, s.fail("expected a digit")
		}
	}
	if typ == typeInt && digits > maxIntDigits {
		return value{}, &syntaxError{what: "integer of more than " + strconv.Itoa(maxIntDigits) + " digits", pos: start}
	}
	return value{text: s.data[start:s.pos], typ: typ}, nil
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
