package browser

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/outrunner/outrunner/test/testkit"
)

// screen is a terminal on a page.
type screen struct {
	*tab
	terminal terminal
}

// shows opens the page of a session's terminal, and waits until it is connected.
func (w *world) shows(session string, r terminal, s size) *screen {
	w.t.Helper()
	v := &screen{open(w.t, w.URL, "/c/"+session+"#"+r.ID, s), r}
	v.connected()
	return v
}

// view selects the terminal's place on the page.
func (v *screen) view(more ...string) string {
	return byID("terminal-view", append([]string{attr("data-terminal-id", v.terminal.ID)}, more...)...)
}

func (v *screen) connected() { v.t.Helper(); v.sees(v.view(attr("data-state", "connected"))) }

// what is what the page draws: the rows without what is blank at their ends,
// and where the cursor is.
type picture struct {
	Rows   []string `json:"rows"`
	Cursor []int    `json:"cursor"` // column and row, from 0; null: none is drawn
}

func (p picture) String() string { return strings.Join(p.Rows, "\n") }

// brief shows it without its blank rows.
func (p picture) brief() string {
	out := fmt.Sprintf("%d rows, cursor %v", len(p.Rows), p.Cursor)
	for i, row := range p.Rows {
		if row != "" {
			out += fmt.Sprintf("\n%3d %s", i, row)
		}
	}
	return out
}

// draws reads the terminal from the page.
func (v *screen) draws() picture {
	v.t.Helper()
	p := value[picture](v.tab, "("+readScreen+")("+strconv.Quote(v.view())+")")
	for i, row := range p.Rows {
		p.Rows[i] = strings.TrimRight(row, " ")
	}
	return p
}

// readScreen reads the rows that xterm.js draws in the document.
const readScreen = `view => {
	const rows = [...document.querySelectorAll(view + ' .xterm-rows > div')];
	let cursor = null;
	rows.forEach((row, y) => {
		const at = row.querySelector('.xterm-cursor');
		if (!at) return;
		let x = 0;
		for (let e = at.previousSibling; e; e = e.previousSibling) x += e.textContent.length;
		cursor = [x, y];
	});
	return { rows: rows.map(r => r.textContent.replaceAll('\u00a0', ' ')), cursor };
}`

// holds is what tmux says that the terminal holds.
func (v *screen) holds() picture {
	v.t.Helper()
	size := strings.Fields(v.terminal.tmux(v.t, "display-message", "-p", "-t", "main", "#{window_height} #{cursor_flag} #{cursor_x} #{cursor_y}"))
	height, _ := strconv.Atoi(size[0])
	var p picture
	if size[1] == "1" {
		x, _ := strconv.Atoi(size[2])
		y, _ := strconv.Atoi(size[3])
		p.Cursor = []int{x, y}
	}
	text := v.terminal.tmux(v.t, "capture-pane", "-p", "-t", "main")
	for row := range strings.SplitSeq(text, "\n") {
		p.Rows = append(p.Rows, strings.TrimRight(row, " "))
	}
	for len(p.Rows) < height {
		p.Rows = append(p.Rows, "")
	}
	return p
}

// right waits until the page draws what tmux holds, and both show the text.
func (v *screen) right(text string) {
	v.t.Helper()
	var drawn, held picture
	testkit.Until(v.t, testkit.Patience, func() bool {
		drawn, held = v.draws(), v.holds()
		return fmt.Sprint(drawn.Rows, drawn.Cursor) == fmt.Sprint(held.Rows, held.Cursor) && strings.Contains(drawn.String(), text)
	}, func() string {
		return fmt.Sprintf("the page draws %s\n\ntmux holds %s\n\nwanted: %q", drawn.brief(), held.brief(), text)
	})
}

// reads waits until the page draws a text.
func (v *screen) reads(text string) {
	v.t.Helper()
	testkit.Until(v.t, testkit.Patience, func() bool { return strings.Contains(v.draws().String(), text) },
		func() string { return fmt.Sprintf("the page does not draw %q but %s", text, v.draws().brief()) })
}

// types types into the terminal.
func (v *screen) types(keys string) {
	v.t.Helper()
	v.until("document.activeElement.closest("+strconv.Quote(v.view())+")", "the terminal has not the focus")
	v.press(keys)
}
