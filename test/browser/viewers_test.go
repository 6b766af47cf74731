package browser

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// small is a second window.
var small = size{760, 520, false}

// Two windows of different sizes: the one that typed last has the terminal in
// its size and draws it right; the other draws what fits. Each takes it over by
// typing.
func TestTwoViewersOfDifferentSizes(t *testing.T) {
	t.Parallel()
	w, session, big := begun(t)
	rows := len(big.draws().Rows)
	second := w.shows(session, big.terminal, small)
	big.types("echo from the big one\r")
	big.right("\nfrom the big one\n$")
	require.Len(t, big.holds().Rows, rows)
	second.reads("from the big one")
	second.types("echo from the small one\r")
	second.right("\nfrom the small one\n$")
	require.Less(t, len(second.holds().Rows), rows)
	big.reads("from the small one")
	big.types("clear; stty size\r")
	big.right("\n$")
	require.Len(t, big.holds().Rows, rows)
	second.click(byID("terminal-host"))
	second.types("vim -u NONE -i NONE -n\r")
	second.right("~\n")
	big.types("ihello")
	big.right("hello")
	second.reads("hello")
}

// Who only watches sees all and can do nothing, and changes nobody's size.
func TestAReadOnlyViewer(t *testing.T) {
	t.Parallel()
	w, session, v := begun(t)
	rows := len(v.draws().Rows)
	watcher := w.shows(session, v.terminal, small)
	watcher.click(byID("read-only"))
	watcher.sees(watcher.view(attr("data-read-only", "true"), attr("data-state", "connected")))
	v.types("echo watch this\r")
	v.right("\nwatch this\n$")
	watcher.reads("watch this")
	watcher.click(byID("terminal-host"))
	watcher.press("touch hit\r")
	watcher.sees(byID("input-blocked"))
	watcher.resize(size{700, 400, false})
	v.types("stty size; echo done\r")
	v.right("\ndone\n$")
	require.Len(t, v.holds().Rows, rows)
	require.False(t, w.exists("hit"))
	require.NotContains(t, v.holds().String(), "hit")
	dials := watcher.dials()
	watcher.click(byID("read-only"))
	testkit.Until(t, testkit.Patience, func() bool { return watcher.dials() > dials }, testkit.Is("the page does not connect for typing"))
	watcher.sees(watcher.view(attr("data-read-only", "false"), attr("data-state", "connected")))
	watcher.right("\ndone\n$")
	watcher.types("echo taken over\r")
	watcher.right("\ntaken over\n$")
}
