//go:build unix

package terminal

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// sizes is a program that prints its size whenever it changes, and what it is
// typed.
const sizes = `trap 'stty size' WINCH; stty -echo; stty size; while :; do if read x; then echo "got $x"; fi; done`

// T1: a viewer that joins in the middle of a stream misses nothing and gets
// nothing twice.
func TestNothingIsMissingOrTwiceWhenJoiningAFlood(t *testing.T) {
	m, _ := startManager(t, Config{})
	made := launch(t, m, shell("a", `i=0; while [ $i -lt 6000 ]; do i=$((i+1)); echo "line $i"; done; echo done; sleep 1000`))
	var browsers []*browser
	for range 12 {
		b := look(t, m, made, 0, 0)
		browsers = append(browsers, b)
		eventually(t, func() bool { return b.rawText() != "" })
	}
	for _, b := range browsers {
		b.shows(t, "done")
		// After the flood each has the whole history.
		eventually(t, func() bool {
			lines := strings.Split(strings.TrimRight(b.all(), "\n"), "\n")
			if len(lines) != 6001 {
				return false
			}
			for i := range 6000 {
				if lines[i] != fmt.Sprintf("line %d", i+1) {
					return false
				}
			}
			return true
		}, b.text())
	}
}

// T9, T10: the last typist has the size; who only reads never has.
func TestTheLastTypistOwnsTheSize(t *testing.T) {
	m, _ := startManager(t, Config{})
	made := launch(t, m, shell("a", sizes))
	a := look(t, m, made, 100, 30)
	a.shows(t, "30 100")
	a.keys("from a\r")
	a.shows(t, "got from a")

	b := look(t, m, made, 60, 20)
	b.shows(t, "got from a")
	require.Equal(t, [2]int{100, 30}, b.size()) // a typed just now
	b.keys("from b\r")
	b.shows(t, "20 60")
	b.shows(t, "got from b")
	eventually(t, func() bool { return a.size() == [2]int{60, 20} })

	silent := lookAs(t, m, made, 40, 10, true)
	silent.shows(t, "got from b")
	silent.keys("never\r")
	silent.resize(41, 11)

	a.keys("again\r")
	a.shows(t, "30 100")
	eventually(t, func() bool { return b.size() == [2]int{100, 30} && silent.size() == [2]int{100, 30} })
	for _, shown := range []*browser{a, b, silent} {
		eventually(t, func() bool { return shown.text() == a.text() })
	}
	a.leave(t)
	eventually(t, func() bool { return b.size() == [2]int{60, 20} })
	b.leave(t)
	silent.keys("never\r")
	text, err := m.Screen(context.Background(), "s1", made.ID(), 100)
	require.NoError(t, err)
	require.NotContains(t, text, "never")
	require.Equal(t, "60x20", tmuxSays(t, made, "display-message", "-p", "-t", "main", "#{window_width}x#{window_height}"))
}

// T25: whoever typed last and is silent since, or not there any more without
// anybody's knowledge, keeps the size for a while only.
func TestASilentTypistLosesTheSize(t *testing.T) {
	lim := defaultLimits()
	lim.resizeQuiet = time.Nanosecond
	m, _ := startLimited(t, Config{}, lim)
	made := launch(t, m, shell("a", sizes))
	a := look(t, m, made, 100, 30)
	a.keys("from a\r")
	a.shows(t, "got from a")
	b := look(t, m, made, 60, 20)
	b.shows(t, "20 60")
}

