package browser

import (
	"context"
	"strings"
	"unicode"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// named are the keys that write no letter, by the byte that stands for them
// here.
var named = map[rune]struct {
	key  string
	code int64
	text string
}{
	'\r': {"Enter", 13, "\r"}, '\t': {"Tab", 9, ""}, '\x1b': {"Escape", 27, ""}, '\x7f': {"Backspace", 8, ""},
}

const control = 2 // of Modifiers

// press presses keys, one after the other, wherever the focus is. A key's
// letter comes of its going down and of nothing else, as on a keyboard: where a
// page takes the key, there is no letter. \x01 to \x1a are letters with Control.
func (p *tab) press(keys string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, actWithin)
	defer cancel()
	for _, r := range keys {
		down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: string(r), Text: string(r)}
		name, ok := named[r]
		switch {
		case ok:
			down.Key, down.Code, down.Text, down.WindowsVirtualKeyCode = name.key, name.key, name.text, name.code
		case r < ' ':
			letter := r + 'a' - 1
			down.Key, down.Text, down.Modifiers = string(letter), "", control
			down.WindowsVirtualKeyCode = int64(unicode.ToUpper(letter))
		case r <= '~' && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			down.WindowsVirtualKeyCode = int64(unicode.ToUpper(r))
		case r == ' ':
			down.Code, down.WindowsVirtualKeyCode = "Space", ' '
		case strings.ContainsRune("/?", r):
			down.WindowsVirtualKeyCode = 191
		}
		if down.Text == "" {
			down.Type = input.DispatchKeyEventTypeRawKeyDown
		}
		_, err := chromedp.Call(ctx, input.DispatchKeyEvent, down)
		require.NoError(p.t, err)
		up := down
		up.Type, up.Text = input.DispatchKeyEventTypeKeyUp, ""
		_, err = chromedp.Call(ctx, input.DispatchKeyEvent, up)
		require.NoError(p.t, err)
	}
}
