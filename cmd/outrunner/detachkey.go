package main

import (
	"bytes"
	"fmt"
	"strings"
)

// detachKey is a key with ctrl, in the forms in which terminals send it: as one
// byte, and as the sequences of programs that ask for more of the keyboard.
type detachKey [][]byte

// parseKey reads "ctrl-]", or "^]".
func parseKey(text string) (detachKey, error) {
	name, ok := strings.CutPrefix(strings.ToLower(text), "ctrl-")
	if !ok {
		name, ok = strings.CutPrefix(strings.ToLower(text), "^")
	}
	if !ok || len(name) != 1 {
		return nil, fmt.Errorf("the detach key %q must be ctrl- and one character, such as ctrl-]", text)
	}
	c := name[0]
	switch {
	case c >= 'a' && c <= 'z', strings.IndexByte(`@[\]^_`, c) >= 0:
	default:
		return nil, fmt.Errorf("there is no key ctrl-%c: take ctrl-a to ctrl-z, ctrl-@, ctrl-\\, ctrl-], ctrl-^ or ctrl-_", c)
	}
	if c == '[' || strings.IndexByte("mji", c) >= 0 {
		return nil, fmt.Errorf("ctrl-%c is a key that every program needs: choose another", c)
	}
	return detachKey{{c & 0x1f}, fmt.Appendf(nil, "\x1b[%d;5u", c), fmt.Appendf(nil, "\x1b[27;5;%d~", c)}, nil
}

// finder looks for a key in what is typed, also over the border of two reads.
type finder struct{ tail []byte }

// in answers what was typed before the key, and whether it was pressed.
func (f *finder) in(typed []byte, key detachKey) (before []byte, found bool) {
	const longest = 16
	all := append(f.tail, typed...)
	old, at := len(f.tail), -1
	for _, form := range key {
		for from := 0; ; {
			i := bytes.Index(all[from:], form)
			if i < 0 {
				break
			}
			i += from
			if i+len(form) > old && (at < 0 || i < at) {
				at = i
				break
			}
			from = i + 1
		}
	}
	f.tail = append([]byte(nil), all[max(0, len(all)-longest):]...)
	if at < 0 {
		return typed, false
	}
	return typed[:max(0, at-old)], true
}
