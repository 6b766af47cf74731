//go:build linux

package chaos

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// turnLimit is how long a turn of these tests may take to its end, with every
// fault in it.
const turnLimit = 40 * time.Second

// world is a server and a runner, two processes.
type world struct {
	*testkit.Server
	runner *testkit.Runner
}

// newWorld starts both and waits until they are connected.
func newWorld(t *testing.T) world {
	t.Helper()
	s := testkit.NewServer(t)
	w := world{s, testkit.NewRunner(t, s.URL)}
	w.runner.Start()
	w.WaitOnline()
	return w
}

// newProxied is newWorld with a line between the two that can be broken.
func newProxied(t *testing.T) (world, *testkit.Proxy) {
	t.Helper()
	s := testkit.NewServer(t)
	p := testkit.NewProxy(t, s.Address)
	w := world{s, testkit.NewRunner(t, p.URL)}
	w.runner.Start()
	w.WaitOnline()
	return w, p
}

// counting is a command that prints so many lines with a pause after each, and
// what it prints.
func counting(lines int, pause time.Duration) (command string, printed []string) {
	for n := range lines {
		printed = append(printed, fmt.Sprintf("line %d", n+1))
	}
	return fmt.Sprintf("for i in $(seq 1 %d); do echo line $i; sleep %g; done", lines, pause.Seconds()), printed
}

// send runs `outrunner send` in a new session.
func (w world) send(t *testing.T, args ...string) *testkit.Process {
	t.Helper()
	return testkit.Run(t, testkit.Options{}, append([]string{"send", "--server", w.URL}, args...)...)
}

// onlySession is the one session that there is, as soon as it has a message.
func (w world) onlySession(t *testing.T) (session, item string) {
	t.Helper()
	testkit.Until(t, testkit.Patience, func() bool {
		sessions, err := w.Sessions()
		if err != nil || len(sessions) != 1 {
			return false
		}
		items, err := w.Items(sessions[0].ID)
		if err != nil || len(items) == 0 {
			return false
		}
		session, item = sessions[0].ID, items[0].ID
		return true
	}, testkit.Is("one session with a message"))
	return session, item
}

// waitStored waits until so many lines of a session's answers are stored.
func (w world) waitStored(t *testing.T, session string, lines int) {
	t.Helper()
	testkit.Until(t, testkit.Patience, func() bool {
		items, err := w.Items(session)
		if err != nil {
			return false
		}
		text := ""
		for _, i := range items {
			if i.Role == "assistant" {
				text += i.Text()
			}
		}
		return len(testkit.Lines(text)) >= lines
	}, testkit.Is(fmt.Sprintf("%d stored lines", lines)))
}

// requireWhole waits for the end of a message's turn and requires that it is
// completed and that the server holds exactly these lines of it.
func (w world) requireWhole(t *testing.T, session, item string, lines []string) {
	t.Helper()
	end := w.Settled(turnLimit, session, item)[0]
	require.Equal(t, "completed", end.Status, end.Message)
	require.Equal(t, lines, testkit.Lines(w.Answer(session, end.Response)))
	at, err := w.Session(session)
	require.NoError(t, err)
	require.Equal(t, "idle", at.Status)
}
