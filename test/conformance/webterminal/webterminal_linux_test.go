package webterminal

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

const shell = "terminal_sh_u-ab12cd"

// begun is a world with one shell, and a page that shows it.
func begun(t *testing.T) (w *world, session string, p *page) {
	t.Helper()
	w = newWorld(t)
	session = w.server.NewSession("helper")
	w.makes(session, "sh", "u-ab12cd")
	p = w.open(session, shell)
	p.shows("$")
	return w, session, p
}

// pid types so that the page shows the shell's process.
func (p *page) pid() int {
	p.t.Helper()
	p.types("echo pid=$$.\r")
	find := regexp.MustCompile(`pid=(\d+)\.`)
	testkit.Until(p.t, testkit.Patience, func() bool { return find.MatchString(p.text()) }, testkit.Is("the shell does not answer"))
	all := find.FindAllStringSubmatch(p.text(), -1)
	n, err := strconv.Atoi(all[len(all)-1][1])
	require.NoError(p.t, err)
	return n
}

// A user's terminal from its first key to its end, as two tabs see it.
func TestATerminalFromAPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.server.NewSession("helper")
	require.Empty(t, w.lists(session))
	stream := w.listens(session)
	row := w.makes(session, "sh", "u-ab12cd")
	require.Equal(t, shell, row.ID)
	require.Equal(t, "terminal", row.Type)
	require.Equal(t, session, row.Session)
	require.True(t, row.Metadata.Running)
	stream.hears("session.resource.created", shell, 1)
	require.Equal(t, []terminalRow{row}, w.lists(session))
	require.Equal(t, row, w.makes(session, "sh", "u-ab12cd"), "the same key is the same terminal")
	status, _, err := w.server.Do(http.MethodPost, "/v1/sessions/"+session+"/resources/terminals", map[string]string{"terminal": "vim", "session_key": "u-1"})
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, status, "the agent does not declare it")

	p := w.open(session, shell, sized(100, 30))
	p.shows("$")
	p.types("stty size\r")
	p.shows("30 100")
	late := w.listens(session)
	late.hears("session.resource.created", shell, 1)
	reader := w.open(session, shell, readOnly, sized(100, 30))
	reader.shows("30 100")
	reader.types("echo from the reader\r")
	p.types("printf '%s\\n' h\u00e9llo 漢字 🙂\r")
	p.shows("漢字\n🙂")
	reader.shows("漢字\n🙂")
	require.NotContains(t, p.text(), "from the reader")

	p.types("echo last words; exit\r")
	for _, viewer := range []*page{p, reader} {
		end := viewer.ends()
		require.Equal(t, websocket.StatusCode(4404), end.Code)
		require.Equal(t, "terminal session ended", end.Reason)
		viewer.shows("last words\n")
	}
	stream.hears("session.resource.deleted", shell, 1)
	require.Empty(t, w.lists(session))
	gone := w.open(session, shell).ends()
	require.Equal(t, websocket.StatusCode(4404), gone.Code)
	require.Equal(t, "terminal resource not found or not running", gone.Reason)
}

// A terminal that the user closes is gone for everybody who looks at it.
func TestClosingFromAPage(t *testing.T) {
	t.Parallel()
	w, session, p := begun(t)
	stream := w.listens(session)
	for _, want := range []int{http.StatusOK, http.StatusNotFound} {
		status, raw, err := w.server.Do(http.MethodDelete, "/v1/sessions/"+session+"/resources/terminals/"+shell, nil)
		require.NoError(t, err)
		require.Equal(t, want, status, string(raw))
	}
	require.Equal(t, websocket.StatusCode(4404), p.ends().Code)
	require.Empty(t, w.lists(session))
	testkit.Until(t, testkit.Patience, func() bool { stream.mu.Lock(); defer stream.mu.Unlock(); return len(stream.events) > 0 }, testkit.Is("nothing is told"))
	again := w.makes(session, "sh", "u-ab12cd")
	require.Equal(t, shell, again.ID)
	fresh := w.open(session, shell)
	fresh.shows("$")
}

