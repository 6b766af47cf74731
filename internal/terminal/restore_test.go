//go:build unix

package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// screens are programs that set what a terminal can have, and then wait.
var screens = map[string]string{
	"bracketed paste, focus, keypad": `printf '\033[?2004h\033[?1004h\033=\033[?1h'`,
	"alternate over primary":         `printf 'first\nsecond \033[31mred\033[0m\n'; printf '\033[?1049h\033[2J\033[5;7Halternate\033[?25l'`,
	"mouse":                          `printf '\033[?1002h\033[?1006h\033[?1000h'`,
	"region, origin, no wrap":        `printf '\033[3;10r\033[?6h\033[?7l\033[2;2Hin region'`,
	"pen, wide, combining":           `printf '\033[1;4;38;2;10;20;30mpen 日本語 e\314\201 🙂\033[44m more'`,
	"cursor shape and title":         `printf '\033[5 q\033]2;a title\033\\'`,
	"wrapped line":                   `i=0; while [ $i -lt 30 ]; do printf 'a long line that wraps '; i=$((i+1)); done`,
	"pending wrap":                   `printf '\033[1;80HX'`,
	"graphics":                       `printf '\033(0lqqk\033(B'`,
}

// T4, T16, T17: a viewer that comes later sees what one sees that was there from
// the beginning, and goes on alike.
func TestALaterViewerSeesTheSame(t *testing.T) {
	m, _ := startManager(t, Config{})
	for name, script := range screens {
		t.Run(name, func(t *testing.T) {
			made := launch(t, m, shell(name, `stty -echo; read x; `+script+`; printf '\033]9;ready\033\\'; read x; printf '\033[?1049l\033[3;1Hafter\n'; sleep 1000`))
			first := look(t, m, made, 80, 24)
			first.keys("\r")
			eventually(t, func() bool { return strings.Contains(first.rawText(), "9;ready") })
			later := look(t, m, made, 80, 24)
			eventually(t, func() bool { return later.rawText() != "" })
			same(t, first, later)
			first.keys("\r")
			first.shows(t, "after")
			later.shows(t, "after")
			same(t, first, later)
		})
	}
}

// same compares all that two screens have, by what would paint them.
func same(t *testing.T, a, b *browser) {
	t.Helper()
	shot := func(b *browser) string {
		b.mu.Lock()
		defer b.mu.Unlock()
		return string(b.screen.Snapshot(1000, maxSeed))
	}
	eventually(t, func() bool { return shot(a) == shot(b) }, "the screens differ")
}

// The programs that people use.
func TestFullScreenProgramsComeBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("some text of a file\n", 200)), 0o600))
	m, _ := startManager(t, Config{})
	for name, argv := range map[string][]string{
		"vim":  {"vim", "-u", "NONE", "-N", file},
		"less": {"less", file},
	} {
		if _, err := exec.LookPath(argv[0]); err != nil && os.Getenv("CI") == "" {
			t.Logf("%s is not installed", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			spec := shell(name, `"$@"; echo left; sleep 1000`, argv...)
			made := launch(t, m, spec)
			first := look(t, m, made, 90, 28)
			first.shows(t, "some text of a file")
			later := look(t, m, made, 90, 28)
			later.shows(t, "some text of a file")
			same(t, first, later)
			if name == "vim" {
				first.keys("Gotyped\x1b:q!\r")
			} else {
				first.keys("q")
			}
			first.shows(t, "left")
			later.shows(t, "left")
			same(t, first, later)
		})
	}
}
