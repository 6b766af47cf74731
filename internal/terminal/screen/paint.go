package screen

import "strconv"

// painter writes rows as the bytes that paint them.
type painter struct {
	screen *Screen
	dst    []byte
	style  uint32 // the pen of whoever is painted to
}

func (p *painter) number(n int, final byte) {
	p.dst = append(p.dst, "\x1b["...)
	if n != 1 {
		p.dst = strconv.AppendInt(p.dst, int64(n), 10)
	}
	p.dst = append(p.dst, final)
}

// pen changes the pen, the link with it.
func (p *painter) pen(n uint32) {
	if n == p.style {
		return
	}
	list := p.screen.styles.list
	from, to := list[p.style], list[n]
	p.style = n
	if from.link != to.link {
		p.link(to.link)
	}
	from.link, to.link = 0, 0
	switch {
	case from == to:
	case to == style{}:
		p.dst = append(p.dst, "\x1b[m"...)
	default:
		p.dst = appendSGR(p.dst, to)
	}
}

func (p *painter) link(n uint32) {
	l := p.screen.links.list[n]
	p.dst = append(p.dst, "\x1b]8;"...)
	if l.id != "" {
		p.dst = append(append(p.dst, "id="...), l.id...)
	}
	p.dst = append(append(append(p.dst, ';'), l.uri...), "\x1b\\"...)
}

// blankFlags are seen on a column that nothing was written to: erasing cannot
// paint them, a space can.
const blankFlags = inverse | blink | strike | overline | underline | protected

// row paints a row whose cursor stands at its start, or at the end of the row
// before if that goes on here, and ends with a default pen. next is the row that
// follows: if it goes on this one, the last column is filled, so that the next
// character wraps by itself and the two stay one line in the browser. It
// returns the number of columns that it wrote.
func (p *painter) row(r, next *row) int {
	s, cells := p.screen, r.cells
	joined := next.wrapped
	dirty := false // the row did not start with default cells
	if r.wrapped && len(cells) > 0 {
		if cells[0].empty() || cells[0].width() == 0 { // nothing that would wrap
			p.dst = append(p.dst, " \b\x1b[X"...)
		} else {
			dirty = s.styles.list[cells[0].style].bg != 0
		}
	}
	i := 0
	for i < len(cells) {
		c := cells[i]
		if c.width() == 2 && (i+1 == len(cells) || !cells[i+1].isStub()) {
			c.ch = glyph(' ', 1) // half of it was overwritten
		}
		if !c.empty() {
			i += p.character(c, i, len(cells))
			continue
		}
		if s.styles.list[c.style].flags&blankFlags != 0 {
			p.pen(c.style)
			p.dst = append(p.dst, ' ')
			i++
			continue
		}
		end := i + 1
		for end < len(cells) && cells[end].empty() && cells[end].style == c.style {
			end++
		}
		n := end - i
		switch {
		case end < len(cells):
			if c.style != 0 || dirty {
				p.pen(c.style)
				p.number(n, 'X')
			}
			p.number(n, 'C')
		case joined:
			if n == 1 && next.startsWide() && p.blankAs(c.style, next.cells[0].style) { // it did not fit here
				if c.style != 0 || dirty {
					p.pen(c.style)
					p.number(n, 'X')
				}
				p.pen(0)
				return i
			}
			p.pen(c.style)
			for range n {
				p.dst = append(p.dst, ' ')
			}
		case c.style != 0 || dirty:
			p.pen(c.style)
			p.number(n, 'X')
			p.pen(0)
			return i
		default:
			p.pen(0)
			return i
		}
		i = end
	}
	p.pen(0)
	return len(cells)
}

// blankAs reports whether a column without content looks the same in two styles.
func (p *painter) blankAs(a, b uint32) bool {
	x, y := p.screen.styles.list[a], p.screen.styles.list[b]
	return x.bg == y.bg && x.flags&blankFlags == y.flags&blankFlags
}

// character paints one cell and tells how many columns it took.
func (p *painter) character(c cell, at, cols int) int {
	p.pen(c.style)
	w := c.width()
	if w == 0 { // a lone mark: nothing may stand right before it that it could join
		p.dst = append(p.dst, "\x1b[ q"...)
		w = 1
	}
	if c.ch&combined != 0 {
		p.dst = append(p.dst, p.screen.clusters.list[c.ch&pointMask]...)
	} else {
		p.dst = appendRune(p.dst, rune(c.ch&pointMask))
	}
	// Terminals do not agree how wide this one is: say where the next one goes.
	if disputed(c) && at+w < cols {
		p.number(at+w+1, 'G')
	}
	return w
}
