package browser

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	user      = `[data-testid="message-user"]`
	assistant = `[data-testid="message-assistant"]`
	stored    = assistant + `[data-state="stored"]`
	streaming = assistant + `[data-state="streaming"]`
	chat      = `[data-testid="chat"]`
)

// A user's first message from the page that the server opens to, and its answer,
// which is there after a reload too.
func TestAFirstMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	p := open(t, w.URL, "/", desk)
	p.click(byID("agent", attr("data-agent", "shell")))
	p.say("echo $((6*7)) is the answer")
	p.reads(stored, "42 is the answer")
	p.reads(user+attr("data-state", "delivered"), "echo $((6*7)) is the answer")
	p.sees(chat + attr("data-status", "idle"))
	p.sees(byID("session-row", attr("data-state", "idle"), attr("aria-current", "page")))
	p.reload()
	p.reads(stored, "42 is the answer")
	require.Len(t, value[[]string](p, "[...document.querySelectorAll('"+user+"')].map(e => e.textContent)"), 1)
	p.say("echo once more")
	p.reads(stored, "once more")
	sessions, err := w.Sessions()
	require.NoError(t, err)
	require.Len(t, sessions, 1)
}

// An answer is read while it is written, over a reload in its middle, and is
// whole and single at its end.
func TestAStreamingAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	for _, gate := range []string{"two", "three"} {
		require.NoError(t, syscall.Mkfifo(w.file(gate), 0o600))
	}
	p := open(t, w.URL, "/c/"+w.NewSession("shell"), desk)
	p.say("echo one; read -r word <two; echo $word; read -r word <three; echo $word")
	p.reads(streaming, "one")
	p.sees(byID("interrupt"))
	w.through("two")
	p.reads(assistant, "two")
	p.reload()
	p.reads(assistant, "one\ntwo")
	p.sees(chat + attr("data-status", "running"))
	w.through("three")
	p.reads(assistant, "three")
	p.sees(chat + attr("data-status", "idle"))
	p.seesNot(streaming)
	require.Equal(t, "one\ntwo\nthree", value[string](p, shown))
}

// shown is the text of the answers that the page shows.
const shown = `[...document.querySelectorAll('[data-testid="message-assistant"] pre')].map(e => e.textContent.trim()).join('\n')`

// through lets a command that waits for a word go on.
func (w *world) through(word string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(w.file(word), []byte(word+"\n"), 0o600))
}

// A turn that is stopped ends, and the next message is answered.
func TestInterrupting(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	p := open(t, w.URL, "/c/"+w.NewSession("shell"), desk)
	p.say("echo begun; sleep 1000")
	p.reads(assistant, "begun")
	p.click(byID("interrupt"))
	p.sees(chat + attr("data-status", "idle"))
	p.seesNot(byID("interrupt"))
	p.say("echo next")
	p.reads(stored, "next")
}

// A message that is written while the server is away is sent when it is back,
// once, and the page goes on where it was.
func TestAServersRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	session := w.NewSession("shell")
	p := open(t, w.URL, "/c/"+session, desk)
	p.say("echo before")
	p.reads(stored, "before")
	w.Kill()
	p.sees(byID("connection-banner", attr("data-state", "server-lost")))
	p.say("echo meanwhile")
	p.reads(user+attr("data-state", "sending"), "echo meanwhile")
	w.Start()
	w.WaitOnline()
	p.reads(stored, "meanwhile")
	p.seesNot(byID("connection-banner"))
	p.sees(chat + attr("data-status", "idle"))
	require.Equal(t, []string{"echo before", "echo meanwhile"}, value[[]string](p, "[...document.querySelectorAll('"+user+" > p')].map(e => e.textContent)"))
	items, err := w.Items(session)
	require.NoError(t, err)
	said := 0
	for _, i := range items {
		if i.Role == "user" {
			said++
		}
	}
	require.Equal(t, 2, said)
}

// A runner that is away is told apart from a server that is, and gets what was
// written meanwhile.
func TestARunnerThatIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	p := open(t, w.URL, "/", desk)
	p.click(byID("agent", attr("data-agent", "shell")))
	p.say("echo before")
	p.reads(stored, "before")
	p.sees(byID("runner-state", attr("data-online", "true")))
	w.runner.Kill()
	p.sees(byID("runner-offline"))
	p.sees(byID("runner-state", attr("data-online", "false")))
	p.seesNot(byID("connection-banner"))
	p.say("echo meanwhile")
	p.reads(user+attr("data-state", "waiting"), "echo meanwhile")
	w.begin()
	p.reads(stored, "meanwhile")
	p.seesNot(byID("runner-offline"))
	p.sees(byID("runner-state", attr("data-online", "true")))
}
