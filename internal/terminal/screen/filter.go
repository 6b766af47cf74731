package screen

import "bytes"

// maxHeld is how many bytes of an unfinished sequence a [Filter] keeps back.
const maxHeld = maxString

// Part is a piece of output for those who watch.
type Part struct {
	Bytes []byte
	// Query says that these bytes ask the terminal something which tmux does
	// not answer: they are for one viewer only, else the program gets as many
	// answers as there are viewers.
	Query bool
}

// Filter stands between a pane's output and those who watch it. It takes out
// what tmux answers itself (which a browser would answer once more, into the
// program's input), what reads or writes a clipboard, and the window names that
// are meant for tmux; it marks all other questions. Everything else passes as
// it is, byte for byte, whatever it is.
//
// A sequence or a character that is not complete is kept back until it is: a
// viewer that starts in between, with [Screen.Snapshot], begins where it
// begins, and xterm.js, which loses some characters that are cut, gets none. A
// sequence of more than 4 KiB passes as it comes.
type Filter struct {
	// Clipboard lets programs write to the viewers' clipboards (OSC 52). They
	// never read them.
	Clipboard bool

	parser  parser
	decoder decoder
	unit    []byte // what is kept back
	st      bool   // the unit is a string whose end may still be ESC \
	long    rest   // what happens to the rest of a long sequence
	begun   bool   // parser has been set up, and a sequence is open
	verdict verdict
	inner   []byte // controls that a sequence had inside, which work all the same

	out  []byte
	cuts []cut
}

type verdict uint8

const (
	pass verdict = iota
	drop
	query
)

type rest uint8

const (
	hold rest = iota
	passing
	dropping
)

type cut struct {
	end   int
	query bool
}

// Feed takes output, cut anywhere, and gives what is to be passed on, in order.
// The bytes are good until the next call.
func (f *Filter) Feed(p []byte) []Part {
	if len(f.unit) == 0 && f.long == hold && !f.begun && start(p) == len(p) {
		if len(p) == 0 {
			return nil
		}
		return []Part{{Bytes: p}}
	}
	f.out, f.cuts = f.out[:0], f.cuts[:0]
	for len(p) > 0 {
		if len(f.unit) == 0 && !f.begun {
			n := start(p)
			f.emit(p[:n], false)
			if p = p[n:]; len(p) == 0 {
				break
			}
		}
		if f.take(p[0]) {
			p = p[1:]
		}
	}
	parts, from := make([]Part, 0, len(f.cuts)), 0
	for _, c := range f.cuts {
		parts = append(parts, Part{Bytes: f.out[from:c.end:c.end], Query: c.query})
		from = c.end
	}
	return parts
}

func (f *Filter) reset() {
	f.unit = f.unit[:0]
	f.inner = f.inner[:0]
	f.st, f.begun, f.long, f.verdict = false, false, hold, pass
	f.decoder = decoder{}
	f.parser.state = ground
}

// start is the number of bytes before the first that must be looked at: an
// escape, a C1 control in UTF-8, or the incomplete character at the end.
func start(p []byte) int {
	end := bytes.IndexByte(p, 0x1b)
	whole := end < 0
	if whole {
		end = len(p)
	}
	for at := 0; ; {
		i := bytes.IndexByte(p[at:end], 0xc2)
		if i < 0 {
			break
		}
		at += i + 1
		if at < len(p) && p[at]&0xe0 == 0x80 {
			return at - 1
		}
	}
	if whole {
		return len(p) - incomplete(p)
	}
	return end
}

// incomplete is how many bytes at the end begin a character that is not over.
func incomplete(p []byte) int {
	for n := 1; n <= 3 && n <= len(p); n++ {
		switch b := p[len(p)-n]; {
		case b&0xc0 == 0x80:
			continue
		case b&0xe0 == 0xc0 && n < 2, b&0xf0 == 0xe0 && n < 3, b&0xf8 == 0xf0 && n < 4:
			return n
		}
		break
	}
	return 0
}

