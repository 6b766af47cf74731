package screen

// The states of a terminal's parser, as DEC's machines had them. Code points go
// in, not bytes: a byte from 0x80 on is part of a character and never a control,
// but U+0080..U+009F are controls, as browsers see them.
type state uint8

const (
	ground state = iota
	escape
	escapeInter
	csiEntry
	csiParam
	csiInter
	csiIgnore
	oscString
	dcsEntry
	dcsParam
	dcsInter
	dcsIgnore
	dcsPass
	otherString // SOS, PM, APC: nobody listens
	nameString  // ESC k: a window's name for tmux, which browsers would print
)

// maxString bounds what is kept of an OSC or DCS; a longer one has no effect.
const maxString = 4096

// actions is what a parser tells. The model acts; the filter only looks.
type actions interface {
	execute(c rune)
	escDispatch(ident uint32)
	csiDispatch(ident uint32, p *params)
	oscEnd(data []byte)
	dcsEnd(ident uint32, data []byte)
}

type parser struct {
	state   state
	params  params
	collect uint32 // prefix and intermediates, then the final byte: how a sequence is named
	str     []byte
	strOver bool
	dcs     uint32
	seen    int // code points since the sequence began
}

func (p *parser) clear() {
	p.params.reset()
	p.collect = 0
}

func (p *parser) enter(st state) {
	p.state, p.seen = st, 0
	p.clear()
	p.str, p.strOver = p.str[:0], false
}

func (p *parser) put(c rune) {
	if len(p.str) >= maxString {
		p.strOver = true
		return
	}
	p.str = appendRune(p.str, c)
}

// endString ends an OSC or DCS; one that was aborted or too long is dropped.
func (p *parser) endString(a actions, ok bool) {
	st := p.state
	p.state = ground
	if !ok || p.strOver {
		return
	}
	switch st {
	case oscString:
		a.oscEnd(p.str)
	case dcsPass:
		a.dcsEnd(p.dcs, p.str)
	}
}

// step takes one code point. In ground, printable ones do not come here.
func (p *parser) step(c rune, a actions) {
	p.seen++
	if c == 0x18 || c == 0x1a || c == 0x1b || c >= 0x80 && c < 0xa0 {
		p.anywhere(c, a)
		return
	}
	switch p.state {
	case ground:
		if c < 0x20 {
			a.execute(c)
		}
	case escape:
		p.escape(c, a)
	case escapeInter:
		switch {
		case c < 0x20:
			a.execute(c)
		case c < 0x30:
			p.collect = p.collect<<8 | uint32(c)
		case c < 0x7f:
			p.state = ground
			a.escDispatch(p.collect<<8 | uint32(c))
		case c > 0x7f:
			p.state = ground
		}
	case csiEntry, csiParam, csiInter, csiIgnore:
		p.csi(c, a)
	case oscString:
		switch {
		case c == 0x07:
			p.endString(a, true)
		case c >= 0x20:
			p.put(c)
		}
	case dcsEntry, dcsParam, dcsInter:
		p.dcsHead(c)
	case dcsPass:
		if c != 0x7f {
			p.put(c)
		}
	case dcsIgnore, nameString:
	case otherString:
		if c > 0x7f {
			p.state = ground
		}
	}
}

// anywhere takes the controls that mean the same in every state.
func (p *parser) anywhere(c rune, a actions) {
	inString := p.state == oscString || p.state == dcsPass
	switch c {
	case 0x18, 0x1a:
		if inString {
			p.endString(a, false)
			return
		}
		p.state = ground
		a.execute(c)
	case 0x9c, 0x1b:
		if inString {
			p.endString(a, true)
		}
		p.state = ground
		if c == 0x1b {
			p.enter(escape)
		}
	case 0x90:
		p.enter(dcsEntry)
	case 0x9b:
		p.enter(csiEntry)
	case 0x9d:
		p.enter(oscString)
	case 0x98, 0x9e, 0x9f:
		p.enter(otherString)
	default:
		if p.state == dcsPass {
			p.endString(a, false)
		}
		p.state = ground
		a.execute(c)
	}
}

func (p *parser) escape(c rune, a actions) {
	switch {
	case c < 0x20:
		a.execute(c)
	case c < 0x30:
		p.collect = p.collect<<8 | uint32(c)
		p.state = escapeInter
	case c == '[':
		p.state = csiEntry
	case c == ']':
		p.state = oscString
	case c == 'P':
		p.state = dcsEntry
	case c == 'X' || c == '^' || c == '_':
		p.state = otherString
	case c == 'k':
		p.state = nameString
	case c < 0x7f:
		p.state = ground
		a.escDispatch(uint32(c))
	case c > 0x7f:
		p.state = ground
	}
}

func (p *parser) csi(c rune, a actions) {
	switch {
	case c < 0x20:
		a.execute(c)
	case c == 0x7f:
	case c > 0x7f:
		if p.state != csiIgnore {
			p.state = ground
		}
	case p.state == csiIgnore:
		if c >= 0x40 {
			p.state = ground
		}
	case c >= 0x40:
		p.state = ground
		a.csiDispatch(p.collect<<8|uint32(c), &p.params)
	case c < 0x30:
		p.collect = p.collect<<8 | uint32(c)
		p.state = csiInter
	case p.state == csiInter:
		p.state = csiIgnore
	case c < 0x3c:
		p.param(c)
		p.state = csiParam
	case p.state == csiEntry:
		p.collect = p.collect<<8 | uint32(c)
		p.state = csiParam
	default:
		p.state = csiIgnore
	}
}

func (p *parser) param(c rune) {
	switch c {
	case ';':
		p.params.next()
	case ':':
		p.params.nextSub()
	default:
		p.params.digit(c - '0')
	}
}

// dcsHead takes what stands before the data of a DCS.
func (p *parser) dcsHead(c rune) {
	switch {
	case c < 0x20 || c == 0x7f:
	case c > 0x7f:
		p.state = ground
	case c >= 0x40:
		p.dcs = p.collect<<8 | uint32(c)
		p.state = dcsPass
	case c < 0x30:
		p.collect = p.collect<<8 | uint32(c)
		p.state = dcsInter
	case p.state == dcsInter:
		p.state = dcsIgnore
	case c < 0x3c:
		p.param(c)
		p.state = dcsParam
	case p.state == dcsEntry:
		p.collect = p.collect<<8 | uint32(c)
		p.state = dcsParam
	default:
		p.state = dcsIgnore
	}
}
