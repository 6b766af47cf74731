package terminals

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

func TestAShellIsTypedIntoAndExits(t *testing.T) {
	w := newWorld(t)
	made := w.shell()
	require.Equal(t, terminal, made.ID)
	require.True(t, made.Metadata.Running)
	require.FileExists(t, made.Metadata.Socket)
	require.Len(t, w.list(session), 1)

	v := w.view("read_only=false")
	v.Type("echo sum-$((20 + 22))\r")
	v.Sees("sum-42")
	v.Resize(101, 31)
	v.Type("stty size\r")
	v.Sees("31 101")

	reader := w.View(session, terminal, "read_only=true&transport=control")
	reader.Resize(20, 5)
	reader.Sees("sum-42") // the screen as it is
	reader.Type("echo never-$((1 + 1))\r")
	v.Type("stty size; echo last-$((2 + 2))\r")
	v.Sees("last-4")
	reader.Sees("last-4")
	require.NotContains(t, v.Seen(), "never")
	require.NotContains(t, v.Seen()[strings.LastIndex(v.Seen(), "stty"):], "5 20", "a reader's size is its own")

	// What follows soon upon a viewer's own doing is no activity.
	v.Type("while :; do echo tick; sleep 0.2; done\r")
	w.Until(func() bool { return len(w.news(session, "session.terminal.activity")) > 0 }, "nobody hears that it is active")
	require.Equal(t, fakeserver.Dict{"type": "session.terminal.activity", "session_id": session, "terminal_id": terminal},
		w.news(session, "session.terminal.activity")[0])
	v.Type("\x03")

	v.Type("echo bye; exit 3\r")
	for _, each := range []*fakeserver.Viewer{v, reader} {
		code, reason := each.Ended()
		require.Equal(t, 4404, code)
		require.Equal(t, "terminal session ended", reason)
		require.Contains(t, each.Seen(), "bye")
	}
	w.Until(func() bool { return len(w.deleted()) > 0 }, "nobody hears that it has ended")
	require.Equal(t, []fakeserver.Dict{{
		"type": "session.resource.deleted", "resource_id": terminal, "resource_type": "terminal", "session_id": session,
	}}, w.deleted())
	require.Empty(t, w.news(session, "session.resource.created"), "the server tells of what it has made")
	require.Empty(t, w.list(session))
	code, _ := w.Do(http.MethodGet, path+"/"+terminal, nil)
	require.Equal(t, 404, code)
	ended, reason := w.View(session, terminal, "").Ended()
	require.Equal(t, 4404, ended)
	require.Equal(t, "terminal resource not found or not running", reason)
}

func TestATerminalIsDeletedUnderItsViewer(t *testing.T) {
	w := newWorld(t)
	w.shell()
	v := w.view("")
	v.Type("echo sum-$((20 + 22))\r")
	v.Sees("sum-42")
	w.end()
	code, reason := v.Ended()
	require.Equal(t, 4404, code)
	require.Equal(t, "terminal session ended", reason)
	code, _ = w.Do(http.MethodDelete, path+"/"+terminal, nil)
	require.Equal(t, 404, code)
	// Another can have its name, at once; and what the server ended it tells.
	w.shell()
	again := w.view("")
	again.Type("exit\r")
	again.Ended()
	w.Until(func() bool { return len(w.deleted()) > 0 }, "nobody hears that it has ended")
	require.Len(t, w.deleted(), 1)
}

func TestOneTerminalPerName(t *testing.T) {
	w := newWorld(t)
	made := make([]resource, 4)
	var all sync.WaitGroup
	for n := range made {
		all.Go(func() { made[n] = w.shell() })
	}
	all.Wait()
	for _, m := range made {
		require.Equal(t, made[0], m)
	}
	require.Len(t, w.list(session), 1)
	code, text := w.Do(http.MethodPost, path, fakeserver.Dict{"terminal": "free", "session_key": "k", "cwd": "/"})
	require.Equal(t, 400, code)
	require.Contains(t, text, `"code":"invalid_input"`)
}

// The viewers of another session's terminal stay where they are.
func TestATerminalIsTransferred(t *testing.T) {
	w := newWorld(t)
	w.shell()
	v := w.view("")
	v.Type("echo sum-$((20 + 22))\r")
	v.Sees("sum-42")
	code, text := w.Do(http.MethodPost, path+"/"+terminal+"/transfer", fakeserver.Dict{"target_session_id": other})
	require.Equal(t, 200, code, text)
	require.Empty(t, w.list(session))
	require.Len(t, w.list(other), 1)
	v.Type("echo still-$((1 + 1))\r")
	v.Sees("still-2")
	v.Type("exit\r")
	v.Ended()
	w.Until(func() bool { return len(w.news(other, "session.resource.deleted")) > 0 }, "nobody hears that it has ended")
	require.Empty(t, w.deleted())
}

func TestViewersGoWithTheTunnelAndTerminalsStay(t *testing.T) {
	w := newWorld(t)
	w.shell()
	v := w.view("")
	v.Type("kept=yes; echo sum-$((20 + 22))\r")
	v.Sees("sum-42")
	up := w.Ups()
	w.Drop()
	v.Ended()
	w.Connected(up + 1)
	again := w.view("")
	again.Sees("sum-42")
	again.Type("echo it-is-$kept\r")
	again.Sees("it-is-yes")
	require.Empty(t, w.deleted())
	w.end()
}

