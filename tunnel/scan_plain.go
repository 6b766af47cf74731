package tunnel

import "math/bits"

// plainPrefix returns how many of the first bytes of a string stand for
// themselves inside a JSON string: everything but quote, backslash and control
// characters. It looks at eight bytes at a time, which is what makes large
// bodies cheap in both directions.
func plainPrefix[T string | []byte](s T) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(s); i += 8 {
		v := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		// A byte b below n borrows into its high bit in b-n; bytes that have
		// the high bit themselves are excluded. A borrow may mark a byte
		// above it too, never below: the lowest mark is right.
		quote, slash := v^ones*'"', v^ones*'\\'
		mark := (v - ones*' ') & ^v
		mark |= (quote - ones) & ^quote
		mark |= (slash - ones) & ^slash
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
