package screen

import "sort"

// runeWidth is the number of columns of a printable code point: 0, 1 or 2.
func runeWidth(c rune) int {
	switch {
	case c < 0x300:
		return 1
	case c >= 0x4e00 && c < 0xa000, c >= 0xac00 && c < 0xd7a4:
		return 2
	case within(zeroWidth[:], c):
		return 0
	case within(doubleWidth[:], c):
		return 2
	}
	return 1
}

// disputed reports whether terminals draw this cell in different widths.
func disputed(c cell) bool {
	if c.ch&combined != 0 {
		return true // some join marks by newer rules
	}
	r := rune(c.ch & pointMask)
	return r >= 0x300 && within(disputedWidth[:], r)
}

func within(ranges [][2]rune, c rune) bool {
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i][1] >= c })
	return i < len(ranges) && ranges[i][0] <= c
}
