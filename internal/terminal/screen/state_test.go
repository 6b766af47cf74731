package screen

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// look is how a cell or the pen looks, in the words of test/screen/xterm.mjs.
type look struct {
	FG      uint32 `json:"fg"`
	BG      uint32 `json:"bg"`
	Flags   int    `json:"flags"`
	UL      int    `json:"ul"`
	ULColor uint32 `json:"ulColor"`
	Link    string `json:"link"`
}

type cellState struct {
	Text  string `json:"text"`
	Width int    `json:"width"`
	look
}

type lineState struct {
	Wrapped bool        `json:"wrapped"`
	Cells   []cellState `json:"cells"`
}

type bufferState struct {
	Lines    []lineState `json:"lines"` // of the primary screen, with its history
	Base     int         `json:"base"`
	X        int         `json:"x"`
	Y        int         `json:"y"`
	Top      int         `json:"top"`
	Bottom   int         `json:"bottom"`
	Tabs     []int       `json:"tabs"`
	SavedX   int         `json:"savedX"`
	SavedY   int         `json:"savedY"`
	SavedSet string      `json:"savedSet"`
}

type modeState struct {
	AppCursor   bool   `json:"applicationCursorKeysMode"`
	AppKeypad   bool   `json:"applicationKeypadMode"`
	Bracketed   bool   `json:"bracketedPasteMode"`
	Insert      bool   `json:"insertMode"`
	Mouse       string `json:"mouseTrackingMode"`
	Origin      bool   `json:"originMode"`
	ReverseWrap bool   `json:"reverseWraparoundMode"`
	Focus       bool   `json:"sendFocusMode"`
	Wrap        bool   `json:"wraparoundMode"`
	Newline     bool   `json:"newline"`
	Hidden      bool   `json:"hidden"`
	Cursor      string `json:"cursor"`
	Encoding    string `json:"encoding"`
	Blink       bool   `json:"blink"`
}

type screenState struct {
	Alternate bool        `json:"alternate"`
	Primary   bufferState `json:"primary"`
	Other     bufferState `json:"other"` // the alternate screen; nothing while it is not shown
	Pen       look        `json:"pen"`
	Modes     modeState   `json:"modes"`
	Charsets  [4]string   `json:"charsets"`
	Level     int         `json:"level"`
	Charset   string      `json:"charset"`
	Title     string      `json:"title"`

	// What a browser does not tell.
	Keyboards [2][]int       `json:"-"`
	Others    string         `json:"-"`
	Colors    map[int]string `json:"-"`
}

func stateOf(s *Screen) screenState {
	st := screenState{
		Alternate: s.Alternate(), Primary: stateOfBuffer(s, s.primary), Pen: lookOf(s, s.pen), Modes: stateOfModes(s.modes),
		Level: s.charsets.level, Charset: pairs(s.charsets.active), Title: s.title,
		Colors: s.colors,
	}
	for i, set := range s.charsets.sets {
		st.Charsets[i] = pairs(set)
	}
	for i, k := range s.keyboards {
		st.Keyboards[i] = append([]int{}, k...)
	}
	for i, v := range s.modes.others {
		if v != 0 {
			st.Others += string(rune('a'+i)) + map[int8]string{1: "+", -1: "-"}[v]
		}
	}
	st.Others += string(rune('0' + s.modes.otherKeys))
	if st.Alternate {
		st.Other = stateOfBuffer(s, s.alternate)
	}
	return st
}

func stateOfBuffer(s *Screen, b *buffer) bufferState {
	st := bufferState{X: b.x, Y: b.y, Top: b.top, Bottom: b.bottom, SavedX: b.saved.x, SavedY: b.saved.y, SavedSet: pairs(b.saved.charset)}
	if b == s.primary {
		st.Base = s.history.len()
		for i := range st.Base {
			st.Lines = append(st.Lines, stateOfRow(s, s.unpaint(*s.history.at(i))))
		}
	}
	for _, r := range b.rows {
		st.Lines = append(st.Lines, stateOfRow(s, r))
	}
	for x := range s.cols {
		if b.tabs[x] {
			st.Tabs = append(st.Tabs, x)
		}
	}
	return st
}

func stateOfRow(s *Screen, r *row) lineState {
	st := lineState{Wrapped: r.wrapped}
	for _, c := range r.cells {
		st.Cells = append(st.Cells, cellState{Text: s.text(c), Width: c.width(), look: lookOf(s, s.styles.list[c.style])})
	}
	return st
}

func lookOf(s *Screen, st style) look {
	l := look{FG: uint32(st.fg), BG: uint32(st.bg), Flags: int(st.flags), Link: s.links.list[st.link].uri}
	if st.flags&underline != 0 {
		l.UL, l.ULColor = int(st.ulStyle), uint32(st.ul)
	}
	return l
}

