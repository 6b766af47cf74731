package screen

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// through gives what passes for all, and the questions for one.
func through(f *Filter, pieces ...string) (all string, questions []string) {
	for _, p := range pieces {
		for _, part := range f.Feed([]byte(p)) {
			if part.Query {
				questions = append(questions, string(part.Bytes))
			} else {
				all += string(part.Bytes)
			}
		}
	}
	return all, questions
}

// kept is what the filter keeps back, and would pass if it went on.
func (f *Filter) kept() []byte { return f.unit }

// byByte cuts a text after each byte.
func byByte(s string) []string {
	var out []string
	for i := range len(s) {
		out = append(out, s[i:i+1])
	}
	return out
}

// T8: what tmux answers goes to nobody, every other question to one.
func TestFilterKeepsQuestionsFromTheManyT8(t *testing.T) {
	for name, q := range map[string]string{
		"DA1": "\x1b[c", "DA1 with 0": "\x1b[0c", "DA2": "\x1b[>c", "DA2 with 0": "\x1b[>0c", "CPR": "\x1b[6n", "DSR": "\x1b[5n",
		"XTVERSION": "\x1b[>q", "size": "\x1b[18t", "leading zero": "\x1b[06n", "more parameters": "\x1b[6;1n",
	} {
		t.Run(name, func(t *testing.T) {
			all, questions := through(&Filter{}, "a"+q+"b")
			require.Equal(t, "ab", all)
			require.Empty(t, questions)
			all, questions = through(&Filter{}, byByte("a"+q+"b")...)
			require.Equal(t, "ab", all)
			require.Empty(t, questions)
		})
	}
	for name, q := range map[string]string{
		"palette": "\x1b]4;1;?\x1b\\", "foreground": "\x1b]10;?\a", "background": "\x1b]11;?\x1b\\", "cursor": "\x1b]12;?\a", "both": "\x1b]10;?;?\a",
		"DECRQM": "\x1b[?2004$p", "ANSI DECRQM": "\x1b[4$p", "DECRQSS": "\x1bP$qm\x1b\\", "XTGETTCAP": "\x1bP+q544e\x1b\\", "kitty keyboard": "\x1b[?u",
		"DA3": "\x1b[=c", "private DSR": "\x1b[?6n", "colour scheme": "\x1b[?996n", "pixels": "\x1b[14t", "title": "\x1b[21t", "DECID": "\x1bZ",
		"kitty picture": "\x1b_Gi=1,a=q;AAAA\x1b\\", "C1 CPR": "\xc2\x9b6n", "C1 OSC": "\xc2\x9d11;?\xc2\x9c", "graphics": "\x1b[?1;1;0S",
	} {
		t.Run(name, func(t *testing.T) {
			if name == "C1 CPR" {
				q = "\xc2\x9b?6n"
			}
			all, questions := through(&Filter{}, "a"+q+"b")
			require.Equal(t, "ab", all)
			require.Equal(t, []string{q}, questions)
			all, questions = through(&Filter{}, byByte("a"+q+"b")...)
			require.Equal(t, "ab", all)
			require.Equal(t, []string{q}, questions)
		})
	}
}

// T30: titles, bells, folders, links and prompts pass; clipboards do not.
func TestFilterPassesWhatIsForViewersT30(t *testing.T) {
	for _, s := range []string{
		"\x1b]0;title\a", "\a", "\x1b]7;file:///tmp\x1b\\", "\x1b]8;;https://example.org\x1b\\x\x1b]8;;\x1b\\", "\x1b]133;A\a", "\x1b[1c",
		"\x1b]4;1;#ff0000\a", "\x1b]11;#000\a", "\x1b[3n", "\x1b[8;24;80t", "\x1bPq#0;2;0;0;0#0~~\x1b\\", "\x1b_Ga=T;AAAA\x1b\\", "\x1b]9;note\a",
		"\x1b]1337;SetMark\a", "\x1b[5 q", "\x1b[>4;2m", "\x1b[?25h",
	} {
		all, questions := through(&Filter{}, "a"+s+"b")
		require.Equal(t, "a"+s+"b", all)
		require.Empty(t, questions)
	}
	write, read := "\x1b]52;c;aGVsbG8=\a", "\x1b]52;c;?\x1b\\"
	all, _ := through(&Filter{}, "a"+write+"b"+read+"c\x1b]052;;?\ad\x1b]5\n2;c;?\ae\xc2\x9d52;c;?\xc2\x9cf")
	require.Equal(t, "abcdef", strings.ReplaceAll(all, "\n", ""))
	all, _ = through(&Filter{Clipboard: true}, "a"+write+"b"+read+"c")
	require.Equal(t, "a"+write+"bc", all)
	all, questions := through(&Filter{}, "a\x1bkname\x1b\\b\x1b]5522;x\ac")
	require.Equal(t, "abc", all, "a window's name is tmux's, and a clipboard is nobody's")
	require.Empty(t, questions)
}

