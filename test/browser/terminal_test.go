package browser

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// begun is a world with a shell, and a page that shows it.
func begun(t *testing.T) (*world, string, *screen) {
	t.Helper()
	w := newWorld(t).begin()
	session := w.NewSession("helper")
	v := w.shows(session, w.opens(session, "sh"), desk)
	v.right("$")
	return w, session, v
}

// What is typed comes back, at once and letter by letter.
func TestTyping(t *testing.T) {
	t.Parallel()
	_, _, v := begun(t)
	v.types("echo h\u00e9llo wor")
	v.right("$ echo h\u00e9llo wor")
	v.types("ld | tr a-z A-Z\r")
	v.right("H\u00e9LLO WORLD")
}

// The programs that people run: what the page draws is what they drew, after
// another size, and after a reload in the middle.
func TestVim(t *testing.T) {
	t.Parallel()
	w, _, v := begun(t)
	v.types("vim -u NONE -i NONE -n --cmd 'set nocompatible ruler' text\r")
	v.right("~\n")
	v.types("ifirst line\rsecond l\u00ednea\rthird")
	v.right("third")
	v.resize(size{900, 500, false})
	v.right("second l\u00ednea")
	v.reload()
	v.right("third")
	v.types(" word\x1bggOzeroth\x1b:w\r")
	v.right("zeroth")
	v.right("4L, ")
	require.Equal(t, "zeroth\nfirst line\nsecond l\u00ednea\nthird word\n", w.read("text"))
	v.types(":q\r")
	v.right("$ vim -u NONE")
	require.NotContains(t, v.draws().String(), "zeroth", "the shell's own screen is back")
	v.types("echo back\r")
	v.right("\nback\n")
}

func TestLess(t *testing.T) {
	t.Parallel()
	_, _, v := begun(t)
	v.types("seq 1 5000 >numbers; less -S numbers\r")
	v.right("numbers")
	v.types(" ")
	v.right("\n40\n")
	v.types("/^1234$\r")
	v.right("1234\n")
	v.resize(size{700, 900, false})
	v.right("1234\n")
	v.reload()
	v.right("1234\n")
	v.types("G")
	v.right("5000\n(END)")
	v.types("q")
	v.right("$ seq 1 5000")
}

// The end of what a program prints is there, however fast it printed and
// whatever the page did meanwhile, and also when it has ended the terminal.
func TestAFlood(t *testing.T) {
	t.Parallel()
	_, _, v := begun(t)
	v.types("seq 1 200000; echo the end\r")
	v.resize(size{800, 600, false})
	v.reload()
	v.resize(size{1000, 700, false})
	v.right("199999\n200000\nthe end\n$")
	v.types("exec seq 1 200000\r")
	v.sees(v.view(attr("data-state", "closed")))
	v.reads("199999\n200000\n")
	v.tab.reads(byID("terminal-line"), "Ended")
}

// htop draws by itself all the time: it is right when it has ended, and its keys
// are when it runs.
func TestHtop(t *testing.T) {
	t.Parallel()
	_, _, v := begun(t)
	v.types("htop --readonly -d 100\r")
	v.reads("PID")
	v.resize(size{1000, 600, false})
	v.reload()
	v.reads("PID")
	v.types("q")
	v.right("$ htop --readonly")
	require.NotContains(t, v.draws().String(), "PID")
	v.types("echo back\r")
	v.right("\nback\n$")
}

// The terminals of a session are opened and closed from its page.
func TestOpeningAndClosing(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	p := open(t, w.URL, "/", desk)
	p.click(byID("agent", attr("data-agent", "shell")))
	p.click(byID("session-without-message"))
	p.click(byID("add-terminal"))
	p.sees(byID("terminal-view", attr("data-state", "connected")))
	sessions, err := w.Sessions()
	require.NoError(t, err)
	v := &screen{p, w.terminals(sessions[0].ID)[0]}
	v.types("echo a shell of $USER\r")
	v.right("\na shell of tester\n")
	v.types("exit\r")
	v.tab.reads(byID("terminal-line"), "Ended")
	p.sees(".ended " + byID("close-terminal"))
	p.click(byID("close-terminal"))
	p.seesNot(byID("terminal-view"))
	p.click(byID("add-terminal"))
	p.sees(byID("terminal-view", attr("data-state", "connected")))
	p.click(byID("close-terminal"))
	p.click(byID("confirm-yes"))
	p.seesNot(byID("terminal-view"))
	require.Empty(t, w.terminals(sessions[0].ID))
}
