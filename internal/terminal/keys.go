package terminal

import "strings"

// keyNames are the keys that a PTY of our own knows by tmux's names.
func keyNames() map[string]string {
	return map[string]string{
		"Enter": "\r", "Escape": "\x1b", "Tab": "\t", "BTab": "\x1b[Z", "Space": " ", "BSpace": "\x7f",
		"Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D", "Home": "\x1b[H", "End": "\x1b[F",
		"IC": "\x1b[2~", "DC": "\x1b[3~", "PPage": "\x1b[5~", "PageUp": "\x1b[5~", "NPage": "\x1b[6~", "PageDown": "\x1b[6~",
		"F1": "\x1bOP", "F2": "\x1bOQ", "F3": "\x1bOR", "F4": "\x1bOS", "F5": "\x1b[15~", "F6": "\x1b[17~", "F7": "\x1b[18~",
		"F8": "\x1b[19~", "F9": "\x1b[20~", "F10": "\x1b[21~", "F11": "\x1b[23~", "F12": "\x1b[24~",
	}
}

// keyBytes is what a key sends. A name that is none is typed, as tmux does.
func keyBytes(name string) string {
	if known, ok := keyNames()[name]; ok {
		return known
	}
	if rest, ok := strings.CutPrefix(name, "M-"); ok && rest != "" {
		return "\x1b" + keyBytes(rest)
	}
	if rest, ok := strings.CutPrefix(name, "C-"); ok && len(rest) == 1 {
		switch c := strings.ToUpper(rest)[0]; {
		case c >= '@' && c <= '_':
			return string(c & 0x1f)
		case c == '?':
			return "\x7f"
		}
	}
	return name
}
