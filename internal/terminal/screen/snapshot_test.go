package screen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// same2 requires that two models look the same, everywhere.
func same2(t require.TestingT, want, got *Screen) {
	require.Equal(t, seen(stateOf(want)).String(), seen(stateOf(got)).String())
}

// watch feeds a viewer what passes the filter.
func watch(viewer *Screen, parts []Part) {
	for _, p := range parts {
		viewer.Write(p.Bytes)
	}
}

// What comes after a snapshot finds the viewer where the model is: whatever the
// program wrote before, wherever the snapshot falls, and however the output is cut.
func TestViewersThatComeLaterSeeTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols, rows := rapid.IntRange(2, 30).Draw(t, "cols"), rapid.IntRange(1, 12).Draw(t, "rows")
		history := rapid.SampledFrom([]int{0, 3, 100}).Draw(t, "history")
		before := strings.Join(program(quirks{}).Draw(t, "before"), "")
		after := strings.Join(program(quirks{}).Draw(t, "after"), "")
		at := rapid.IntRange(0, len(before)).Draw(t, "at") // in the middle of anything
		all := before + after

		model, early, filter := New(cols, rows, history), New(cols, rows, history), &Filter{Clipboard: true}
		for _, p := range pieces(t, []byte(all[:at])) {
			model.Write(p)
			watch(early, filter.Feed(p))
		}
		if b := model.buf; model.joins > 0 && b.x >= model.joins && disputed(b.row().cells[min(b.x, cols)-model.joins]) {
			// Where the next character goes is said after such a one, so that
			// a mark would not join it any more.
			model.Write([]byte{0})
			watch(early, filter.Feed([]byte{0}))
		}
		for _, s := range []*Screen{model, early} {
			// What these go on is not in a snapshot.
			s.alternate.rows[0].wrapped = false
			if s.history.len() == 0 {
				s.primary.rows[0].wrapped = false
			}
		}
		late := New(cols, rows, history)
		late.Write([]byte("what was there\x1b[?1049h\x1b[4h\x1b]2;old"))
		late.Write(model.Snapshot(1000, 1<<20))
		for _, p := range pieces(t, []byte(all[at:])) {
			model.Write(p)
			parts := filter.Feed(p)
			watch(early, parts)
			watch(late, parts)
		}
		rest := filter.kept()
		early.Write(rest)
		late.Write(rest)
		same2(t, model, early)
		same2(t, model, late)
	})
}

func TestSnapshotOfASnapshotIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New(20, 6, 50)
		a.Write([]byte(strings.Join(program(quirks{}).Draw(t, "program"), "")))
		b := New(20, 6, 50)
		b.Write(a.Snapshot(1000, 1<<20))
		same2(t, a, b)
		c := New(20, 6, 50)
		c.Write(b.Snapshot(1000, 1<<20))
		require.Equal(t, string(b.Snapshot(1000, 1<<20)), string(c.Snapshot(1000, 1<<20)))
	})
}