func TestSizesThatAreNone(t *testing.T) {
	for text, want := range map[string][2]int{
		`{"type":"resize","cols":80,"rows":24}`:       {80, 24},
		`{"type":"resize","cols":1,"rows":1}`:         {2, 1},
		`{"type":"resize","cols":99999,"rows":99999}`: {1000, 500},
		`{"type":"resize","cols":0,"rows":0}`:         {},
		`{"type":"resize","cols":-5,"rows":24}`:       {},
		`{"type":"resize","cols":80.5,"rows":24}`:     {},
		`{"type":"resize","cols":"80","rows":"24"}`:   {},
		`{"type":"resize","cols":1e999,"rows":24}`:    {},
		`{"type":"resize","cols":null,"rows":24}`:     {},
		`{"type":"resize"}`:                           {},
		`{"type":"hello","cols":80,"rows":24}`:        {},
		`[]`:                                          {}, `{`: {}, ``: {}, "\xff": {}, `{"type":"resize","cols":99999999999999999999,"rows":1}`: {},
	} {
		cols, rows, ok := readResize([]byte(text))
		require.Equal(t, want, [2]int{cols, rows}, text)
		require.Equal(t, want != [2]int{}, ok, text)
	}
}

// T26: a drag sends sizes by the hundred; the last one counts.
func TestAStormOfSizesEndsWithTheLast(t *testing.T) {
	m, _ := startManager(t, Config{})
	made := launch(t, m, shell("a", sizes))
	b := look(t, m, made, 80, 24)
	b.shows(t, "24 80")
	for i := range 300 {
		b.resize(50+i%100, 20+i%10)
	}
	b.resize(77, 33)
	b.shows(t, "33 77")
	require.Less(t, strings.Count(b.all(), "\n"), 200)
	b.resize(1_000_000, 1_000_000) // T10
	b.shows(t, "500 1000")
}

// T11: no byte of a viewer that only reads reaches the program, and none makes
// tmux do anything.
func TestAReaderCannotWrite(t *testing.T) {
	m, _ := startManager(t, Config{})
	file := filepath.Join(t.TempDir(), "got")
	made := launch(t, m, shell("a", reader(file, 3)))
	r := lookAs(t, m, made, 80, 24, true)
	r.shows(t, "ready")
	r.keys("xyz\nkill-server\n")
	r.in <- message{data: []byte(`kill-server`), text: true}
	r.in <- message{data: []byte("{\"type\":\"resize\",\"cols\":\"80\\nkill-server\\n\",\"rows\":24}"), text: true}
	w := look(t, m, made, 80, 24)
	w.keys("abc")
	require.Equal(t, "abc", string(arrived(t, file)))
}

// T8: what tmux answers reaches no viewer; the rest is asked of one.
func TestAQuestionIsAskedOnce(t *testing.T) {
	m, _ := startManager(t, Config{})
	file := filepath.Join(t.TempDir(), "got")
	// The three answers of tmux: 0n, the cursor, and who it is.
	made := launch(t, m, shell("a", `stty raw -echo; echo ready; head -c 1 >/dev/null
		printf 'A\033[5n\033[6n\033[c\033]11;?\033\\B'; head -c 17 > `+file+`.part; mv `+file+`.part `+file+`; sleep 1000`))
	all := []*browser{look(t, m, made, 80, 24), look(t, m, made, 80, 24), look(t, m, made, 80, 24)}
	for _, b := range all {
		b.shows(t, "ready")
	}
	all[1].keys("x")
	for i, b := range all {
		eventually(t, func() bool { return strings.Contains(b.rawText(), "B") })
		for _, query := range []string{"\x1b[5n", "\x1b[6n", "\x1b[c"} {
			require.NotContains(t, b.rawText(), query)
		}
		require.Equal(t, i == 1, strings.Contains(b.rawText(), "\x1b]11;?"), i)
	}
	answers := string(arrived(t, file))
	require.Regexp(t, `^\x1b\[0n\x1b\[\d+;\d+R\x1b\[\?`, answers)
	// A picture asks nothing.
	late := look(t, m, made, 80, 24)
	late.shows(t, "B")
	require.NotContains(t, late.rawText(), "?\x1b\\")
}

