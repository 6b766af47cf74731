package screen

import (
	"bytes"
	"strconv"
	"strings"
)

const (
	maxTitle  = 1024 // bytes
	maxTitles = 10
	maxColor  = 64 // bytes of a colour's name
)

// Numbers of the colours that are not in the palette of 256.
const (
	colorForeground = 256 + iota
	colorBackground
	colorCursor
	colorEnd
)

// splitOSC parts an OSC into its number and the rest.
func splitOSC(data []byte) (number int, rest string, ok bool) {
	head, tail, _ := bytes.Cut(data, []byte(";"))
	number = 0
	for _, b := range head {
		if b < '0' || b > '9' || number > 1<<20 {
			return 0, "", false
		}
		number = number*10 + int(b-'0')
	}
	return number, string(tail), len(head) > 0
}

func (s *Screen) oscEnd(data []byte) {
	s.joins = 0
	number, rest, ok := splitOSC(data)
	if !ok {
		return
	}
	switch number {
	case 0, 2:
		s.setTitle(rest)
	case 4:
		fields := strings.Split(rest, ";")
		for i := 0; i+1 < len(fields); i += 2 {
			if n, ok := paletteIndex(fields[i]); ok {
				s.setColor(n, fields[i+1])
			}
		}
	case 8:
		s.setLink(rest)
	case 10, 11, 12:
		for i, spec := range strings.Split(rest, ";") {
			if n := colorForeground + number - 10 + i; n < colorEnd {
				s.setColor(n, spec)
			}
		}
	case 104:
		if rest == "" {
			for n := range 256 {
				delete(s.colors, n)
			}
		}
		for _, field := range strings.Split(rest, ";") {
			if n, ok := paletteIndex(field); ok {
				delete(s.colors, n)
			}
		}
	case 110, 111, 112:
		delete(s.colors, colorForeground+number-110)
	}
}

func paletteIndex(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 8)
	return int(n), err == nil
}

func (s *Screen) setTitle(title string) {
	title = strings.ReplaceAll(title, "\x7f", "")
	if len(title) > maxTitle {
		title = strings.ToValidUTF8(title[:maxTitle], "")
	}
	s.title = title
}

// windowOp keeps the stack of titles; the rest of this sequence is for windows.
func (s *Screen) windowOp(p *params) {
	if p.at(1) == 1 { // the icon's name only
		return
	}
	switch p.at(0) {
	case 22:
		s.titles = append(s.titles, s.title)
		if len(s.titles) > maxTitles {
			s.titles = s.titles[1:]
		}
	case 23:
		if n := len(s.titles); n > 0 {
			s.title, s.titles = s.titles[n-1], s.titles[:n-1]
		}
	}
}

// setColor keeps a colour as the program wrote it, if it looks like one.
func (s *Screen) setColor(n int, spec string) {
	if spec == "" || spec == "?" || len(spec) > maxColor {
		return
	}
	for i := range len(spec) {
		if c := spec[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("#:/., -", c) >= 0) {
			return
		}
	}
	if s.colors == nil {
		s.colors = map[int]string{}
	}
	s.colors[n] = spec
}

// setLink opens a hyperlink, or ends it if there is no address.
func (s *Screen) setLink(rest string) {
	id, uri, ok := strings.Cut(rest, ";")
	if !ok {
		return
	}
	s.penChanged()
	if uri == "" {
		if strings.TrimSpace(id) == "" {
			s.pen.link = 0
		}
		return
	}
	l := link{uri: uri}
	for _, param := range strings.Split(strings.TrimSpace(id), ":") {
		if v, ok := strings.CutPrefix(param, "id="); ok {
			l.id = v
			break
		}
	}
	s.pen.link = s.links.number(l)
}

// dcsEnd has nothing to do: a DCS draws nothing, and questions are not for us.
func (s *Screen) dcsEnd(uint32, []byte) { s.joins = 0 }