// What a deleted session leaves of its terminals is nothing, also when its runner
// hears of it later.
func TestTheTerminalsOfADeletedSession(t *testing.T) {
	t.Parallel()
	w, _, tunnel := newCutWorld(t)
	for _, cut := range []bool{false, true} {
		session := w.server.NewSession("helper")
		row := w.makes(session, "sh", "u-ab12cd")
		p := w.open(session, shell)
		pid := p.pid()
		if cut {
			tunnel.Refuse()
			testkit.Until(t, testkit.Patience, func() bool { return !w.server.Online() }, testkit.Is("the tunnel is not cut"))
		}
		status, raw, err := w.server.Do(http.MethodDelete, "/v1/sessions/"+session, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, string(raw))
		tunnel.Heal()
		require.Equal(t, websocket.StatusCode(4404), p.ends().Code)
		testkit.Until(t, testkit.Patience, func() bool {
			_, err := os.Stat(filepath.Dir(row.Metadata.Socket))
			return os.IsNotExist(err) && syscall.Kill(pid, 0) != nil
		}, testkit.Is("something is left of the terminal"))
	}
}

// Whatever is restarted, the page comes back by itself to the same program, with
// the screen as it was.
func TestThePageComesBack(t *testing.T) {
	t.Parallel()
	w, _, tunnel := newCutWorld(t)
	session := w.server.NewSession("helper")
	w.makes(session, "sh", "u-ab12cd")
	p := w.open(session, shell)
	p.shows("$\n")
	pid := p.pid()
	p.types("echo written before\r")
	p.shows("\nwritten before")
	comesBack := func(what string, fault func()) {
		t.Helper()
		before := p.connections()
		fault()
		p.reconnected(before)
		p.shows("\nwritten before")
		require.Equal(t, pid, p.pid(), what)
	}
	comesBack("a tunnel that is cut", tunnel.Cut)
	comesBack("a server that is asked to stop", func() {
		w.server.Process.Signal(syscall.SIGTERM)
		require.Zero(t, w.server.Process.Wait(testkit.Patience))
		w.server.Start()
	})
	p.mu.Lock()
	require.Equal(t, websocket.StatusTryAgainLater, p.closes[0].Code)
	require.Equal(t, websocket.StatusServiceRestart, p.closes[1].Code)
	p.mu.Unlock()
	comesBack("a server that is killed", func() {
		w.server.Kill()
		w.server.Start()
	})
	comesBack("a runner that is killed", func() {
		w.runner.Kill()
		w.startRunner()
	})
	comesBack("a runner that is asked to stop", func() {
		w.runner.Process.Signal(syscall.SIGTERM)
		require.Zero(t, w.runner.Process.Wait(testkit.Patience))
		w.startRunner()
	})
}

// What is pasted arrives as it is.
func TestAPasteOfAMegabyte(t *testing.T) {
	t.Parallel()
	w, _, p := begun(t)
	paste := bytes.Repeat([]byte("0123456789 abcdefghijklmnop\xe9\x6f\xbc\xa2\xf0\x9f\x99\x82~\n"), 25_000)
	p.types(fmt.Sprintf("stty raw -echo; echo ready; head -c %d >pasted; stty sane; echo pasted\r", len(paste)))
	p.shows("\nready")
	p.types(string(paste))
	p.shows("pasted\n$")
	got, err := os.ReadFile(w.runner.Path("pasted"))
	require.NoError(t, err)
	require.Equal(t, sha256.Sum256(paste), sha256.Sum256(got), "%d bytes of %d", len(got), len(paste))
}

// A page that reads nothing while a program floods holds up nobody, keeps its
// connection, and sees the right screen when it reads again.
func TestAPageThatReadsNothing(t *testing.T) {
	t.Parallel()
	w, session, p := begun(t)
	goesOn := p.stops()
	neighbour := w.open(session, shell)
	neighbour.shows("$")
	neighbour.types("seq 1 300000; echo done\r")
	neighbour.shows("300000\ndone\n$")
	goesOn()
	p.shows("300000\ndone\n$")
	lines := strings.Split(strings.TrimRight(p.text(), "\n"), "\n")
	require.Greater(t, len(lines), 20)
	for n, line := range lines[len(lines)-20 : len(lines)-2] {
		require.Equal(t, fmt.Sprint(300000-17+n), line)
	}
	require.Equal(t, 1, p.connections(), "it kept its connection")
}
