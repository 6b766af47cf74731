package browser

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A runner that is killed leaves its panes, and finds them again: the same
// process, on the same screen, on a page that came back by itself.
func TestARunnersRestartWithLivePanes(t *testing.T) {
	t.Parallel()
	w, session, v := begun(t)
	v.types("echo $$ >before; vim -u NONE -i NONE -n text\r")
	v.right("~\n")
	v.types("ibefore ")
	v.right("before")
	w.runner.Kill()
	v.seesNot(v.view(attr("data-state", "connected")))
	v.press("lost ")
	v.sees(byID("input-blocked"))
	w.begin()
	v.connected()
	v.right("before")
	v.types("after\x1b:wq\r")
	v.right("$ echo $$ >before")
	v.types("echo $$ >after; cat text\r")
	v.right("\nbefore after\n$")
	require.NotEmpty(t, w.read("before"))
	require.Equal(t, w.read("before"), w.read("after"))
	require.Len(t, w.terminals(session), 1)
}

// A server that is killed takes no terminal with it.
func TestAServersRestartUnderATerminal(t *testing.T) {
	t.Parallel()
	w, _, v := begun(t)
	v.types("echo $$ >before\r")
	v.right("\n$")
	w.Kill()
	v.seesNot(v.view(attr("data-state", "connected")))
	v.sees(byID("connection-banner", attr("data-state", "server-lost")))
	w.Start()
	v.connected()
	v.seesNot(byID("connection-banner"))
	v.types("echo $$ >after; echo back\r")
	v.right("\nback\n$")
	require.NotEmpty(t, w.read("before"))
	require.Equal(t, w.read("before"), w.read("after"))
}
