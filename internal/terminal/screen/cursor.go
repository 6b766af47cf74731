package screen

// restrict brings the cursor back onto the screen, in origin mode into the
// region. Nothing waits to be wrapped any more.
func (s *Screen) restrict() { s.restrictTo(s.cols - 1) }

func (s *Screen) restrictTo(maxX int) {
	b := s.buf
	b.x = clamp(b.x, 0, maxX)
	if s.modes.origin {
		b.y = clamp(b.y, b.top, b.bottom)
	} else {
		b.y = clamp(b.y, 0, s.rows-1)
	}
}

// moveTo takes what a program says: in origin mode lines count from the region.
func (s *Screen) moveTo(x, y int) {
	if s.modes.origin {
		y += s.buf.top
	}
	s.buf.x, s.buf.y = x, y
	s.restrict()
}

func (s *Screen) move(dx, dy int) {
	s.restrict()
	s.buf.x += dx
	s.buf.y += dy
	s.restrict()
}

// up and down stop at the region's edge if they start inside.
func (s *Screen) up(n int) {
	if d := s.buf.y - s.buf.top; d >= 0 {
		n = min(n, d)
	}
	s.move(0, -n)
}

func (s *Screen) down(n int) {
	if d := s.buf.bottom - s.buf.y; d >= 0 {
		n = min(n, d)
	}
	s.move(0, n)
}

func (s *Screen) lineFeed() {
	b := s.buf
	if s.modes.newline {
		b.x = 0
	}
	b.y++
	switch {
	case b.y == b.bottom+1:
		b.y--
		s.scroll(false)
	case b.y >= s.rows:
		b.y = s.rows - 1
	default:
		b.row().wrapped = false
	}
	if b.x >= s.cols {
		b.x = s.cols - 1
	}
}

// index is a line feed that does not end the line it reaches.
func (s *Screen) index() {
	b := s.buf
	s.restrict()
	b.y++
	if b.y == b.bottom+1 {
		b.y--
		s.scroll(false)
	}
	s.restrict()
}

func (s *Screen) reverseIndex() {
	b := s.buf
	s.restrict()
	if b.y == b.top {
		s.shiftDown(b.top, 1, s.blank().style)
		return
	}
	b.y--
	s.restrict()
}

// backspace, with reverse wraparound, undoes the wrapping of a line.
func (s *Screen) backspace() {
	b := s.buf
	if !s.modes.reverseWrap {
		s.restrict()
		b.x = max(b.x-1, 0)
		return
	}
	s.restrictTo(s.cols)
	if b.x > 0 {
		b.x--
	} else if b.y > b.top && b.y <= b.bottom && b.row().wrapped {
		b.row().wrapped = false
		b.y--
		b.x = s.cols - 1
		if c := b.row().cells[b.x]; c.empty() && c.width() > 0 {
			b.x--
		}
	}
	s.restrict()
}

func (s *Screen) tab(n int) {
	b := s.buf
	if b.x >= s.cols {
		return
	}
	for range min(n, s.cols) {
		for b.x++; b.x < s.cols && !b.tabs[b.x]; b.x++ {
		}
		b.x = min(b.x, s.cols-1)
	}
}

func (s *Screen) backTab(n int) {
	b := s.buf
	if b.x >= s.cols {
		return
	}
	for range min(n, s.cols) {
		for b.x--; b.x > 0 && !b.tabs[b.x]; b.x-- {
		}
		b.x = max(b.x, 0)
	}
}

func (s *Screen) clearTabs(what int) {
	b := s.buf
	switch what {
	case 0:
		b.tabs[min(b.x, s.cols)] = false
	case 3:
		clear(b.tabs)
	}
}

func (s *Screen) save() {
	b := s.buf
	b.saved = saved{x: b.x, y: b.y, pen: s.pen, charset: s.charsets.active}
}

func (s *Screen) restore() {
	b := s.buf
	b.x, b.y = b.saved.x, b.saved.y
	s.pen = b.saved.pen
	s.penChanged()
	s.charsets.active = b.saved.charset
	s.restrict()
}

func (s *Screen) setRegion(p *params) {
	top, bottom := p.count(0), p.at(1)
	if bottom == 0 || bottom > s.rows {
		bottom = s.rows
	}
	if bottom > top {
		s.buf.top, s.buf.bottom = top-1, bottom-1
		s.moveTo(0, 0)
	}
}
