package exec

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDecoder(t *testing.T) {
	tests := map[string]string{
		"plain":                   "plain",
		"é漢🙂\r\n\x1b[1m\t":        "é漢🙂\r\n\x1b[1m\t",
		"\xe9\x6f\xbc\xa2":        `\xe9o\xbc\xa2`,
		"a\x00b":                  `a\x00b`,
		"\xed\xa0\x80":            `\xed\xa0\x80`, // half of a UTF-16 pair
		"\xc0\x80":                `\xc0\x80`,     // NUL, overlong
		"\uFFFD":                  "\uFFFD",       // what a program really wrote
		"cut \xf0\x9f\x99":        `cut \xf0\x9f\x99`,
		"\xf0\x9f\x99x":           `\xf0\x9f\x99x`,
		"\xf5\x80\x80\x80 beyond": `\xf5\x80\x80\x80 beyond`,
	}
	for in, want := range tests {
		var whole decoder
		require.Equal(t, want, whole.decode([]byte(in))+whole.rest())
		var bytewise decoder
		var got strings.Builder
		for i := range len(in) {
			part := bytewise.decode([]byte{in[i]})
			require.True(t, utf8.ValidString(part))
			got.WriteString(part)
		}
		got.WriteString(bytewise.rest())
		require.Equal(t, want, got.String())
	}
}

func TestDecoderKeepsEverythingHoweverItIsCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := []byte(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(rt, "in"))
		var whole, cut decoder
		want := whole.decode(in) + whole.rest()
		require.True(t, utf8.ValidString(want))
		require.NotContains(t, want, "\x00")
		if utf8.Valid(in) {
			require.Equal(t, strings.ReplaceAll(string(in), "\x00", `\x00`), want)
		}
		var got strings.Builder
		for left := in; len(left) > 0; {
			n := rapid.IntRange(1, len(left)).Draw(rt, "n")
			got.WriteString(cut.decode(left[:n]))
			require.Less(t, len(cut.held), utf8.UTFMax)
			left = left[n:]
		}
		require.Equal(t, want, got.String()+cut.rest())
	})
}
