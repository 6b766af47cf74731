package screen

import (
	"sort"
	"strconv"
)

// Snapshot is what brings a browser's terminal of the same size into this
// state, whatever state it is in: it begins with a full reset. At most
// historyLines lines of history come with it, the newest, and only so many that
// the whole stays under maxBytes (the screen itself is always whole).
//
// It holds no question to the terminal, and nothing of a sequence that the
// program has not finished: whoever follows with the output that comes through
// a [Filter] misses nothing.
func (s *Screen) Snapshot(historyLines, maxBytes int) []byte {
	p := painter{screen: s}
	if s.Alternate() {
		p.place(s.primary)
		p.regionOf(s.primary)
		p.keyboard(s.keyboards[0])
		p.savedOf(s.primary, "\x1b[?1049h")
		p.text("\x1b[r\x1b[H\x1b[2J")
		p.rows(s.alternate.rows)
	} else if s.alternate.saved != (saved{}) { // it outlives the screen
		p.text("\x1b[?1047h")
		p.savedOf(s.alternate, "\x1b7")
		p.text("\x1b[?1047l")
	}
	p.place(s.buf)
	p.regionOf(s.buf)
	p.keyboard(*s.keyboard())
	if s.buf.saved != (saved{}) {
		p.savedOf(s.buf, "\x1b7")
	}
	p.modes()
	p.cursor()
	p.unfinished()
	tail := p.dst

	p = painter{screen: s}
	p.text("\x18\x1bc\x1b[20l") // ends a sequence that was cut, then resets
	p.colors()
	p.text("\x1b]2;")
	p.text(s.title)
	p.text("\x1b\\")
	head := len(p.dst)
	p.rows(s.primary.rows)
	screen := p.dst[head:]
	past := s.past(historyLines, maxBytes-len(p.dst)-len(tail))

	out := make([]byte, 0, len(p.dst)+len(past)+len(tail))
	out = append(out, p.dst[:head]...)
	out = append(out, past...)
	out = append(out, screen...)
	return append(out, tail...)
}

// past paints the newest lines of the history, and ends where the first row of
// the screen begins.
func (s *Screen) past(lines, room int) []byte {
	h := &s.history
	first, size := h.len(), 0
	for first > 0 && h.len()-first < lines {
		l := h.at(first - 1)
		if size += len(l.paint) + int(l.cols-l.used) + 2; size > room {
			break
		}
		first--
	}
	if first == h.len() {
		return nil
	}
	out := make([]byte, 0, size+2)
	for i := first; i < h.len(); i++ {
		l := h.at(i)
		out = append(out, l.paint...)
		joined, wide := s.primary.rows[0].wrapped, s.primary.rows[0].startsWide()
		if i+1 < h.len() {
			joined, wide = h.at(i+1).wrapped, h.at(i+1).wide
		}
		out = end(out, joined, wide, int(l.cols-l.used))
	}
	return out
}

// end goes to the next row. If that one goes on here, the columns that are left
// are filled, so that it wraps.
func end(out []byte, joined, wide bool, left int) []byte {
	if !joined {
		return append(out, "\r\n"...)
	}
	if left == 1 && wide {
		return out
	}
	for range left {
		out = append(out, ' ')
	}
	return out
}

func (p *painter) text(s string) { p.dst = append(p.dst, s...) }

// rows paints a whole grid from its top.
func (p *painter) rows(rows []*row) {
	for i, r := range rows {
		next := &row{}
		if i+1 < len(rows) {
			next = rows[i+1]
		}
		used := p.row(r, next)
		if i+1 < len(rows) {
			p.dst = end(p.dst, next.wrapped, next.startsWide(), len(r.cells)-used)
		}
	}
}

// place sets the tab stops of a buffer, if they are not as they are at first.
func (p *painter) place(b *buffer) {
	usual := true
	for x := range p.screen.cols {
		usual = usual && b.tabs[x] == (x%8 == 0)
	}
	if usual {
		return
	}
	p.text("\x1b[3g")
	for x := range p.screen.cols {
		if b.tabs[x] {
			p.number(x+1, 'G')
			p.text("\x1bH")
		}
	}
}

func (p *painter) regionOf(b *buffer) {
	if b.top != 0 || b.bottom != p.screen.rows-1 {
		p.text("\x1b[")
		p.dst = strconv.AppendInt(p.dst, int64(b.top+1), 10)
		p.number2(b.bottom+1, 'r')
	}
}

func (p *painter) number2(n int, final byte) {
	p.dst = append(strconv.AppendInt(append(p.dst, ';'), int64(n), 10), final)
}

func (p *painter) moveTo(x, y int) {
	p.text("\x1b[")
	p.dst = strconv.AppendInt(p.dst, int64(y+1), 10)
	p.number2(x+1, 'H')
}

// savedOf brings about what the buffer has saved, and saves it with how.
func (p *painter) savedOf(b *buffer, how string) {
	p.moveTo(min(b.saved.x, p.screen.cols-1), min(b.saved.y, p.screen.rows-1))
	p.pen(p.screen.styles.number(b.saved.pen))
	if b.saved.charset != 0 {
		p.text("\x1b(" + string(rune(b.saved.charset)))
	}
	p.text(how)
	if b.saved.charset != 0 {
		p.text("\x1b(B")
	}
	p.pen(0)
}

