package terminal

import (
	"encoding/json"
	"regexp"
	"time"
)

// The sizes that a terminal may have (terminals.md T10).
const (
	minCols, maxCols = 2, 1000
	minRows, maxRows = 1, 500
)

// readResize reads a control message of a viewer. Whatever is not a resize in
// whole, positive numbers is none.
func readResize(text []byte) (cols, rows int, ok bool) {
	var message struct {
		Type string `json:"type"`
		Cols int    `json:"cols"`
		Rows int    `json:"rows"`
	}
	if json.Unmarshal(text, &message) != nil || message.Type != "resize" || message.Cols < 1 || message.Rows < 1 {
		return 0, 0, false
	}
	return min(max(message.Cols, minCols), maxCols), min(max(message.Rows, minRows), maxRows), true
}

// sizeMessage tells a viewer the size of the terminal, which may not be its own.
func sizeMessage(cols, rows int) message {
	text, err := json.Marshal(struct {
		Type string `json:"type"`
		Cols int    `json:"cols"`
		Rows int    `json:"rows"`
	}{"size", cols, rows})
	if err != nil {
		panic(err) // two numbers
	}
	return message{data: text, text: true}
}

// An owner decides whose size the terminal has: the last who typed. While nobody
// types, whoever resized last. Who only reads never has a say (terminals.md T9).
type owner struct {
	who   *viewer
	quiet time.Duration // how long a typist keeps the size without typing
}

// resized tells that a viewer has another size, and whether the terminal shall
// follow.
func (o *owner) resized(v *viewer, now time.Time) bool {
	if v.readOnly {
		return false
	}
	if o.who != nil && o.who != v && now.Sub(o.who.typed) < o.quiet {
		return false
	}
	o.who = v
	return true
}

// typed tells that a viewer typed, and whether the terminal shall take its size.
func (o *owner) typed(v *viewer) bool {
	if o.who == v || v.cols == 0 {
		return false
	}
	o.who = v
	return true
}

// left tells that a viewer has gone, and whose size the terminal shall have now;
// nil is to leave it.
func (o *owner) left(gone *viewer, rest []*viewer) *viewer {
	if o.who != gone {
		return nil
	}
	o.who = nil
	for _, v := range rest {
		if !v.readOnly && v.cols > 0 && (o.who == nil || v.active.After(o.who.active)) {
			o.who = v
		}
	}
	return o.who
}

// automatic are the messages of a terminal itself, not of the human at it: focus
// reports and answers to queries.
var automatic = regexp.MustCompile(`^(?s:\x1b\[[IO]|\x1b\[[?>=]?[0-9;]*\$?[cnRuty]|\x1b[\]P_][^\x07\x1b]*(?:\x07|\x1b\\))+$`)
