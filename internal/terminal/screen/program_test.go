package screen

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// quirks are things that a generated program leaves out, where a test compares
// with somebody who does them differently.
type quirks struct {
	save     bool // ESC 7: xterm.js counts the saved line from the top of the history, and mixes links up
	relative bool // moving in origin mode: xterm.js adds the region's top once more
	lone     bool // a mark without a character before
	rename   bool // ESC k is tmux's; xterm.js prints the name
	history  bool // CSI 3J
}

var (
	words   = []string{"a", "hello", "The quick brown fox", "x y  z", "0123456789", strings.Repeat("-", 30), "   "}
	unicode = []string{"é", "你好", "漢", "e\u0301", "😀", "…", "─│┌", "ｗｉｄｅ", "👩\u200d👩", "ñ", "日本語テキスト", "☺\ufe0f"}
)

// program draws a list of things that programs write.
func program(q quirks) *rapid.Generator[[]string] { return rapid.SliceOfN(step(q), 0, 60) }

func step(q quirks) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		n := func(low, high int) int { return rapid.IntRange(low, high).Draw(t, "n") }
		pick := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "which") }
		switch n(0, 24) {
		case 0, 1, 2, 3:
			return pick(words...)
		case 4, 5:
			return pick(unicode...)
		case 6, 7:
			return pick("\r\n", "\r\n", "\n", "\r", "\b", "\t", "\v")
		case 8, 9:
			return fmt.Sprintf("\x1b[%d;%dH", n(0, 12), n(0, 24))
		case 10:
			final := pick("A", "B", "C", "D", "E", "F", "G", "`", "a", "d", "e", "I", "Z")
			if q.relative && strings.Contains("ABCDEFG`ae", final) {
				return "\r"
			}
			return fmt.Sprintf("\x1b[%d%s", n(0, 9), final)
		case 11, 12, 13:
			if l := look1(t); q.save || !strings.Contains(l, "58") {
				return "\x1b[" + l + "m"
			}
			return "\x1b[4m"
		case 14:
			return pick("\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[J", "\r\x1b[1J", "\x1b[2J") // 1J in the last corner breaks xterm.js 6.0
		case 15:
			return fmt.Sprintf("\x1b[%d%s", n(0, 6), pick("@", "P", "X", "L", "M", "S", "T"))
		case 16:
			return pick("\x1bD", "\x1bE", "\x1bM", "\x1bH", "\x1b[g", "\x1b[3g", "\x1b=", "\x1b>", "\x84", "\xc2\x85", "\x1b]8;;\a\x1b[m\x1b#8")
		case 17:
			top := n(1, 6)
			return fmt.Sprintf("\x1b[%d;%dr", top, top+n(1, 6))
		case 18:
			return "\x1b[?" + pick("1", "6", "7", "12", "25", "45", "66", "9", "1000", "1002", "1003", "1004", "1006", "1016", "2004", "7") + pick("h", "l")
		case 19:
			return pick("\x1b[4h", "\x1b[4l", "\x1b[20h", "\x1b[20l", "\x1b[r", "\x1b[?7h", "\x1b[!p", "\x1b[?6l")
		case 20:
			if !q.save {
				return pick("\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1b[?1048h", "\x1b[?1048l")
			}
			return "s"
		case 21:
			if q.save {
				return pick("\x1b[?1047h", "\x1b[?1047l", "\x1b[?47h", "\x1b[?47l")
			}
			return pick("\x1b[?1049h", "\x1b[?1049l", "\x1b[?1047h", "\x1b[?47l")
		case 22:
			return pick("\x1b(0", "\x1b(B", "\x1b)0", "\x0e", "\x0f", "\x1b(A", "\x1b*K", "\x1bn", "\x1b%G", "lqqk", "[\\]~#")
		case 23:
			if !q.save && q.rename {
				return "\x1b]0;title\a"
			}
			return pick("\x1b]0;title\a", "\x1b]2;t2 é\x1b\\", "\x1b]8;;https://example.org/a\x1b\\", "\x1b]8;id=7;https://example.org/b?x=1;y\a",
				"\x1b]8;;\x1b\\", fmt.Sprintf("\x1b[%d q", n(0, 6)), fmt.Sprintf("\x1b[%db", n(0, 9)), "\x1b[1\"q", "\x1b[0\"q", "\x1b[?K", "\x1b[?2J")
		default:
			list := []string{"\x1b[2 @", "\x1b[2 A", "\x1b[2'}", "\x1b[3'~", "\x1bPq#0\x1b\\", "\x1b_Gf=1;AA\x1b\\", "\x1b[?2026h", "\x1b[?2026l",
				"\x1b[38:2::1:2:3m", "\x1b[4:3m", "\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20;21;22;23;24;25;26;27;28;29;30;31;32;33;34m"}
			if !q.lone {
				list = append(list, "\r\u0301", "\t\b\u200d") // after the last column, xterm.js 6.0 goes beyond it
			}
			if !q.history {
				list = append(list, "\x1b[3J")
			}
			if !q.rename {
				list = append(list, "\x1bkname\x1b\\", "\x1b[>5u", "\x1b[<u", "\x1b[=3;2u", "\x1b[>4;2m", "\x1b[?2031h", "\x1b]4;1;#ff0000\a", "\x1b]11;rgb:1/2/3\a", "\x1b]104\a")
			}
			return pick(list...)
		}
	})
}

func look1(t *rapid.T) string {
	n := func(low, high int) int { return rapid.IntRange(low, high).Draw(t, "look") }
	switch n(0, 6) {
	case 0:
		return fmt.Sprintf("38;5;%d", n(0, 255))
	case 1:
		return fmt.Sprintf("48;2;%d;%d;%d", n(0, 255), n(0, 255), n(0, 255))
	case 2:
		return fmt.Sprintf("4%d", n(0, 7))
	case 3:
		return fmt.Sprintf("10%d;9%d", n(0, 7), n(0, 7))
	case 4:
		return ""
	case 5:
		return fmt.Sprintf("4:%d;58:5:%d", n(0, 5), n(0, 255))
	default:
		return fmt.Sprintf("%d;3%d", n(1, 9), n(0, 7))
	}
}

// pieces cuts bytes anywhere.
func pieces(t *rapid.T, p []byte) [][]byte {
	var out [][]byte
	for len(p) > 0 {
		n := rapid.IntRange(1, len(p)).Draw(t, "cut")
		out = append(out, p[:n])
		p = p[n:]
	}
	return out
}