func (f *Filter) emit(p []byte, query bool) {
	if len(p) == 0 {
		return
	}
	f.out = append(f.out, p...)
	if n := len(f.cuts); n > 0 && f.cuts[n-1].query == query && !query {
		f.cuts[n-1].end = len(f.out)
		return
	}
	f.cuts = append(f.cuts, cut{len(f.out), query})
}

// take looks at one byte that may belong to a sequence. It reports false if the
// byte does not, and must be looked at again.
func (f *Filter) take(b byte) bool {
	if f.st {
		if b == '\\' {
			f.unit = append(f.unit, b)
			f.close(0)
			return true
		}
		f.close(1) // without its ESC, which begins the next one
		f.open()
		f.unit = append(f.unit[:0], 0x1b)
		f.parser.step(0x1b, f)
		return false
	}
	if !f.begun {
		return f.character(b)
	}
	if b == 0x1b {
		return f.again()
	}
	c, retry := rune(b), false
	if b >= 0x80 || f.decoder.need > 0 {
		c, retry = f.decoder.next(b)
	}
	if !retry {
		f.unit = append(f.unit, b)
	}
	st := f.parser.state
	if c >= 0 {
		f.parser.step(c, f)
	}
	if f.parser.state == ground {
		f.ended(st)
		f.close(0)
		return !retry
	}
	f.bound()
	return !retry
}

// character begins a sequence, or keeps the bytes of a character together until
// it is known that it is none.
func (f *Filter) character(b byte) bool {
	if b == 0x1b {
		f.emit(f.unit, false)
		f.open()
		f.unit = append(f.unit[:0], b)
		f.parser.step(0x1b, f)
		return true
	}
	if len(f.unit) > 0 && b&0xc0 != 0x80 {
		f.emit(f.unit, false) // it was no character after all
		f.unit = f.unit[:0]
		return false
	}
	f.unit = append(f.unit, b)
	if len(f.unit) == 2 && f.unit[0] == 0xc2 && b < 0xa0 {
		f.open()
		f.parser.step(rune(b), f)
		if f.parser.state == ground {
			f.close(0)
		}
		return true
	}
	if incomplete(f.unit) == 0 {
		f.emit(f.unit, false)
		f.unit = f.unit[:0]
	}
	return true
}

func (f *Filter) open() {
	f.begun, f.verdict, f.long = true, pass, hold
	f.inner = f.inner[:0]
	f.decoder = decoder{}
	f.parser.enter(ground)
}

// again meets an ESC inside a sequence: a string may end here, any other
// sequence is given up for the next one.
func (f *Filter) again() bool {
	st := f.parser.state
	f.parser.step(0x1b, f)
	if f.long == hold && (st == oscString || st == dcsPass || st == dcsIgnore || st == otherString || st == nameString) {
		f.unit = append(f.unit, 0x1b)
		f.ended(st)
		f.st = true
		return true
	}
	f.close(0)
	return false
}

// close ends the unit, but for its last bytes that are not its own.
func (f *Filter) close(foreign int) {
	unit := f.unit[:len(f.unit)-foreign]
	switch {
	case f.long == dropping:
	case f.long == passing || f.verdict == pass:
		f.emit(unit, false)
	default:
		f.emit(f.inner, false)
		if f.verdict == query {
			f.emit(withoutControls(unit, len(f.inner) > 0), true)
		}
	}
	f.reset()
}

// withoutControls is the sequence without the controls that it had inside.
func withoutControls(unit []byte, any bool) []byte {
	if !any {
		return unit
	}
	clean := make([]byte, 0, len(unit))
	for _, b := range unit {
		if b >= 0x20 || b == 0x1b {
			clean = append(clean, b)
		}
	}
	return clean
}

// bound lets a sequence that is too long go, or swallows it.
func (f *Filter) bound() {
	if f.long == hold && len(f.unit) > maxHeld {
		f.long = passing
		if f.parser.state == nameString || f.parser.state == oscString && f.judgeOSC(f.parser.str) == drop {
			f.long = dropping
		}
	}
	switch f.long {
	case passing:
		f.emit(f.unit, false)
		f.unit = f.unit[:0]
	case dropping:
		f.unit = f.unit[:0]
	}
}
