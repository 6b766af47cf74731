package screen

// modes is what a program switches, but for the screens themselves.
type modes struct {
	insert, newline           bool
	appCursor, appKeypad      bool
	origin, wrap, reverseWrap bool
	hidden                    bool // the cursor
	focus, bracketed, sync    bool
	mouse                     int // 0, or the mode: 9, 1000, 1002, 1003
	mouseCode                 int // 0, or the mode: 1006, 1016
	cursor                    int // DECSCUSR, 0 is the user's own
	blink                     int // ?12: 0 never said, 1 on, -1 off
	otherKeys                 int // XTMODKEYS 4
	others                    [len(otherModes)]int8
}

// otherModes are private modes that this model only carries: 1 on, -1 off.
// Browsers ignore them, other terminals do not.
var otherModes = [...]int{1005, 1007, 1015, 1034, 1035, 1036, 1039, 2027, 2031, 2048}

// powerOn keeps what a reset leaves alone.
func powerOn(m modes) modes {
	return modes{wrap: true, newline: m.newline, blink: m.blink}
}

// softReset is DECSTR.
func (s *Screen) softReset() {
	b, m := s.buf, s.modes
	s.modes = powerOn(m)
	s.modes.mouse, s.modes.mouseCode, s.modes.others, s.modes.otherKeys = m.mouse, m.mouseCode, m.others, m.otherKeys
	b.top, b.bottom = 0, s.rows-1
	s.pen = style{}
	s.penChanged()
	s.charsets = charsets{}
	b.saved = saved{}
}

func (s *Screen) setModes(p *params, on bool) {
	for i := range p.n {
		switch p.at(i) {
		case 4:
			s.modes.insert = on
		case 20:
			s.modes.newline = on
		}
	}
}

func (s *Screen) setPrivateModes(p *params, on bool) {
	for i := range p.n {
		s.setPrivateMode(p.at(i), on)
	}
}

func (s *Screen) setPrivateMode(mode int, on bool) {
	m := &s.modes
	switch mode {
	case 1:
		m.appCursor = on
	case 2:
		if on {
			for level := range s.charsets.sets {
				s.charsets.designate(level, 'B')
			}
		}
	case 6:
		m.origin = on
		s.moveTo(0, 0)
	case 7:
		m.wrap = on
	case 12:
		m.blink = -1
		if on {
			m.blink = 1
		}
	case 25:
		m.hidden = !on
	case 45:
		m.reverseWrap = on
	case 66:
		m.appKeypad = on
	case 9, 1000, 1002, 1003:
		m.mouse = 0
		if on {
			m.mouse = mode
		}
	case 1006, 1016:
		m.mouseCode = 0
		if on {
			m.mouseCode = mode
		}
	case 1004:
		m.focus = on
	case 2004:
		m.bracketed = on
	case 2026:
		m.sync = on
	case 1048:
		if on {
			s.save()
		} else {
			s.restore()
		}
	case 47, 1047, 1049:
		s.showAlternate(on, mode == 1049)
	default:
		for i, other := range otherModes {
			if other == mode {
				m.others[i] = -1
				if on {
					m.others[i] = 1
				}
			}
		}
	}
}

// showAlternate changes the screen. The cursor stays where it is; the alternate
// screen is empty each time.
func (s *Screen) showAlternate(on, withCursor bool) {
	if on {
		if withCursor {
			s.save()
		}
		if s.buf == s.primary {
			s.alternate.x, s.alternate.y = s.primary.x, s.primary.y
			for _, r := range s.alternate.rows {
				r.clear(s.blank().style)
			}
			s.buf = s.alternate
		}
		return
	}
	if s.buf == s.alternate {
		kept := s.alternate.saved
		s.primary.x, s.primary.y = s.alternate.x, s.alternate.y
		s.alternate = newBuffer(s.cols, s.rows)
		s.alternate.saved = kept
		s.keyboards[1] = nil
		s.buf = s.primary
	}
	if withCursor {
		s.restore()
	}
}

// keyboard is the list of kitty keyboard flags of the shown screen: the last
// one counts.
func (s *Screen) keyboard() *[]int {
	if s.Alternate() {
		return &s.keyboards[1]
	}
	return &s.keyboards[0]
}

// maxKeyboards bounds that list; the oldest goes.
const maxKeyboards = 16

func (s *Screen) pushKeyboard(flags int) {
	k := s.keyboard()
	*k = append(*k, flags&0x1f)
	if len(*k) > maxKeyboards {
		*k = (*k)[1:]
	}
}

func (s *Screen) popKeyboard(n int) {
	k := s.keyboard()
	*k = (*k)[:max(len(*k)-n, 0)]
}

func (s *Screen) setKeyboard(flags, how int) {
	k := s.keyboard()
	if len(*k) == 0 {
		*k = append(*k, 0)
	}
	last := &(*k)[len(*k)-1]
	switch how {
	case 1:
		*last = flags & 0x1f
	case 2:
		*last |= flags & 0x1f
	case 3:
		*last &^= flags
	}
}
