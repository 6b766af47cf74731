package screen

import (
	"strings"
)

// Text is what a person reads: the newest historyLines lines of history and the
// shown screen, without looks. Lines that only ran out of columns are joined,
// and end without spaces.
func (s *Screen) Text(historyLines int) string {
	var out, current strings.Builder
	flush := func() {
		out.WriteString(strings.TrimRight(current.String(), " "))
		out.WriteByte('\n')
		current.Reset()
	}
	begun := false
	next := func(wrapped bool) {
		if begun && !wrapped {
			flush()
		}
		begun = true
	}
	if !s.Alternate() {
		h := &s.history
		for i := max(h.len()-historyLines, 0); i < h.len(); i++ {
			l := h.at(i)
			next(l.wrapped)
			plain(&current, l.paint)
		}
	}
	for i, r := range s.buf.rows {
		next(r.wrapped)
		cells := r.cells
		if i+1 < len(s.buf.rows) && s.buf.rows[i+1].wrapped {
			cells = cells[:r.lengthBefore(s.buf.rows[i+1])]
		}
		for _, c := range cells {
			switch {
			case c.isStub():
			case c.empty():
				current.WriteByte(' ')
			default:
				current.WriteString(s.text(c))
			}
		}
	}
	flush()
	return out.String()
}

// plain undoes the painter: it keeps the characters, and a space for each
// column that was skipped.
func plain(out *strings.Builder, paint []byte) {
	for i := 0; i < len(paint); i++ {
		b := paint[i]
		if b != 0x1b {
			if b == ' ' && i+1 < len(paint) && paint[i+1] == '\b' {
				i++ // a space that only made the line wrap
				continue
			}
			out.WriteByte(b)
			continue
		}
		i++
		if paint[i] == ']' { // a link, up to ESC \
			for paint[i] != 0x1b {
				i++
			}
			i++
			continue
		}
		n := 0
		for i++; paint[i] < 0x40; i++ {
			if c := paint[i]; c >= '0' && c <= '9' {
				n = n*10 + int(c-'0')
			}
		}
		if paint[i] == 'C' {
			for range max(n, 1) {
				out.WriteByte(' ')
			}
		}
	}
}
