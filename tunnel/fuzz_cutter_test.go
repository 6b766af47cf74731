package tunnel

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzTextCutter writes data in pieces of the lengths in pieces, and checks
// the chunks: together they are data, none is over the bound, and of valid
// text each is valid.
func FuzzTextCutter(f *testing.F) {
	f.Add([]byte("\u00e9\u20ac\U0001f600"), []byte{1, 6, 2}, 8) // tunnel.md 16
	f.Add([]byte("\u00e9\u20ac\U0001f600"), []byte{1}, 4)
	f.Add([]byte("\u00e9 after a held byte"), []byte{0, 200}, 4)
	f.Add([]byte("plain ASCII text"), []byte{0, 3, 200}, 5)
	f.Add([]byte("caf\xe9 \xf0\x9f x\xf0\x9f"), []byte{5, 1}, 4)
	f.Add([]byte("\x80\x80\x80\x80\x80\xff"), []byte{2}, 4)
	f.Fuzz(func(t *testing.T, data, pieces []byte, most int) {
		cutter := textCutter{max: most}
		most = max(most, utf8.UTFMax)
		var got []byte
		valid := utf8.Valid(data)
		take := func(chunk []byte) {
			require.LessOrEqual(t, len(chunk), most)
			body, encoding := EncodeBody(chunk, true)
			if valid {
				require.Equal(t, EncodingUTF8, encoding, "%q of %q", chunk, data)
			}
			back, err := DecodeBody(body, encoding)
			require.NoError(t, err)
			got = append(got, back...)
		}
		for rest, i := data, 0; len(rest) > 0; i++ {
			n := len(rest)
			if len(pieces) > 0 {
				n = min(n, int(pieces[i%len(pieces)])+1)
			}
			// The producer uses its buffer again after each write.
			buffer := append([]byte(nil), rest[:n]...)
			for piece := buffer; len(piece) > 0; {
				chunk, left := cutter.next(piece)
				require.True(t, len(chunk) > 0 || len(left) == 0, "no progress")
				take(chunk)
				piece = left
			}
			clear(buffer)
			rest = rest[n:]
			require.LessOrEqual(t, len(data)-len(rest)-len(got), utf8.UTFMax-1, "held back")
		}
		tail := cutter.finish()
		if valid {
			require.Empty(t, tail)
		}
		take(tail)
		require.Equal(t, string(data), string(got))
		require.Empty(t, cutter.finish())
	})
}
