package tunnel

import "math/bits"

// plainPrefix returns how many of the first bytes of a string stand for
// themselves inside a JSON string: everything but quote, backslash and control
// characters. It looks at eight bytes at a time, which is what makes large
// bodies cheap in both directions.
func plainPrefix[T string | []byte](s T) int {
	const (
		ones  = 0x0101010101010101 // times a byte: that byte, eight times
		highs = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		v := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		// A byte below n borrows into its high bit when n is taken away; bytes
		// that had the high bit before do not count. A borrow may mark the
		// byte above too, never one below: the lowest mark is right. Flipping
		// bit 1 puts the quote (0x22) beside the control characters: below
		// 0x21 are then just these.
		slash := v ^ ones*'\\'
		mark := (v^ones*2-ones*0x21)&^v | (slash-ones)&^slash
		if mark &= highs; mark != 0 {
			return i + bits.TrailingZeros64(mark)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}
