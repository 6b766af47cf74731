package screen

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzWrite: whatever a program writes, however it is cut, the model comes to the
// same, stays within its bounds, and can be painted.
func FuzzWrite(f *testing.F) {
	f.Add([]byte("hello\r\n\x1b[31mred\x1b[?1049h\x1b[5;5Hthere"), uint16(3))
	f.Add([]byte("\x1b]2;title\x1b\\\x1b(0lqqk\x1b[2;3r\x1b[?6h\xe2\x82\xac\xf0\x9f"), uint16(9))
	f.Add([]byte("\x1b]8;;x\x1b\\y\x1bPq#0\x1b\\\x1b[>5u\x1b[1;2;3;4:5:6m\x9b\xc2\x9b6n"), uint16(20))
	f.Fuzz(func(t *testing.T, output []byte, at uint16) {
		cut := min(int(at), len(output))
		whole, pieced := New(17, 5, 20), New(17, 5, 20)
		whole.Write(output)
		pieced.Write(output[:cut])
		painted := New(17, 5, 20)
		painted.Write(pieced.Snapshot(20, 1<<20))
		pieced.Write(output[cut:])
		require.Equal(t, stateOf(whole).String(), stateOf(pieced).String())
		require.LessOrEqual(t, whole.history.len(), 20)
		for _, s := range []*Screen{pieced, painted} {
			s.Resize(int(at)%30, int(at)%9) // and by any other size
			require.NotPanics(t, func() { s.Text(20) })
			require.Len(t, s.buf.rows, s.Rows())
		}
	})
}

// Nothing that a program writes makes the model grow without bound.
func TestMemoryIsBounded(t *testing.T) {
	const rounds = 20_000
	for name, piece := range map[string]func(i int) string{
		"lines":         func(int) string { return "a line\r\n" },
		"marks":         func(int) string { return "\u0301" },
		"long title":    func(i int) string { return strings.Repeat("t", 1000) },
		"parameters":    func(int) string { return "1;" },
		"saved titles":  func(int) string { return "\x1b[22t" },
		"keyboards":     func(int) string { return "\x1b[>1u" },
		"links":         func(i int) string { return fmt.Sprintf("\x1b]8;;https://example.org/%d\x1b\\l", i) },
		"styles":        func(i int) string { return fmt.Sprintf("\x1b[38;2;%d;%d;1mx", i%256, i/256%256) },
		"combinations":  func(i int) string { return fmt.Sprintf("\r%c%c%c", 'a'+i%26, 0x300+i%64, 0x300+i/64%64) },
		"colors":        func(i int) string { return fmt.Sprintf("\x1b]4;%d;#%06x\a", i, i) },
		"no end at all": func(int) string { return "\x1bPq" + strings.Repeat("x", 500) },
	} {
		t.Run(name, func(t *testing.T) {
			s := New(80, 24, 100)
			if name == "long title" {
				s.Write([]byte("\x1b]2;"))
			}
			if name == "parameters" {
				s.Write([]byte("\x1b["))
			}
			play := func(from int) {
				for i := range rounds {
					s.Write([]byte(piece(from + i)))
				}
			}
			play(0)
			before := heap()
			play(rounds)
			require.Less(t, heap(), before+1<<20)
			runtime.KeepAlive(s)
		})
	}
}

// heap is what the program holds.
func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func BenchmarkWritePlainText(b *testing.B) {
	text := bytes.Repeat([]byte("The quick brown fox jumps over the lazy dog and 0123456789 more\r\n"), 1000)
	s := New(80, 24, 10000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.Write(text)
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s := New(120, 40, 50_000)
	s.Write(bytes.Repeat([]byte("\x1b[32mThe quick\x1b[m brown fox jumps over the lazy dog and 0123456789 more\r\n"), 60_000))
	for name, lines := range map[string]int{"screen": 0, "20000 lines": 20_000} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.Snapshot(lines, 2<<20)
			}
		})
	}
}