func TestTerminalsOutliveTheRunner(t *testing.T) {
	for name, stop := range map[string]func(*world){
		"killed": func(w *world) { w.runner.Kill() },
		"asked": func(w *world) {
			w.runner.Process.Signal(os.Interrupt)
			require.Zero(w.t, w.runner.Process.Wait(testkit.Patience))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.shell()
			v := w.view("")
			v.Type("kept=yes; echo sum-$((20 + 22))\r")
			v.Sees("sum-42")
			stop(w)
			code, reason := v.Ended()
			if name == "asked" {
				require.Equal(t, 1001, code)
				require.Equal(t, "runner shutdown", reason)
			}
			w.start()
			require.Equal(t, []resource{before}, w.list(session))
			again := w.view("")
			again.Sees("sum-42")
			again.Type("echo it-is-$kept\r")
			again.Sees("it-is-yes")
			w.Until(func() bool { return len(w.news(session, "session.resource.created")) > 0 }, "nobody hears that it is there")
			told := w.news(session, "session.resource.created")
			require.Len(t, told, 1)
			require.Equal(t, false, told[0]["persist_resource_event"])
			require.Empty(t, w.deleted())
			w.end()
		})
	}
}

// Terminals of a session that was deleted while the runner was away end.
func TestNobodyKeepsTheTerminalsOfADeletedSession(t *testing.T) {
	w := newWorld(t)
	socket := w.shell().Metadata.Socket
	w.runner.Kill()
	w.Break(http.MethodGet, "/v1/sessions/"+session, 0, fakeserver.Answer(http.StatusNotFound))
	w.start()
	w.Until(func() bool { return len(w.list(session)) == 0 }, "the terminal stays")
	w.Until(func() bool { return !exists(socket) }, "its socket stays")
}

func TestSessionsEndTheirTerminals(t *testing.T) {
	for _, c := range []struct {
		method, path string
		told         int
	}{
		{http.MethodDelete, "/v1/sessions/" + session, 0},
		{http.MethodDelete, "/v1/sessions/" + session + "/resources", 0},
		{http.MethodPost, "/v1/sessions/" + session + "/reset-state", 1},
	} {
		w := newWorld(t)
		socket := w.shell().Metadata.Socket
		v := w.view("")
		v.Type("echo sum-$((20 + 22))\r")
		v.Sees("sum-42")
		code, text := w.Do(c.method, c.path, nil)
		require.Equal(t, 200, code, text)
		code, _ = v.Ended()
		require.Equal(t, 4404, code)
		require.False(t, exists(socket))
		require.Empty(t, w.list(session))
		w.Until(func() bool { return len(w.deleted()) == c.told }, "the wrong number of ends is told: "+c.path)
	}
}

func TestAgentsUseTerminals(t *testing.T) {
	w := newWorld(t)
	on := func(more string) string { return `{"terminal":"sh","session":"k"` + more + `}` }
	require.Contains(t, w.Tool(session, "sys_terminal_launch", "o1", on("")), `"status":"launched"`)
	require.Contains(t, w.Tool(session, "sys_terminal_launch", "o1", on("")), `"status":"launched"`, "a repeat is told the same")
	require.Contains(t, w.Tool(session, "sys_terminal_launch", "o2", on("")), `"status":"already_running"`)
	for range 2 { // the second is a repeat
		require.JSONEq(t, `{"status":"sent"}`, w.Tool(session, "sys_terminal_send", "o3", on(`,"text":"echo sum-$((20 + 22))"`)))
	}
	var screen string
	w.Until(func() bool {
		screen = w.Tool(session, "sys_terminal_read", "look", on(""))
		return strings.Contains(screen, "sum-42")
	}, "the terminal does not show what was typed")
	require.Equal(t, 1, strings.Count(screen, "sum-42"))
	w.Until(func() bool { return len(w.news(session, "session.resource.created")) == 1 }, "nobody hears that it is there")
	require.Contains(t, w.Tool(session, "sys_terminal_list", "list", `{}`), `"running":true`)
	require.Contains(t, w.Tool(session, "sys_terminal_close", "o4", on("")), `"status":"closed"`)
	w.Until(func() bool { return len(w.deleted()) == 1 }, "nobody hears that it has ended")
	require.Empty(t, w.list(session))
}

func TestNoTerminalHasASecretOfTheRunner(t *testing.T) {
	const secret = "no-terminal-may-see-this"
	w := newWorld(t, "OMNIGENT_RUNNER_INITIAL_AUTH_TOKEN="+secret)
	w.shell()
	v := w.view("")
	v.Type("echo vars-$(tr '\\0' '\\n' </proc/$$/environ | grep -c ^OMNIGENT_TERMINAL_) secrets-$(env | grep -c no-termin[a]l)\r")
	v.Sees("vars-3 secrets-0")
	require.NotContains(t, v.Seen(), secret)
	w.end()
}
