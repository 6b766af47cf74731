//go:build unix

package screen

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// tmux is a tmux with one pane, to compare with.
type tmux struct{ dir string }

func startTmux(t *testing.T) tmux {
	dir, err := os.MkdirTemp("/tmp", "ors") // a socket's path is short
	require.NoError(t, err)
	m := tmux{dir}
	t.Cleanup(func() {
		_ = exec.Command("tmux", m.args("kill-server")...).Run() // it may not have started
		require.NoError(t, os.RemoveAll(dir))
	})
	m.says(t, "new-session", "-d", "-s", "main", "sleep 1000")
	m.says(t, "set-option", "-g", "remain-on-exit", "on")
	return m
}

func (m tmux) args(args ...string) []string {
	return append([]string{"-S", filepath.Join(m.dir, "s"), "-f", "/dev/null"}, args...)
}

func (m tmux) says(t require.TestingT, args ...string) string {
	cmd := exec.Command("tmux", m.args(args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// play has a program print into a fresh pane of a size, and tells the rows that
// are shown, and where the cursor is. The program asks when it is through, and
// tmux answers when it has come to the question.
func (m tmux) play(t require.TestingT, cols, rows int, output []byte) (shown []string, cursor string) {
	file := filepath.Join(m.dir, "output")
	require.NoError(t, os.WriteFile(file, output, 0o600))
	script := fmt.Sprintf(`stty raw -echo; cat %s; printf '\033[5n'; dd bs=1 count=4 2>/dev/null >%s.answer; tmux -S %s/s wait-for -S done; exec sleep 1000`, file, file, m.dir)
	m.says(t, "resize-window", "-t", "main", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), ";",
		"respawn-pane", "-k", "-t", "main", script, ";", "wait-for", "done")
	cursor = strings.TrimSpace(m.says(t, "display-message", "-p", "-t", "main", "#{cursor_x} #{cursor_y}"))
	return strings.Split(strings.TrimSuffix(m.says(t, "capture-pane", "-p", "-t", "main"), "\n"), "\n"), cursor
}

// sameAsTmux compares what tmux shows after some output with what we show.
func (m tmux) sameAsTmux(t require.TestingT, cols, rows int, output []byte) {
	s := New(cols, rows, 0)
	s.Write(output)
	want, cursor := m.play(t, cols, rows, output)
	var got []string
	st := stateOf(s)
	lines := st.Primary.Lines
	if st.Alternate {
		lines = st.Other.Lines
	}
	for _, l := range lines {
		row := ""
		for x, c := range l.Cells {
			if c.Text == "" && c.Width == 1 || c.Text == "" && (x == 0 || l.Cells[x-1].Width != 2) {
				c.Text = " "
			}
			row += c.Text
		}
		got = append(got, strings.TrimRight(row, " "))
	}
	for i := range want {
		want[i] = strings.TrimRight(want[i], " ")
	}
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"), "%q", output)
	require.Equal(t, cursor, fmt.Sprint(s.buf.x, s.buf.y), "%q", output)
}

func TestTmuxShowsRecordingsAlike(t *testing.T) {
	m := startTmux(t)
	for name, output := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			for _, end := range []int{len(output) / 3, len(output) / 2, len(output)} {
				m.sameAsTmux(t, 80, 24, append(output[:end:end], 0x18))
			}
		})
	}
}

// What tmux keeps of a program, and paints for a runner that comes later, is what
// the model shows.
func TestTmuxShowsTheSame(t *testing.T) {
	m := startTmux(t)
	programs := rapid.SliceOfN(plainStep(), 1, 60)
	for i := range 40 { // each starts a program
		output := strings.Join(programs.Example(i), "") + "\x18"
		m.sameAsTmux(t, 20+i%5, 5+i%7, []byte(output))
	}
}

// plainStep draws what all terminals do alike.
func plainStep() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		n := func(low, high int) int { return rapid.IntRange(low, high).Draw(t, "n") }
		pick := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "which") }
		switch n(0, 11) {
		case 0, 1, 2:
			return pick(words...)
		case 3:
			return pick("é", "你好", "漢", "e\u0301", "😀", "…", "─│┌", "ｗｉｄｅ", "ñ", "日本語")
		case 4, 5:
			return pick("\r\n", "\r\n", "\n", "\r", "\b", "\t")
		case 6:
			return fmt.Sprintf("\x1b[%d;%dH", n(1, 12), n(1, 24))
		case 7:
			return fmt.Sprintf("\x1b[%d%s", n(1, 9), pick("A", "B", "C", "D", "E", "F", "G", "d"))
		case 8:
			return pick("\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[J", "\x1b[1J", "\x1b[2J")
		case 9:
			return fmt.Sprintf("\x1b[%d%s", n(1, 6), pick("@", "P", "X", "L\r", "M\r", "S")) // in xterm, L and M go to the first column
		case 10:
			return pick("\x1bD", "\x1bE", "\x1bM", "\x1b[31m", "\x1b[m", "\x1b[4h", "\x1b[4l", "\x1b7", "\x1b8")
		default:
			top := n(1, 4)
			return fmt.Sprintf("\x1b[%d;%dr", top, top+n(1, 3))
		}
	})
}