func stateOfModes(m modes) modeState {
	return modeState{
		AppCursor: m.appCursor, AppKeypad: m.appKeypad, Bracketed: m.bracketed, Insert: m.insert, Origin: m.origin,
		ReverseWrap: m.reverseWrap, Focus: m.focus, Wrap: m.wrap, Newline: m.newline, Hidden: m.hidden, Blink: m.blink > 0,
		Mouse:    map[int]string{0: "none", 9: "x10", 1000: "vt200", 1002: "drag", 1003: "any"}[m.mouse],
		Encoding: map[int]string{0: "DEFAULT", 1006: "SGR", 1016: "SGR_PIXELS"}[m.mouseCode],
		Cursor:   []string{" ", "block true", "block false", "underline true", "underline false", "bar true", "bar false"}[m.cursor],
	}
}

func pairs(set byte) string {
	r := replacements(set)
	var list []string
	for i := 0; i < len(r); i += 2 {
		list = append(list, string(r[i:i+2]))
	}
	sort.Strings(list)
	out := ""
	for _, p := range list {
		out += p
	}
	return out
}

// seen makes states comparable that look the same: a column where nothing was
// written looks like a space, the first line that is kept may have gone on a
// line that is not, and half a wide character is nothing.
func seen(st screenState) screenState {
	st.Primary, st.Other = seenBuffer(st.Primary), seenBuffer(st.Other)
	if st.Alternate { // the cursor comes along when the primary screen does
		st.Primary.X, st.Primary.Y = 0, 0
	}
	return st
}

// keptAs makes the history comparable: a line that goes on in the next one is
// kept with all its columns, and spaces are what is in those that were empty.
func keptAs(st screenState) screenState {
	lines := slices.Clone(seenBuffer(st.Primary).Lines[:st.Primary.Base])
	if len(lines) > 0 {
		lines[0].Wrapped = st.Primary.Lines[0].Wrapped
	}
	st.Primary.Lines = append(lines, st.Primary.Lines[st.Primary.Base:]...)
	return st
}

func seenBuffer(b bufferState) bufferState {
	b.Lines = slices.Clone(b.Lines)
	if len(b.Lines) > 0 {
		b.SavedX = min(b.SavedX, len(b.Lines[0].Cells)-1)
	}
	for i := range b.Lines {
		l := &b.Lines[i]
		l.Cells = slices.Clone(l.Cells)
		for x := range l.Cells {
			c := &l.Cells[x]
			whole := c.Width != 2 || x+1 < len(l.Cells) && l.Cells[x+1].Width == 0 && l.Cells[x+1].Text == ""
			if c.Text == "" && (c.Width == 1 || x == 0 || l.Cells[x-1].Width != 2) || !whole {
				c.Text, c.Width = " ", 1
			}
			if c.Text == " " { // what is empty has no colour of its own, and no link
				c.Link = ""
				c.Flags &= int(inverse | blink | strike | overline | underline | protected)
				if c.Flags&^int(protected) == 0 {
					c.FG = 0
				}
			}
		}
		if i == 0 {
			l.Wrapped = false
		}
	}
	return b
}

// String has all that a state has, so that two of them can be compared and a
// difference be read.
func (st screenState) String() string {
	var b strings.Builder
	st.Primary.write(&b, "primary")
	st.Other.write(&b, "other")
	fmt.Fprintf(&b, "alternate %v\npen %+v\nmodes %+v\ncharsets %q level %d using %q\ntitle %q\n", st.Alternate, st.Pen, st.Modes, st.Charsets, st.Level, st.Charset, st.Title)
	fmt.Fprintf(&b, "keyboards %v others %q colors %v\n", st.Keyboards, st.Others, st.Colors)
	return b.String()
}

func (buf bufferState) write(b *strings.Builder, name string) {
	fmt.Fprintf(b, "%s: cursor %d,%d region %d..%d base %d tabs %v saved %d,%d %q\n", name, buf.X, buf.Y, buf.Top, buf.Bottom, buf.Base, buf.Tabs, buf.SavedX, buf.SavedY, buf.SavedSet)
	for i, l := range buf.Lines {
		fmt.Fprintf(b, "%3d %v |", i, map[bool]string{true: ">", false: " "}[l.Wrapped])
		for _, c := range l.Cells {
			switch {
			case c.Text == "" && c.Width == 1:
				b.WriteByte('_')
			case c.Text != "":
				b.WriteString(c.Text)
			}
			if c.Width != 1 {
				fmt.Fprintf(b, "{%d}", c.Width)
			}
		}
		b.WriteString("|\n")
		for x, c := range l.Cells {
			if c.look != (look{}) && (x == 0 || l.Cells[x-1].look != c.look) {
				fmt.Fprintf(b, "      from %d: %+v\n", x, c.look)
			}
			if x > 0 && c.look == (look{}) && l.Cells[x-1].look != c.look {
				fmt.Fprintf(b, "      from %d: plain\n", x)
			}
		}
	}
}
