package browser

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// narrow is a phone.
var narrow = size{390, 844, true}

// fits fails if the page is wider than the window.
func (p *tab) fits() {
	p.t.Helper()
	require.LessOrEqual(p.t, value[int](p, "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"), 390)
	require.Equal(p.t, 390, value[int](p, "innerWidth"), "the page was not zoomed out")
}

// On a phone a session is begun, a message is answered and a terminal typed
// into, and nothing is wider than the window.
func TestAPhone(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	p := open(t, w.URL, "/", narrow)
	p.sees(byID("new-session-page"))
	p.fits()
	p.click(byID("agent", attr("data-agent", "helper")))
	p.say("echo a-very-long-word-that-does-not-end-before-the-window-does-and-goes-on-and-on-and-on-and-on-and-on")
	p.reads(stored, "a-very-long-word")
	p.fits()
	p.click(byID("add-terminal"))
	p.sees(byID("terminal-view", attr("data-state", "connected")))
	p.fits()
	sessions, err := w.Sessions()
	require.NoError(t, err)
	v := &screen{p, w.terminals(sessions[0].ID)[0]}
	v.click(byID("terminal-host"))
	v.types("echo on a phone\r")
	v.right("\non a phone\n$")
	v.click(`[aria-label="Up"]`)
	v.right("\non a phone\n$ echo on a phone")
	v.click(`[aria-label="Control C"]`)
	v.right("^C")
	p.fits()
}
