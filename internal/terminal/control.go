package terminal

import (
	"bytes"
	"strconv"
)

// maxReply bounds what is kept of one reply of tmux; a screen with all its
// history fits.
const maxReply = 32 << 20

// A notice is one thing that tmux said to a control client.
type notice struct {
	kind noticeKind
	data []byte // of output: the program's bytes; valid until the next line
	args []byte // of the rest: what follows the name
	reply
}

type noticeKind int

const (
	noticeNone   noticeKind = iota // nothing yet, or nothing that we know
	noticeOutput                   // the program printed
	noticeReply                    // a command is answered
	noticeExit                     // tmux lets this client go
	noticeRenamed
	noticeWatched // a format that we subscribed to has another value
	noticeMode
	noticeLayout
	noticeBuffer
	noticeSession // the client is attached
)

// A reply is tmux's answer to one command.
type reply struct {
	lines  [][]byte
	failed bool
	own    bool // to a command that this client sent on its input
}

// text is a reply's lines as one.
func (r reply) text() string { return string(bytes.Join(r.lines, []byte("\n"))) }

// A controlParser reads tmux's control protocol, line by line. It works on
// bytes: a line may end in the middle of a character (terminals.md T5).
type controlParser struct {
	open   []byte // the "time number flags" of the reply that is being read
	inside bool
	lines  [][]byte
	size   int
	out    []byte
}

// line takes one line without its end.
func (c *controlParser) line(line []byte) notice {
	if c.inside {
		return c.insideReply(line)
	}
	name, rest, _ := bytes.Cut(line, []byte(" "))
	switch string(name) {
	case "%output":
		_, data, ok := bytes.Cut(rest, []byte(" "))
		if !ok {
			return notice{}
		}
		c.out = unescape(c.out[:0], data)
		return notice{kind: noticeOutput, data: c.out}
	case "%begin":
		c.open, c.inside = append(c.open[:0], rest...), true
		c.lines, c.size = nil, 0
	case "%exit":
		return notice{kind: noticeExit, args: rest}
	case "%window-renamed":
		return notice{kind: noticeRenamed, args: rest}
	case "%subscription-changed":
		return notice{kind: noticeWatched, args: rest}
	case "%pane-mode-changed":
		return notice{kind: noticeMode, args: rest}
	case "%layout-change":
		return notice{kind: noticeLayout, args: rest}
	case "%paste-buffer-changed":
		return notice{kind: noticeBuffer, args: rest}
	case "%session-changed":
		return notice{kind: noticeSession, args: rest}
	}
	return notice{}
}

// insideReply takes a line of a reply. Its text is the pane's and may look like
// anything; only the numbers of its beginning end it (terminals.md T2).
func (c *controlParser) insideReply(line []byte) notice {
	name, rest, _ := bytes.Cut(line, []byte(" "))
	failed := string(name) == "%error"
	if (failed || string(name) == "%end") && bytes.Equal(rest, c.open) {
		r := reply{lines: c.lines, failed: failed, own: bytes.HasSuffix(c.open, []byte(" 1"))}
		c.inside, c.lines = false, nil
		return notice{kind: noticeReply, reply: r}
	}
	if c.size += len(line) + 1; c.size <= maxReply {
		c.lines = append(c.lines, bytes.Clone(line))
	}
	return notice{}
}

// unescape appends the bytes of an output line: tmux writes a backslash and
// what is below a space as a backslash and three octal digits.
func unescape(to, data []byte) []byte {
	for {
		i := bytes.IndexByte(data, '\\')
		if i < 0 {
			return append(to, data...)
		}
		to = append(to, data[:i]...)
		data = data[i:]
		if len(data) >= 4 && octal(data[1]) && octal(data[2]) && octal(data[3]) {
			to = append(to, (data[1]-'0')<<6|(data[2]-'0')<<3|(data[3]-'0'))
			data = data[4:]
			continue
		}
		to = append(to, '\\')
		data = data[1:]
	}
}

func octal(b byte) bool { return b >= '0' && b <= '7' }

// quote writes text as one word of a tmux command line.
func quote(text string) string {
	out := make([]byte, 0, len(text)+2)
	out = append(out, '"')
	for i := range len(text) {
		switch b := text[i]; {
		case b == '"' || b == '\\' || b == '$' || b == '~' || b == '#':
			out = append(out, '\\', b)
		case b < ' ' || b == 0x7f:
			out = append(out, '\\')
			digits := strconv.FormatUint(uint64(b), 8)
			out = append(out, "000"[len(digits):]...)
			out = append(out, digits...)
		default:
			out = append(out, b)
		}
	}
	return string(append(out, '"'))
}