func (p *painter) keyboard(flags []int) {
	for _, f := range flags {
		p.text("\x1b[>" + strconv.Itoa(f) + "u")
	}
}

func (p *painter) colors() {
	s := p.screen
	if s.colors == nil {
		return
	}
	p.text("\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\")
	numbers := make([]int, 0, len(s.colors))
	for n := range s.colors {
		numbers = append(numbers, n)
	}
	sort.Ints(numbers)
	for _, n := range numbers {
		if n < 256 {
			p.text("\x1b]4;" + strconv.Itoa(n) + ";" + s.colors[n] + "\x1b\\")
		} else {
			p.text("\x1b]" + strconv.Itoa(10+n-colorForeground) + ";" + s.colors[n] + "\x1b\\")
		}
	}
}

// modes sets what differs from a terminal that was just reset. A held-back
// display (2026) is not among them: what it holds back is painted.
func (p *painter) modes() {
	m := p.screen.modes
	for _, mode := range [...]struct {
		set  bool
		code string
	}{
		{m.newline, "\x1b[20h"}, {m.appCursor, "\x1b[?1h"}, {m.appKeypad, "\x1b="}, {!m.wrap, "\x1b[?7l"},
		{m.reverseWrap, "\x1b[?45h"}, {m.hidden, "\x1b[?25l"}, {m.focus, "\x1b[?1004h"}, {m.bracketed, "\x1b[?2004h"},
		{m.blink > 0, "\x1b[?12h"}, {m.blink < 0, "\x1b[?12l"},
	} {
		if mode.set {
			p.text(mode.code)
		}
	}
	for _, mode := range [...]int{m.mouse, m.mouseCode} {
		if mode != 0 {
			p.private(mode, 'h')
		}
	}
	for i, v := range m.others {
		switch v {
		case 1:
			p.private(otherModes[i], 'h')
		case -1:
			p.private(otherModes[i], 'l')
		}
	}
	if m.cursor != 0 {
		p.text("\x1b[" + strconv.Itoa(m.cursor) + " q")
	}
	if m.otherKeys != 0 {
		p.text("\x1b[>4;" + strconv.Itoa(m.otherKeys) + "m")
	}
}

func (p *painter) private(mode int, final byte) {
	p.text("\x1b[?")
	p.dst = append(strconv.AppendInt(p.dst, int64(mode), 10), final)
}

// designated sets the character sets.
func (p *painter) designated() {
	c := p.screen.charsets
	for level, set := range c.sets {
		if set != 0 {
			p.dst = append(p.dst, 0x1b, "()*+"[level], set)
		}
	}
	p.text([...]string{"", "\x0e", "\x1bn", "\x1bo"}[c.level])
}

// charsets also sees to a set in use that is not the one designated, as after
// ESC 8: only that brings it back. The cursor is to follow.
func (p *painter) charsets() {
	p.designated()
	c := p.screen.charsets
	if c.active != c.sets[c.level] && c.active == p.screen.buf.saved.charset {
		p.text("\x1b8")
		p.style = p.screen.styles.number(p.screen.buf.saved.pen)
	}
}

// cursor comes last of all that is seen: nothing may follow that would move it.
// If the last thing that happened was a character, it is printed once more, so
// that a mark which follows joins it and the next one wraps as it would have.
func (p *painter) cursor() {
	s, b := p.screen, p.screen.buf
	top, x := 0, min(b.x, s.cols)
	if s.modes.origin {
		top = b.top
	}
	w := s.joins
	if w == 0 && b.x >= s.cols {
		w = 1
		if b.row().cells[s.cols-1].isStub() {
			w = 2
		}
	}
	var last cell
	if w > 0 && x >= w {
		last = b.row().cells[x-w]
	}
	lone := last.width() == 0 && !last.empty()
	again := w > 0 && (last.width() == w || lone) && (b.x >= s.cols || !last.empty())
	before := !again || s.charsets.keeps(s.text(last))
	if before {
		p.charsets()
	}
	if s.modes.origin {
		p.text("\x1b[?6h")
	}
	if s.modes.insert {
		p.text("\x1b[4h")
	}
	if !again {
		p.moveTo(min(b.x, s.cols-1), b.y-top)
		p.pen(s.penStyle())
		return
	}
	p.moveTo(x-w, b.y-top)
	p.pen(last.style)
	if s.modes.insert {
		p.number(w, 'P')
	}
	if last.empty() {
		p.text(" ")
	} else {
		p.text(s.text(last))
		if disputed(last) && b.x < s.cols {
			p.number(b.x+1, 'G')
		}
	}
	p.pen(s.penStyle())
	if s.joins == 0 {
		p.text("\x00") // nothing joins it
	}
	if !before {
		p.designated()
	}
}

// unfinished opens a sequence that is so long that its start has been passed to
// those who watch; the rest of it must not be printed by those who come now.
func (p *painter) unfinished() {
	pr := &p.screen.parser
	if pr.state == ground || pr.seen < maxHeld {
		return
	}
	switch pr.state {
	case oscString:
		p.text("\x1b]9999;")
	case dcsEntry, dcsParam, dcsInter, dcsIgnore, dcsPass:
		p.text("\x1bP$~")
	case otherString:
		p.text("\x1b_")
	case csiEntry, csiParam, csiInter, csiIgnore:
		p.text("\x1b[<?")
	}
}
