package screen

import "unicode/utf8"

// decoder turns bytes into code points, whatever way they are cut. Bytes that
// are no UTF-8 vanish, as they do in a browser's terminal.
type decoder struct {
	point rune
	need  int // bytes that are still to come
	size  int
}

// next takes a byte from 0x80 on, or any byte while more are needed. It gives a
// code point, or -1 while there is none. again says that the byte was not taken.
func (d *decoder) next(b byte) (c rune, again bool) {
	if d.need == 0 {
		switch {
		case b < 0x80:
			return rune(b), false
		case b&0xe0 == 0xc0:
			d.point, d.need, d.size = rune(b&0x1f), 1, 2
		case b&0xf0 == 0xe0:
			d.point, d.need, d.size = rune(b&0x0f), 2, 3
		case b&0xf8 == 0xf0:
			d.point, d.need, d.size = rune(b&0x07), 3, 4
		}
		return -1, false
	}
	if b&0xc0 != 0x80 {
		d.need = 0
		return -1, true
	}
	d.point = d.point<<6 | rune(b&0x3f)
	if d.need--; d.need > 0 {
		return -1, false
	}
	switch {
	case d.size == 2 && d.point < 0x80:
		// A start byte that cannot be. What came after it stands alone, and
		// is then dropped too.
		return -1, true
	case d.size == 3 && (d.point < 0x800 || d.point == 0xfeff), d.size == 4 && d.point < 0x10000, !utf8.ValidRune(d.point):
		return -1, false
	}
	return d.point, false
}

func appendRune(dst []byte, c rune) []byte { return utf8.AppendRune(dst, c) }