// A clipboard of any size is swallowed without being kept; other long sequences
// pass before their end has come.
func TestFilterBoundsWhatItKeeps(t *testing.T) {
	f := &Filter{}
	all, _ := through(f, "a\x1b]52;c;")
	for range 100 {
		more, _ := through(f, strings.Repeat("QUFB", 1000))
		all += more
		require.LessOrEqual(t, cap(f.unit), 4*maxHeld)
	}
	more, _ := through(f, "\ab")
	require.Equal(t, "ab", all+more)

	long := "\x1b]1337;File=:" + strings.Repeat("x", 5*maxHeld)
	f = &Filter{}
	all, _ = through(f, byByte(long)...)
	require.Greater(t, len(all), 4*maxHeld)
	more, _ = through(f, "\x1b\\after\x1b[6n")
	require.Equal(t, long+"\x1b\\after", all+more)

	f = &Filter{Clipboard: true}
	all, _ = through(f, "\x1b]52;c;"+strings.Repeat("QUFB", 4000)+"\a!")
	require.Equal(t, "\x1b]52;c;"+strings.Repeat("QUFB", 4000)+"\a!", all)
}

// T5: bytes that are no text, and text that is cut, pass as they are; a
// character that is cut comes whole.
func TestFilterPassesEveryByteT5(t *testing.T) {
	for _, s := range []string{
		"\xe9o\xbc\xa2", "caf\xe9\r\n", "\xff\xfe\x80\x9b6n", "é漢😀…", "\xe2\x9b\x84", "\xf0\x9f\x9b\x9b", "\xc3\x9b6n", "\xe2\x9b", "\xe2\xc2\xa0", "\xc2", "\xc2\xc2\x41", "\xe2\x80\x1b[1mx", "\xc2\x1b[1mx",
	} {
		f := &Filter{}
		all, questions := through(f, byByte(s)...)
		require.Equal(t, s, all+string(f.kept()))
		require.Empty(t, questions)
		all, _ = through(&Filter{}, s+" ")
		require.Equal(t, s+" ", all)
	}
	f := &Filter{}
	all, _ := through(f, "a\xe2\x80")
	require.Equal(t, "a", all)
	all, _ = through(f, "\xa6b")
	require.Equal(t, "…b", all)
}

func TestFilterHoldsBackOnlyWhatIsUnfinished(t *testing.T) {
	f := &Filter{}
	all, _ := through(f, "text\x1b[3")
	require.Equal(t, "text", all)
	all, _ = through(f, "1mred")
	require.Equal(t, "\x1b[31mred", all)
	all, _ = through(f, "\x1b[31\x1b[32mgreen") // the first is given up for the second
	require.Equal(t, "\x1b[31\x1b[32mgreen", all)
	all, questions := through(f, "\x1b[6\nn!\x1b[?6\rn") // a control inside works all the same
	require.Equal(t, "\n!\r", all)
	require.Equal(t, []string{"\x1b[?6n"}, questions)
	all, _ = through(f, "\x1b]0;x\x1b")
	require.Empty(t, all)
	all, _ = through(f, "[1m")
	require.Equal(t, "\x1b]0;x\x1b[1m", all)
	all, _ = through(f, "\x1b]52;c;eA==\x1b[1m", "\x1b]52;c;eA==\x1a!")
	require.Equal(t, "\x1b[1m\x1b]52;c;eA==\x1a!", all, "an aborted sequence has no effect")
}

// However output is cut, the same passes, and nothing that is no question is lost.
func TestFilterDoesNotCareForCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noise := rapid.SliceOf(rapid.SampledFrom([]byte("\x1b\x1b\x1b[]P_k\\?;:$> 0123456789cnqtumpx\a\n\x18\xc2\xc2\x9b\x9d\x9c\xe2\x80\xa6\xf0\x9f\xffa"))).Draw(t, "noise")
		whole := &Filter{}
		all, questions := through(whole, string(noise))
		all += string(whole.kept())
		cut := &Filter{}
		var cutAll string
		var cutQuestions []string
		for _, p := range pieces(t, noise) {
			a, q := through(cut, string(p))
			cutAll += a
			cutQuestions = append(cutQuestions, q...)
		}
		cutAll += string(cut.kept())
		require.Equal(t, all, cutAll)
		require.Equal(t, questions, cutQuestions)
		if len(questions) == 0 && !bytes.ContainsAny(noise, "cnqt5k") {
			require.Equal(t, string(noise), all)
		}
	})
}
