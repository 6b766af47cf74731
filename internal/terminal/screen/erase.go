package screen

func nothing(cell) bool { return false }

// keptBy says which cells an erasure leaves: a selective one those that are
// protected.
func (s *Screen) keptBy(selective bool) func(cell) bool {
	if !selective {
		return nothing
	}
	return func(c cell) bool { return s.styles.list[c.style].flags&protected != 0 }
}

func (s *Screen) eraseRow(y int, kept func(cell) bool) {
	r := s.buf.rows[y]
	r.replace(0, s.cols, s.blank(), kept)
	r.wrapped = false
}

func (s *Screen) eraseDisplay(what int, selective bool) {
	b, kept := s.buf, s.keptBy(selective)
	s.restrictTo(s.cols)
	switch what {
	case 0:
		s.eraseLine(0, selective)
		for y := b.y + 1; y < s.rows; y++ {
			s.eraseRow(y, kept)
		}
	case 1:
		b.row().replace(0, b.x+1, s.blank(), kept)
		b.row().wrapped = false
		if b.x+1 >= s.cols && b.y+1 < s.rows {
			b.rows[b.y+1].wrapped = false
		}
		for y := range b.y {
			s.eraseRow(y, kept)
		}
	case 2:
		for y := range s.rows {
			s.eraseRow(y, kept)
		}
	case 3:
		if b == s.primary {
			s.history.clear()
		}
	}
}

func (s *Screen) eraseLine(what int, selective bool) {
	b, kept := s.buf, s.keptBy(selective)
	s.restrictTo(s.cols)
	switch what {
	case 0:
		b.row().replace(b.x, s.cols, s.blank(), kept)
		if b.x == 0 {
			b.row().wrapped = false
		}
	case 1:
		b.row().replace(0, b.x+1, s.blank(), kept)
	case 2:
		s.eraseRow(b.y, kept)
	}
}

func (s *Screen) eraseChars(n int) {
	s.restrict()
	x := s.buf.x
	s.buf.row().replace(x, x+min(n, s.cols), s.blank(), nothing)
}

func (s *Screen) insertChars(n int) {
	s.restrict()
	s.buf.row().insert(s.buf.x, n, s.blank())
}

func (s *Screen) deleteChars(n int) {
	s.restrict()
	s.buf.row().remove(s.buf.x, n, s.blank())
}

// inRegion reports whether the cursor's line scrolls.
func (s *Screen) inRegion() bool { return s.buf.y >= s.buf.top && s.buf.y <= s.buf.bottom }

// shiftUp takes n lines out at top, shiftDown makes room for n; nothing goes
// into the history.
func (s *Screen) shiftUp(top, n int, blank uint32) {
	b := s.buf
	for range min(n, b.bottom-top+1) {
		r := b.rows[top]
		copy(b.rows[top:], b.rows[top+1:b.bottom+1])
		r.clear(blank)
		b.rows[b.bottom] = r
	}
}

func (s *Screen) shiftDown(top, n int, blank uint32) {
	b := s.buf
	for range min(n, b.bottom-top+1) {
		r := b.rows[b.bottom]
		copy(b.rows[top+1:b.bottom+1], b.rows[top:b.bottom])
		r.clear(blank)
		b.rows[top] = r
	}
}

func (s *Screen) insertLines(n int) {
	s.restrict()
	if s.inRegion() {
		s.shiftDown(s.buf.y, n, s.blank().style)
		s.buf.x = 0
	}
}

func (s *Screen) deleteLines(n int) {
	s.restrict()
	if s.inRegion() {
		s.shiftUp(s.buf.y, n, s.blank().style)
		s.buf.x = 0
	}
}

// columns inserts (n > 0) or deletes (n < 0) columns in the whole region.
func (s *Screen) columns(x, n int) {
	if !s.inRegion() {
		return
	}
	x %= s.cols // the last column's right edge counts as the first, as in a browser
	for _, r := range s.buf.rows[s.buf.top : s.buf.bottom+1] {
		if n > 0 {
			r.insert(x, n, s.blank())
		} else {
			r.remove(x, -n, s.blank())
		}
		r.wrapped = false
	}
}

// align fills the screen with E, a test pattern.
func (s *Screen) align() {
	s.moveTo(0, 0)
	n := s.penStyle()
	for _, r := range s.buf.rows[s.buf.y:] {
		fill(r.cells, cell{glyph('E', 1), n})
		r.wrapped = false
	}
	s.moveTo(0, 0)
}
