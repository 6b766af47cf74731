//go:build unix

package terminal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// reader is a program that writes what it is typed to a file, byte for byte,
// until it has so many.
func reader(file string, n int) string {
	return fmt.Sprintf(`stty raw -echo; echo ready; head -c %d > %s.part; mv %s.part %s; sleep 1000`, n, file, file, file)
}

func arrived(t *testing.T, file string) []byte {
	t.Helper()
	var got []byte
	eventually(t, func() bool {
		b, err := os.ReadFile(file)
		got = b
		return err == nil
	})
	return got
}

func everyByte() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

// T5, T13: what is typed arrives as it is, in order, whatever its size.
func TestEveryTypedByteArrives(t *testing.T) {
	big := bytes.Repeat(append(everyByte(), "grüße 🙂\r\n"...), 4000)[:1<<20]
	for _, plain := range []bool{false, true} {
		for name, pieces := range map[string][][]byte{
			"one by one":     split([]byte("\xe9\x6f\xbc\xa2 \xf0\x9f\x99\x82 caf\xe9"), 1),
			"emoji in parts": {[]byte("a\xf0\x9f"), []byte("\x99\x82b"), []byte("\xe2"), []byte("\x82\xac")},
			"every byte":     {everyByte()},
			"T15: a paste":   {[]byte("\x1b[200~one\ntwo\r\n\x1b[20"), []byte("1~")},
			"a megabyte":     split(big, 60_000),
			"mixed":          {[]byte("x"), big[:5000], []byte("y"), big[5000:6100], []byte("z"), big[:3]},
			"at once":        {big},
		} {
			t.Run(fmt.Sprint(name, plain), func(t *testing.T) {
				m, _ := startManager(t, Config{Plain: plain})
				want := bytes.Join(pieces, nil)
				file := filepath.Join(t.TempDir(), "got")
				made := launch(t, m, shell("a", reader(file, len(want))))
				b := look(t, m, made, 80, 24)
				b.shows(t, "ready")
				for _, p := range pieces {
					b.in <- message{data: p}
				}
				require.True(t, bytes.Equal(want, arrived(t, file)))
			})
		}
	}
}

func split(b []byte, n int) [][]byte {
	var out [][]byte
	for len(b) > 0 {
		k := min(n, len(b))
		out = append(out, b[:k])
		b = b[k:]
	}
	return out
}

// T5: what is printed arrives as it is, Latin-1 too.
func TestEveryPrintedByteArrives(t *testing.T) {
	want := "caf\xe9 \xe9\x6f\xbc\xa2 \xf0\x9f\x99\x82 \xc3\xbc \xff\xfe end"
	for _, plain := range []bool{false, true} {
		m, _ := startManager(t, Config{Plain: plain})
		script := `echo ready; read x; printf '<'; `
		for i := range len(want) {
			script += fmt.Sprintf(`printf '\%03o'; `, want[i])
		}
		made := launch(t, m, shell("a", script+`printf '>'; sleep 1000`))
		b := look(t, m, made, 80, 24)
		b.shows(t, "ready")
		b.keys("\r")
		eventually(t, func() bool { return bytes.Contains([]byte(b.rawText()), []byte(">")) })
		require.Contains(t, b.rawText(), "<"+want+">")
	}
}

// T30: titles, links and the like are the viewer's; its clipboard only with leave.
func TestAProgramReadsNoClipboard(t *testing.T) {
	const kept = "\a\x1b]2;a title\x1b\\\x1b]7;file:///tmp\x1b\\\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\\x1b]133;A\x1b\\"
	const write, read = "\x1b]52;c;aGVsbG8=\x1b\\", "\x1b]52;c;?\x1b\\"
	for _, may := range []bool{false, true} {
		m, _ := startManager(t, Config{Clipboard: may})
		script := filepath.Join(t.TempDir(), "output")
		require.NoError(t, os.WriteFile(script, []byte("<"+kept+write+read+">"), 0o600))
		made := launch(t, m, shell("a", `echo ready; read x; cat "$1"; sleep 1000`, script))
		b := look(t, m, made, 80, 24)
		b.shows(t, "ready")
		b.keys("\r")
		b.shows(t, ">")
		want := "<" + kept
		if may {
			want += write
		}
		require.Contains(t, b.rawText(), want+">")
	}
}

// T12: another client of the same tmux has scrolled back; keys typed by a viewer
// still reach the program.
func TestCopyModeEatsNoKeys(t *testing.T) {
	m, _ := startManager(t, Config{})
	file := filepath.Join(t.TempDir(), "got")
	made := launch(t, m, shell("a", reader(file, 4)))
	b := look(t, m, made, 80, 24)
	b.shows(t, "ready")
	tmuxSays(t, made, "copy-mode", "-t", "main")
	pane := m.sessions["s1"][0].back.(*tmuxPane)
	eventually(t, pane.inMode.Load)
	b.keys("q")
	b.keys("uit")
	require.Equal(t, "quit", string(arrived(t, file)))
}

func TestTypeTypesTextThenKeys(t *testing.T) {
	for _, plain := range []bool{false, true} {
		m, _ := startManager(t, Config{Plain: plain})
		file := filepath.Join(t.TempDir(), "got")
		made := launch(t, m, shell("a", reader(file, 12)))
		b := look(t, m, made, 80, 24)
		b.shows(t, "ready")
		require.NoError(t, m.Type(context.Background(), "s1", made.ID(), `a;"'$#\~`, []string{"Enter", "C-c", "Escape", "x"}))
		require.Equal(t, "a;\"'$#\\~\r\x03\x1bx", string(arrived(t, file)))
	}
}
