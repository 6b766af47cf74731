package terminal

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// What tmux is asked about a pane, to paint it again. The title is last, because
// it may contain anything.
var pictureFields = []string{
	"pane_width", "pane_height", "alternate_on", "alternate_saved_x", "alternate_saved_y", "cursor_x", "cursor_y",
	"cursor_flag", "insert_flag", "keypad_flag", "keypad_cursor_flag", "origin_flag", "wrap_flag",
	"scroll_region_upper", "scroll_region_lower", "mouse_standard_flag", "mouse_button_flag", "mouse_all_flag",
	"mouse_sgr_flag", "mouse_utf8_flag", "bracket_paste_flag", "history_size", "pane_title",
}

// pictureCommands ask for a pane with its history. tmux runs them as one.
func pictureCommands(history int) []string {
	format := "#{" + strings.Join(pictureFields, "}|#{") + "}"
	capture := "capture-pane -p -e -t " + tmuxSession
	return []string{
		"list-panes -t " + tmuxSession + ` -F "` + format + `"`,
		capture + " -J -S -" + strconv.Itoa(history), // what was wrapped is one line, and wraps again
		capture + " -J -S -" + strconv.Itoa(history) + " -E -1",
		capture,
		capture + " -a -q",
	}
}

// paintPicture makes a picture of the answers to pictureCommands. The primary
// screen is painted first, and the alternate one over it, so that leaving it
// shows what was there (terminals.md T16).
func paintPicture(answers []reply) (picture, error) {
	if len(answers) != len(pictureCommands(0)) || answers[0].failed || len(answers[0].lines) == 0 {
		return picture{}, fmt.Errorf("tmux does not describe its pane")
	}
	values := strings.SplitN(string(answers[0].lines[0]), "|", len(pictureFields))
	if len(values) != len(pictureFields) {
		return picture{}, fmt.Errorf("tmux describes its pane as %q", answers[0].lines[0])
	}
	text, number := map[string]string{}, map[string]int{}
	for i, name := range pictureFields {
		text[name] = values[i]
		number[name], _ = strconv.Atoi(values[i]) // what is empty or no number is zero
	}
	p := picture{cols: number["pane_width"], rows: number["pane_height"]}
	if p.cols < 1 || p.rows < 1 {
		return picture{}, fmt.Errorf("tmux says that its pane is %dx%d", p.cols, p.rows)
	}
	all, past, now, saved := answers[1].lines, answers[2].lines, answers[3].lines, answers[4].lines
	var b bytes.Buffer
	if number["alternate_on"] == 0 {
		b.Write(bytes.Join(all, []byte("\r\n")))
	} else {
		if number["history_size"] == 0 {
			past = nil // tmux shows the top of the screen instead
		}
		saved, scrolled := fit(saved, p.rows)
		b.Write(bytes.Join(append(past, saved...), []byte("\r\n")))
		fmt.Fprintf(&b, "\x1b[%d;%dH", max(number["alternate_saved_y"]-scrolled, 0)+1, number["alternate_saved_x"]+1)
		b.WriteString("\x1b[0m\x1b[?1049h\x1b[H\x1b[2J")
		b.Write(bytes.Join(now, []byte("\r\n")))
	}
	b.WriteString("\x1b[0m")
	paintModes(&b, p, number)
	host, _ := os.Hostname() // without it a title that tmux made up is taken for the program's
	if title := text["pane_title"]; title != "" && title != host {
		fmt.Fprintf(&b, "\x1b]2;%s\x1b\\", title)
	}
	p.paint = b.Bytes()
	return p, nil
}

func paintModes(b *bytes.Buffer, p picture, number map[string]int) {
	if top, bottom := number["scroll_region_upper"], number["scroll_region_lower"]; top != 0 || bottom != p.rows-1 {
		fmt.Fprintf(b, "\x1b[%d;%dr", top+1, bottom+1)
	}
	row := number["cursor_y"] + 1
	if number["origin_flag"] == 1 {
		b.WriteString("\x1b[?6h")
		row -= number["scroll_region_upper"]
	}
	fmt.Fprintf(b, "\x1b[%d;%dH", max(row, 1), number["cursor_x"]+1)
	for _, mode := range []struct {
		field string
		on    int
		code  string
	}{
		{"cursor_flag", 0, "\x1b[?25l"}, {"insert_flag", 1, "\x1b[4h"}, {"keypad_flag", 1, "\x1b="},
		{"keypad_cursor_flag", 1, "\x1b[?1h"}, {"wrap_flag", 0, "\x1b[?7l"},
		{"mouse_standard_flag", 1, "\x1b[?1000h"}, {"mouse_button_flag", 1, "\x1b[?1002h"}, {"mouse_all_flag", 1, "\x1b[?1003h"},
		{"mouse_utf8_flag", 1, "\x1b[?1005h"}, {"mouse_sgr_flag", 1, "\x1b[?1006h"}, {"bracket_paste_flag", 1, "\x1b[?2004h"},
	} {
		if number[mode.field] == mode.on {
			b.WriteString(mode.code)
		}
	}
}

// fit makes a screen that is hidden as high as the one that is shown: it had
// another height if it was hidden before the last resize. It tells how many rows
// are too many.
func fit(rows [][]byte, height int) ([][]byte, int) {
	for len(rows) > height && len(bytes.TrimSpace(rows[len(rows)-1])) == 0 {
		rows = rows[:len(rows)-1]
	}
	for len(rows) < height {
		rows = append(rows, nil)
	}
	return rows, len(rows) - height
}
