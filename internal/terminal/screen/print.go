package screen

import "unicode/utf8"

// maxMarks bounds the marks that join one character; more are dropped.
const maxMarks = 32

// printASCII prints a run of printable ASCII. It is where nearly all time goes.
func (s *Screen) printASCII(p []byte) {
	if s.modes.insert || s.charsets.active != 0 || !s.modes.wrap {
		for _, b := range p {
			s.print(s.charsets.translate(rune(b)))
		}
		return
	}
	b, st := s.buf, s.penStyle()
	r := b.row()
	if b.x > 0 && b.x <= s.cols && r.cells[b.x-1].width() == 2 {
		r.cells[b.x-1] = cell{nullCell, st}
	}
	for len(p) > 0 {
		if b.x >= s.cols {
			s.wrap(0)
			r = b.row()
		}
		n := min(len(p), s.cols-b.x)
		cells := r.cells[b.x : b.x+n]
		for i, c := range p[:n] {
			cells[i] = cell{uint32(c) | 1<<widthShift, st}
		}
		b.x += n
		p = p[n:]
	}
	if b.x < s.cols && r.cells[b.x].isStub() {
		r.cells[b.x] = cell{nullCell, st}
	}
	s.joins = 1
}

// print prints one character, or joins a mark to the one before.
func (s *Screen) print(c rune) {
	b, st := s.buf, s.penStyle()
	r := b.row()
	w := runeWidth(c)
	if w == 0 && s.joins > 0 && b.x > 0 {
		s.join(r, c)
		return
	}
	if b.x > 0 && b.x <= s.cols && r.cells[b.x-1].width() == 2 {
		r.cells[b.x-1] = cell{nullCell, st}
	}
	if b.x+w > s.cols {
		if s.modes.wrap {
			s.wrap(st)
			r = b.row()
		} else {
			b.x = s.cols - 1
			if w == 2 {
				return
			}
		}
	}
	if b.x >= s.cols { // a lone mark after the last column has no place
		return
	}
	if s.modes.insert {
		r.insert(b.x, w, cell{nullCell, st})
	}
	r.cells[b.x] = cell{glyph(c, w), st}
	b.x++
	if w == 2 {
		r.cells[b.x] = cell{0, st}
		b.x++
	}
	if b.x < s.cols && r.cells[b.x].isStub() {
		r.cells[b.x] = cell{nullCell, st}
	}
	s.joins = w
}

// join adds a mark to the character before the cursor.
func (s *Screen) join(r *row, c rune) {
	at := min(s.buf.x, s.cols) - 1
	if r.cells[at].width() == 0 && at > 0 {
		at--
	}
	one := &r.cells[at]
	if one.empty() { // there is nothing that it could join
		return
	}
	text := s.text(*one)
	if utf8.RuneCountInString(text) > maxMarks {
		return
	}
	one.ch = one.ch&^contentMask | combined | s.clusters.number(text+string(c))
}

// text is what a cell shows, empty for a null cell.
func (s *Screen) text(c cell) string {
	switch {
	case c.ch&combined != 0:
		return s.clusters.list[c.ch&pointMask]
	case c.empty():
		return ""
	}
	return string(rune(c.ch & pointMask))
}

// wrap goes on in the next line, which continues this one. The columns that a
// wide character left free are erased.
func (s *Screen) wrap(st uint32) {
	b := s.buf
	if b.x < s.cols {
		fill(b.row().cells[b.x:], cell{nullCell, st})
	}
	b.x = 0
	b.y++
	if b.y == b.bottom+1 {
		b.y--
		s.scroll(true)
		return
	}
	b.y = min(b.y, s.rows-1)
	b.row().wrapped = true
}

// scroll moves the region up by a line. A line that leaves the top of the
// primary screen goes into the history.
func (s *Screen) scroll(wrapped bool) {
	b := s.buf
	gone := b.rows[b.top]
	if b == s.primary && b.top == 0 {
		s.remember(gone, b.rows, wrapped)
	}
	copy(b.rows[b.top:], b.rows[b.top+1:b.bottom+1])
	gone.clear(s.blank().style)
	gone.wrapped = wrapped
	b.rows[b.bottom] = gone
}

// repeat prints the last character again.
func (s *Screen) repeat(n int) {
	b := s.buf
	if s.joins == 0 || b.x < s.joins {
		return
	}
	text := s.text(b.row().cells[min(b.x, s.cols)-s.joins])
	s.joins = 0
	for range min(n, s.cols*s.rows) {
		for _, c := range text {
			s.print(c)
		}
	}
}
