package tunnel

import "strconv"

// maxIntDigits is how many digits an integer of the wire may have: upstream's
// limit, above which a frame is rejected wherever the integer stands in it.
const maxIntDigits = 4300

// Int is an integer of the wire. Upstream's are of arbitrary precision, and a
// ping's must be echoed exactly, so the digits of one beyond int64 are kept.
// The zero value is 0; equal integers are == to each other.
type Int struct {
	small int64
	big   string // the decimal digits, when they do not fit small
}

// IntOf returns n as a wire integer.
func IntOf(n int64) Int { return Int{small: n} }

// parseInt returns the integer that literal, a JSON number without fraction
// and exponent, stands for.
func parseInt(literal []byte) Int {
	n, err := strconv.ParseInt(string(literal), 10, 64)
	if err != nil { // out of range: the scanner has seen to the syntax
		return Int{big: string(literal)}
	}
	return Int{small: n}
}

// Int64 returns the value, and whether it fits.
func (i Int) Int64() (n int64, ok bool) { return i.small, i.big == "" }

// negative reports whether i < 0.
func (i Int) negative() bool {
	return i.small < 0 || i.big != "" && i.big[0] == '-'
}

// String returns the decimal digits.
func (i Int) String() string {
	if i.big != "" {
		return i.big
	}
	return strconv.FormatInt(i.small, 10)
}

// append appends the decimal digits.
func (i Int) append(dst []byte) []byte {
	if i.big != "" {
		return append(dst, i.big...)
	}
	return strconv.AppendInt(dst, i.small, 10)
}
