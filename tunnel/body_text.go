package tunnel

import "unicode/utf8"

// textCutter cuts a stream of text into chunks that end on the border of a
// character, so that each chunk can go as UTF-8 although producers write at
// any byte (tunnel.md 18, W5). What it holds back is the beginning of a
// character, 3 bytes at most. Bytes that are no UTF-8 pass through unchanged:
// EncodeBody sends their chunk as base64.
//
// The chunks and the final tail put together are exactly the bytes put in.
type textCutter struct {
	max  int // most bytes of a chunk; at least 4 (utf8.UTFMax)
	tail [utf8.UTFMax - 1]byte
	held int // bytes of tail in use
}

// next takes bytes from p and returns a chunk and the rest of p. The chunk is
// empty only when all of p is held back; call next until rest is empty. It may
// alias p, and is never empty for a p that holds a whole character.
func (c *textCutter) next(p []byte) (chunk, rest []byte) {
	n := min(len(p), max(c.max, utf8.UTFMax)-c.held)
	chunk, rest = p[:n:n], p[n:]
	if c.held > 0 {
		chunk = append(c.tail[:c.held:c.held], chunk...)
		c.held = 0
	}
	whole := len(chunk) - incompleteTail(chunk)
	chunk, tail := chunk[:whole:whole], chunk[whole:]
	if len(rest) > 0 { // the character goes on in rest: leave it there whole
		return chunk, p[n-len(tail):]
	}
	c.held = copy(c.tail[:], tail)
	return chunk, nil
}

// finish returns what is still held back: the stream ended inside a character.
func (c *textCutter) finish() []byte {
	held := c.held
	c.held = 0
	return append([]byte(nil), c.tail[:held]...)
}

// incompleteTail returns how many of the last bytes of p begin a character
// that more bytes could complete.
func incompleteTail(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax-1); n++ {
		tail := p[len(p)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
