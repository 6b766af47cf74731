package screen

import (
	"bytes"
	"strings"
)

// The filter as the listener of its parser: it judges each sequence.

func (f *Filter) execute(c rune) {
	if c < 0x80 {
		f.inner = append(f.inner, byte(c))
	}
}

func (f *Filter) escDispatch(id uint32) {
	if id == 'Z' {
		f.verdict = query
	}
}

// csiDispatch knows the questions. The first group is what tmux answers.
func (f *Filter) csiDispatch(id uint32, p *params) {
	n := p.at(0)
	switch id {
	case 'c', '>'<<8 | 'c', '>'<<8 | 'q': // who are you
		if n == 0 {
			f.verdict = drop
		}
	case 'n': // are you well, where is the cursor
		if n == 5 || n == 6 {
			f.verdict = drop
		}
	case 't':
		switch n {
		case 18: // how many rows and columns
			f.verdict = drop
		case 11, 13, 14, 15, 16, 19, 20, 21:
			f.verdict = query
		}
	case '?'<<8 | 'n', '='<<8 | 'c', '?'<<8 | 'u', '?'<<8 | 'm', '$'<<8 | 'p', '?'<<16 | '$'<<8 | 'p', '$'<<8 | 'w', '&'<<8 | 'u', '*'<<8 | 'y', '?'<<8 | 'S':
		f.verdict = query
	case 'x':
		if n <= 1 {
			f.verdict = query
		}
	}
}

func (f *Filter) oscEnd(data []byte) { f.verdict = f.judgeOSC(data) }

func (f *Filter) judgeOSC(data []byte) verdict {
	number, rest, ok := splitOSC(data)
	if !ok {
		return pass
	}
	switch number {
	case 4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 50:
		for _, field := range strings.Split(rest, ";") {
			if field == "?" {
				return query
			}
		}
	case 21, 22, 99:
		if strings.Contains(rest, "?") {
			return query
		}
	case 52:
		_, what, _ := strings.Cut(rest, ";")
		if !f.Clipboard || strings.HasPrefix(what, "?") {
			return drop
		}
	case 5522: // kitty's clipboard asks before it writes
		return drop
	case 1337:
		switch word, _, _ := strings.Cut(rest, "="); word {
		case "ReportCellSize", "ReportVariable", "Capabilities":
			return query
		case "Copy", "CopyToClipboard", "EndCopy":
			if !f.Clipboard {
				return drop
			}
		}
	}
	return pass
}

func (f *Filter) dcsEnd(id uint32, _ []byte) {
	if id == '$'<<8|'q' || id == '+'<<8|'q' {
		f.verdict = query
	}
}

// ended judges the strings that the parser does not keep.
func (f *Filter) ended(st state) {
	switch st {
	case nameString:
		f.verdict = drop
	case otherString: // kitty's pictures may ask what the terminal can
		head, _, _ := bytes.Cut(f.unit, []byte(";"))
		if bytes.Contains(head, []byte("_G")) && bytes.Contains(head, []byte("a=q")) {
			f.verdict = query
		}
	}
}