// T27: what was copied goes to the one who typed just now.
func TestWhatWasCopiedGoesToTheTypist(t *testing.T) {
	m, _ := startManager(t, Config{})
	made := launch(t, m, shell("a", `echo ready; sleep 1000`))
	a, b := look(t, m, made, 80, 24), look(t, m, made, 80, 24)
	a.shows(t, "ready")
	b.shows(t, "ready")
	term := m.sessions["s1"][0]
	require.Nil(t, nobody(term))
	b.keys("x")
	eventually(t, func() bool { return nobody(term) != nil })
	tmuxSays(t, made, "set-buffer", "-b", "mine", "copied text")
	term.copied("mine") // not every tmux tells of it by itself
	want := `"data":"` + base64.StdEncoding.EncodeToString([]byte("copied text")) + `"`
	eventually(t, func() bool { return strings.Contains(b.told(), want) })
	require.NotContains(t, a.told(), "clipboard")
}

func nobody(term *terminal) *viewer {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.justTyped()
}

func (b *browser) told() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.texts, "\n")
}

// Focus reports and answers to questions are no typing.
func TestAutomaticMessagesAreNoTyping(t *testing.T) {
	for text, want := range map[string]bool{
		"\x1b[I": true, "\x1b[O": true, "\x1b[?1;2c": true, "\x1b[24;1R": true, "\x1b]11;rgb:0/0/0\x07": true, "\x1b[0n\x1b[?1;2c": true,
		"\x1b]11;rgb:0/0/0\x1b\\": true, "\x1bP1$r0m\x1b\\": true, "\x1b[?2026;2$y": true,
		"a": false, "\r": false, "\x1b": false, "\x1b[A": false, "\x1b[Ia": false, "a\x1b[I": false, "\x1b[200~x\x1b[201~": false,
		"\x1b[<0;5;5M": false, "\x1bOR": false, "": false,
	} {
		require.Equal(t, want, automatic.MatchString(text), "%q", text)
	}
}

// A program that waits for its first viewer starts with it.
func TestAProgramMayWaitForItsViewer(t *testing.T) {
	m, _ := startManager(t, Config{})
	file := filepath.Join(t.TempDir(), "started")
	spec := shell("a", `echo "size $(stty size)"; touch `+file+`; sleep 1000`)
	spec.StartOnAttach = true
	made := launch(t, m, spec)
	got, err := m.Get(context.Background(), "s1", made.ID())
	require.NoError(t, err)
	require.True(t, got.Running)
	require.NoFileExists(t, file)
	b := look(t, m, made, 90, 25)
	b.shows(t, "size ")
	eventually(t, func() bool { _, err := os.Stat(file); return err == nil })
}

// A stopped manager lets its viewers go with a code that makes them come back,
// and its terminals live.
func TestStoppingLeavesTerminalsAlone(t *testing.T) {
	dir := shortDir(t)
	m, book := startManager(t, Config{Dir: dir})
	made := launch(t, m, shell("a", `echo ready; sleep 1000`))
	b := look(t, m, made, 80, 24)
	b.shows(t, "ready")
	m.Stop()
	require.Equal(t, detachedStop, b.detached(t))
	require.Empty(t, book.of("exited"))
	require.Equal(t, "0", tmuxSays(t, made, "list-panes", "-F", "#{pane_dead}"))
	_, err := m.Launch(context.Background(), shell("b", "sleep 1"))
	require.ErrorIs(t, err, errStopping)
	require.Equal(t, detachedStop, look(t, m, made, 80, 24).detached(t))
}

// A viewer that leaves is told so, and the terminal goes on.
func TestLeaving(t *testing.T) {
	m, _ := startManager(t, Config{})
	made := launch(t, m, shell("a", `echo ready; sleep 1000`))
	b := look(t, m, made, 80, 24)
	b.shows(t, "ready")
	close(b.in)
	require.Equal(t, detachedByUser, b.detached(t))
	require.Empty(t, m.sessions["s1"][0].viewers)
	require.Equal(t, []wire.Terminal{made}, m.List("s1"))
}
