package screen

import "strings"

func (s *Screen) execute(c rune) {
	s.joins = 0
	switch c {
	case '\n', '\v', '\f':
		s.lineFeed()
	case '\r':
		s.buf.x = 0
	case '\b':
		s.backspace()
	case '\t':
		s.tab(1)
	case 0x0e:
		s.charsets.use(1)
	case 0x0f:
		s.charsets.use(0)
	case 0x84:
		s.index()
	case 0x85:
		s.buf.x = 0
		s.index()
	case 0x88:
		s.buf.tabs[min(s.buf.x, s.cols)] = true
	}
}

func (s *Screen) escDispatch(id uint32) {
	s.joins = 0
	switch id {
	case '7':
		s.save()
	case '8':
		s.restore()
	case 'D':
		s.index()
	case 'E':
		s.buf.x = 0
		s.index()
	case 'H':
		s.buf.tabs[min(s.buf.x, s.cols)] = true
	case 'M':
		s.reverseIndex()
	case '=':
		s.modes.appKeypad = true
	case '>':
		s.modes.appKeypad = false
	case 'c':
		s.reset()
	case '~':
		s.charsets.use(1)
	case 'n', '}':
		s.charsets.use(2)
	case 'o', '|':
		s.charsets.use(3)
	case ident1("#8"):
		s.align()
	case ident1("%@"), ident1("%G"):
		s.charsets.use(0)
		s.charsets.designate(0, 'B')
	default:
		if id>>16 != 0 {
			return
		}
		set := byte(id)
		if set != 'B' && replacements(set) == nil {
			return
		}
		if level := strings.IndexByte("()*+", byte(id>>8)); level >= 0 {
			s.charsets.designate(level, set)
		} else if level := strings.IndexByte("-.", byte(id>>8)); level >= 0 {
			s.charsets.designate(level+1, set)
		}
	}
}

// ident1 is ident for a constant of two bytes.
func ident1(seq string) uint32 { return uint32(seq[0])<<8 | uint32(seq[1]) }

func (s *Screen) csiDispatch(id uint32, p *params) {
	switch id {
	case 'm':
		s.sgr(p)
	case 'b':
		s.repeat(p.count(0))
	case 'h':
		s.setModes(p, true)
	case 'l':
		s.setModes(p, false)
	case '?'<<8 | 'h':
		s.setPrivateModes(p, true)
	case '?'<<8 | 'l':
		s.setPrivateModes(p, false)
	case 'r':
		s.setRegion(p)
	case 's':
		s.save()
	case 'u':
		s.restore()
	case 't':
		s.windowOp(p)
	case '!'<<8 | 'p':
		s.softReset()
	case ' '<<8 | 'q':
		if n := p.at(0); n <= 6 {
			s.modes.cursor = n
		}
	case '"'<<8 | 'q':
		switch p.at(0) {
		case 1:
			s.pen.flags |= protected
		case 0, 2:
			s.pen.flags &^= protected
		}
		s.penChanged()
	case '>'<<8 | 'u':
		s.pushKeyboard(p.at(0))
	case '<'<<8 | 'u':
		s.popKeyboard(p.count(0))
	case '='<<8 | 'u':
		s.setKeyboard(p.at(0), p.count(1))
	case '>'<<8 | 'm':
		if p.at(0) == 4 {
			s.modes.otherKeys = clamp(p.at(1), 0, 3)
		}
	default:
		if !s.csiMove(id, p) {
			s.csiEdit(id, p)
		}
	}
	s.joins = 0
}

func (s *Screen) csiMove(id uint32, p *params) bool {
	b, n := s.buf, p.count(0)
	switch id {
	case 'A':
		s.up(n)
	case 'B':
		s.down(n)
	case 'C', 'a':
		s.move(min(n, s.cols), 0)
	case 'D':
		s.move(-min(n, s.cols), 0)
	case 'E':
		s.down(n)
		b.x = 0
	case 'F':
		s.up(n)
		b.x = 0
	case 'G', '`':
		b.x = n - 1
		s.restrict()
	case 'H', 'f':
		s.moveTo(p.count(1)-1, n-1)
	case 'd':
		s.moveTo(b.x, n-1)
	case 'e':
		s.move(0, min(n, s.rows))
	case 'I':
		s.tab(n)
	case 'Z':
		s.backTab(n)
	case 'g':
		s.clearTabs(p.at(0))
	default:
		return false
	}
	return true
}

func (s *Screen) csiEdit(id uint32, p *params) {
	b, n := s.buf, p.count(0)
	switch id {
	case '@':
		s.insertChars(n)
	case 'P':
		s.deleteChars(n)
	case 'X':
		s.eraseChars(n)
	case 'J':
		s.eraseDisplay(p.at(0), false)
	case '?'<<8 | 'J':
		s.eraseDisplay(p.at(0), true)
	case 'K':
		s.eraseLine(p.at(0), false)
	case '?'<<8 | 'K':
		s.eraseLine(p.at(0), true)
	case 'L':
		s.insertLines(n)
	case 'M':
		s.deleteLines(n)
	case 'S':
		s.shiftUp(b.top, n, s.blank().style)
	case 'T':
		s.shiftDown(b.top, n, 0)
	case ' '<<8 | '@':
		s.columns(0, -min(n, s.cols))
	case ' '<<8 | 'A':
		s.columns(0, min(n, s.cols))
	case '\''<<8 | '}':
		s.columns(b.x, min(n, s.cols))
	case '\''<<8 | '~':
		s.columns(b.x, -min(n, s.cols))
	}
}
