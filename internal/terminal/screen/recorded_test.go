package screen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recordings are what programs printed into a terminal of 80x24, by name: vim and
// less at work, less that was left, and a shell.
func recordings(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.out")
	require.NoError(t, err)
	require.Len(t, files, 4)
	found := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		found[strings.TrimSuffix(filepath.Base(file), ".out")] = data
	}
	return found
}

// T4, T16: whenever somebody comes to look at a program that people use, it looks
// the same as to one who has been there from the start.
func TestComingLateToRecordings(t *testing.T) {
	for name, output := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			for at := 0; at < len(output); at += 211 {
				model, filter := New(80, 24, 100), &Filter{}
				model.Write(output[:at])
				filter.Feed(output[:at])
				late := New(80, 24, 100)
				late.Write(model.Snapshot(100, 1<<20))
				model.Write(output[at:])
				watch(late, filter.Feed(output[at:]))
				same2(t, model, late)
			}
		})
	}
}

func TestRecordingsShowWhatTheirProgramsDid(t *testing.T) {
	for name, want := range map[string][]string{
		"vim":       {"hello 🙂 漢字", "  7 line of a text file, number 7\n"},
		"less":      {"     24 line of a text file, number 24\n"},
		"less-left": {"\n\n"},
		"shell":     {"$ echo a long line that goes on and on, beyond the last column of the terminal, and wraps there\n"},
	} {
		s := New(80, 24, 100)
		s.Write(recordings(t)[name])
		for _, text := range want {
			require.Contains(t, s.Text(100), text, name)
		}
		require.Equal(t, name == "vim" || name == "less", s.Alternate(), name)
		require.Equal(t, name == "shell" || name == "vim", s.modes.bracketed, name)
	}
}
