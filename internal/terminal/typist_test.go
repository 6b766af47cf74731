//go:build unix

package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// names has the viewer say who it is.
func (b *browser) names(id string) {
	b.in <- message{data: fmt.Appendf(nil, `{"type":"typist","id":%q}`, id), text: true}
}

// toldTyped waits until the viewer was last told that so many bytes arrived.
func (b *browser) toldTyped(t *testing.T, bytes int) {
	t.Helper()
	eventually(t, func() bool { return last(b.counts()) == fmt.Sprintf(`{"type":"typed","bytes":%d}`, bytes) })
}

func (b *browser) counts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.texts), func(s string) bool { return !strings.Contains(s, `"typed"`) })
}

func last(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// A viewer that says who it is learns what of its keys arrived, over its
// connections, so it can send the rest again. An old connection that nobody has
// noticed the end of types nothing any more.
func TestWhatAViewerTypedIsCounted(t *testing.T) {
	m, _ := startManager(t, Config{})
	file := filepath.Join(t.TempDir(), "typed")
	made := launch(t, m, shell("count", `stty -echo; echo ready; cat >"$1"`, file))
	id, other := strings.Repeat("a", 32), strings.Repeat("b", 32)

	nameless := look(t, m, made, 80, 24)
	nameless.shows(t, "ready")
	watcher := lookAs(t, m, made, 80, 24, true)
	watcher.names(other)
	wrong := look(t, m, made, 80, 24)
	wrong.names("no such name")
	first := look(t, m, made, 80, 24)
	first.names(id)
	first.toldTyped(t, 0)
	first.keys("abc")
	first.keys("de\r")
	first.toldTyped(t, 6)

	second := look(t, m, made, 80, 24)
	second.names(id)
	second.toldTyped(t, 6)
	first.keys("late\r")
	first.detached(t)
	second.keys("f\r")
	second.toldTyped(t, 8)
	third := look(t, m, made, 80, 24)
	third.names(other)
	third.toldTyped(t, 0)

	nameless.keys("g\r")
	eventually(t, func() bool {
		text, err := os.ReadFile(file)
		return err == nil && string(text) == "abcde\nf\ng\n"
	})
	for _, silent := range []*browser{nameless, watcher, wrong} {
		require.Empty(t, silent.counts())
	}
}

// Of too many viewers, the one that has not come back for the longest time is
// forgotten.
func TestCountsAreBounded(t *testing.T) {
	m, _ := startManager(t, Config{})
	made := launch(t, m, shell("many", "cat >/dev/null"))
	names := func(n int) string { return fmt.Sprintf("%032x", n) }
	oldest := look(t, m, made, 80, 24)
	oldest.names(names(0))
	oldest.keys("x")
	oldest.toldTyped(t, 1)
	many := look(t, m, made, 80, 24)
	for n := range maxTypists {
		many.names(names(n + 1))
	}
	many.keys("y") // after all its names
	many.toldTyped(t, 1)
	again := look(t, m, made, 80, 24)
	again.names(names(0))
	again.toldTyped(t, 0)
}
