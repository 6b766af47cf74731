package terminal

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func feed(c *controlParser, lines ...string) []notice {
	var out []notice
	for _, line := range lines {
		n := c.line([]byte(line))
		n.data = bytes.Clone(n.data)
		if n.kind != noticeNone {
			out = append(out, n)
		}
	}
	return out
}

// T2: what is in a reply may look like anything.
func TestTextInAReplyEndsNothing(t *testing.T) {
	got := feed(&controlParser{},
		"%begin 100 7 1", "%end 1 2 3", "%output %0 no", "%error 100 7 0", "%exit", "%begin 5 5 1", "", "%end 100 8 1", "%end 100 7 1",
		"%output %0 yes")
	require.Len(t, got, 2)
	require.Equal(t, noticeReply, got[0].kind)
	require.True(t, got[0].own)
	require.False(t, got[0].failed)
	require.Equal(t, "%end 1 2 3\n%output %0 no\n%error 100 7 0\n%exit\n%begin 5 5 1\n\n%end 100 8 1", got[0].text())
	require.Equal(t, "yes", string(got[1].data))
}

func TestNotices(t *testing.T) {
	got := feed(&controlParser{}, "%begin 1 2 0", "%end 1 2 0", "%begin 1 3 1", "unknown command: x", "%error 1 3 1",
		`%output %0 a\015\012\134\033[1m`, "%output %0 ", "%output", "%exit server exited", "%window-renamed @0 ended", "%nonsense", "",
		"%pane-mode-changed %0", "%layout-change @0 b25f,80x24,0,0,0", "%paste-buffer-changed buffer0", "%session-changed $0 main",
		"%subscription-changed dead $0 @0 0 %0 : 1")
	kinds := []noticeKind{noticeReply, noticeReply, noticeOutput, noticeOutput, noticeExit, noticeRenamed, noticeMode, noticeLayout, noticeBuffer, noticeSession, noticeWatched}
	require.Len(t, got, len(kinds))
	for i, kind := range kinds {
		require.Equal(t, kind, got[i].kind, i)
	}
	require.False(t, got[0].own)
	require.True(t, got[1].failed)
	require.Equal(t, "unknown command: x", got[1].text())
	require.Equal(t, "a\r\n\\\x1b[1m", string(got[2].data))
	require.Empty(t, got[3].data)
	require.Equal(t, "server exited", string(got[4].args))
	require.Equal(t, "buffer0", string(got[8].args))
}

func TestALongReplyIsBounded(t *testing.T) {
	c := &controlParser{}
	c.line([]byte("%begin 1 2 1"))
	line := bytes.Repeat([]byte("x"), 1<<20)
	for range 40 {
		c.line(line)
	}
	n := c.line([]byte("%end 1 2 1"))
	require.Equal(t, noticeReply, n.kind)
	require.Less(t, len(n.text()), maxReply+1)
	require.Greater(t, len(n.text()), maxReply-2<<20)
}

// escape writes bytes as tmux does.
func escape(p []byte) []byte {
	var out []byte
	for _, b := range p {
		if b < ' ' || b == '\\' {
			out = fmt.Appendf(out, `\%03o`, b)
		} else {
			out = append(out, b)
		}
	}
	return out
}

func FuzzUnescape(f *testing.F) {
	f.Add([]byte("\xe9\x6f\xbc\xa2 \\ \x1b[0m \r\n\x00\xff"))
	f.Fuzz(func(t *testing.T, p []byte) {
		require.Equal(t, string(p), string(unescape(nil, escape(p))))
		unescape(nil, p) // whatever comes, it ends
	})
}

func FuzzControl(f *testing.F) {
	f.Add([]byte("%begin 1 2 1\nx\n%end 1 2 1\n%output %0 \\033\\\n%exit\n"))
	f.Add([]byte("%begin\n%end\n%begin \n%error \n%output  \n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		c := &controlParser{}
		for line := range bytes.SplitSeq(p, []byte("\n")) {
			n := c.line(line)
			if n.kind == noticeOutput {
				require.LessOrEqual(t, len(n.data), len(line))
			}
		}
	})
}

func TestQuoting(t *testing.T) {
	require.Equal(t, `"a b"`, quote("a b"))
	require.Equal(t, `"\"\\\$\~\#\012\177;{}'ü"`, quote("\"\\$~#\n\x7f;{}'ü"))
	require.Equal(t, []string{"a", `b\;`, `\;`, ";c"}, separate([]string{"a", "b;", ";", ";c"}))
	require.Equal(t, `'it'\''s'`, shellWord("it's"))
}
