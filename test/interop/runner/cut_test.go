//go:build interop

package runner

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/interop/peer"
	"github.com/outrunner/outrunner/test/testkit"
)

const (
	// graceLimit is how long a server may take to notice that a runner, away for
	// 90 s, will not come back.
	graceLimit = 150 * time.Second
	// blip is an outage within that grace.
	blip = 4 * time.Second
)

// outages are flows of a line that is cut, for shorter and for longer.
var outages = []flow{
	{"runner offline and back beyond the grace", beyondGrace},
	{"runner offline and back inside the grace", insideGrace},
}

// restarts are flows that stop and kill the server.
var restarts = []flow{
	{"server stopped (1012) in mid-turn and back", func(t *testing.T, s *peer.Server, _ *peer.Notes) { restart(t, s, (*peer.Server).Stop) }},
	{"server killed in mid-turn and back", func(t *testing.T, s *peer.Server, _ *peer.Notes) { restart(t, s, (*peer.Server).Kill) }},
	{"2,000 lines, ten cuts, two server restarts", noTextIsLost},
}

// gated is a command that prints so many lines, and waits for the test at each
// of so many gates.
type gated struct {
	runner       *peer.Runner
	lines, gates int
}

func (g gated) command() string {
	return fmt.Sprintf(`every=$((%d / (%d + 1)))
for i in $(seq 1 %d); do
	echo "line $i"
	if [ $((i %% every)) = 0 ]; then
		gate=$((i / every))
		if [ $gate -le %d ]; then
			touch at-$gate
			while [ ! -e open-$gate ]; do sleep 0.05; done
		fi
	fi
done`, g.lines, g.gates, g.lines, g.gates)
}

// at waits until the command stands before the gate.
func (g gated) at(t *testing.T, gate int) {
	t.Helper()
	testkit.Until(t, turnLimit, func() bool {
		_, err := os.Stat(g.runner.Path(fmt.Sprintf("at-%d", gate)))
		return err == nil
	}, testkit.Is(fmt.Sprintf("the command is not at gate %d", gate)))
}

func (g gated) open(t *testing.T, gate int) {
	t.Helper()
	require.NoError(t, os.WriteFile(g.runner.Path(fmt.Sprintf("open-%d", gate)), nil, 0o600))
}

func (g gated) printed() string {
	var text strings.Builder
	for n := range g.lines {
		fmt.Fprintf(&text, "line %d\n", n+1)
	}
	return text.String()
}

// requireWhole waits until the turn has ended, and requires that the server has
// all that the command has printed, once and in order. A viewer who was away
// while the end was told, as the server was, need not have seen it.
func (g gated) requireWhole(t *testing.T, s *peer.Server, w *peer.Watch, session string) {
	t.Helper()
	testkit.UntilSlow(t, turnLimit, func() bool {
		at, err := s.Session(session)
		return err == nil && at.Status != "running" && (len(w.Ends()) > 0 || len(testkit.Lines(s.Said(session))) >= g.lines)
	}, func() string {
		return fmt.Sprintf("the turn ends; its ends are %v, and %d lines are stored", w.Ends(), len(testkit.Lines(s.Said(session))))
	})
	at, err := s.Session(session)
	require.NoError(t, err)
	require.Equal(t, "idle", at.Status)
	require.Nil(t, at.LastError)
	require.Equal(t, testkit.Lines(g.printed()), testkit.Lines(s.Said(session)))
	response := s.Rows(session)[1]["response_id"]
	for _, row := range s.Rows(session)[1:] {
		require.Equal(t, "message", row["type"])
		require.Equal(t, response, row["response_id"])
	}
	for _, end := range w.Ends() {
		require.Equal(t, peer.End{Response: response.(string), Status: "completed"}, end)
	}
}

func insideGrace(t *testing.T, s *peer.Server, _ *peer.Notes) {
	line := testkit.NewProxy(t, s.Address)
	r := s.NewRunner(line.URL)
	r.Start()
	s.WaitRunner(r.ID)
	session := s.NewSession(shell, r.ID)
	w := s.Watch(session)
	g := gated{r, 300, 2}
	s.Send(session, g.command())
	g.at(t, 1)
	line.Refuse()
	testkit.UntilSlow(t, turnLimit, func() bool { return !s.Row(r.ID).Online }, testkit.Is("the runner is still online"))
	g.open(t, 1)
	g.at(t, 2)
	testkit.Hold(blip)
	at, err := s.Session(session)
	require.NoError(t, err)
	require.Equal(t, "running", at.Status)
	line.Heal()
	s.WaitRunner(r.ID)
	g.open(t, 2)
	g.requireWhole(t, s, w, session)
	for _, ev := range w.Of("session.status") {
		require.NotEqual(t, "failed", ev["status"])
	}
}

func beyondGrace(t *testing.T, s *peer.Server, _ *peer.Notes) {
	line := testkit.NewProxy(t, s.Address)
	r := s.NewRunner(line.URL)
	r.Start()
	s.WaitRunner(r.ID)
	session, idle := s.NewSession(shell, r.ID), s.NewSession(shell, r.ID)
	w := s.Watch(session)
	g := gated{r, 300, 2}
	s.Send(session, g.command())
	g.at(t, 1)
	line.Refuse()
	begin := time.Now()
	g.open(t, 1)
	var at testkit.Session
	testkit.UntilSlow(t, graceLimit, func() bool {
		var err error
		at, err = s.Session(session)
		return err == nil && at.Status == "failed" && at.LastError != nil
	}, testkit.Is("the session of a lost runner does not fail"))
	require.Greater(t, time.Since(begin), 80*time.Second, "the grace")
	require.Equal(t, "runner_disconnected", at.LastError.Code)
	other, err := s.Session(idle)
	require.NoError(t, err)
	require.Equal(t, "idle", other.Status, "a session at rest stays so")

	// The turn was never lost: its runner comes back with it.
	line.Heal()
	s.WaitRunner(r.ID)
	g.open(t, 2)
	testkit.UntilSlow(t, turnLimit, func() bool {
		at, err := s.Session(session)
		return err == nil && at.Status == "idle"
	}, testkit.Is("the session does not recover"))
	g.requireWhole(t, s, w, session)
}

// restart ends the server in the middle of a turn, in its own way, and starts it
// again.
func restart(t *testing.T, s *peer.Server, end func(*peer.Server)) {
	r := s.StartRunner()
	session, idle := s.NewSession(shell, r.ID), s.NewSession(shell, r.ID)
	w := s.Watch(session)
	g := gated{r, 300, 2}
	item := s.Send(session, g.command())
	g.at(t, 1)
	end(s)
	g.open(t, 1)
	g.at(t, 2)
	s.Start()
	s.WaitRunner(r.ID)
	g.open(t, 2)
	g.requireWhole(t, s, w, session)
	require.Equal(t, item, s.Rows(session)[0]["id"])

	w = s.Watch(idle)
	s.Send(idle, "echo alive")
	require.Equal(t, "completed", w.Settled(turnLimit, 1)[0].Status)
	s.Send(session, "echo and on")
	testkit.UntilSlow(t, turnLimit, func() bool { return strings.HasSuffix(s.Said(session), "and on\n") }, testkit.Is("the session does not go on"))
}

func noTextIsLost(t *testing.T, s *peer.Server, n *peer.Notes) {
	const lines, cuts = 2000, 10
	line := testkit.NewProxy(t, s.Address)
	r := s.NewRunner(line.URL)
	r.Start()
	s.WaitRunner(r.ID)
	session := s.NewSession(shell, r.ID)
	w := s.Watch(session)
	g := gated{r, lines, cuts + 2}
	s.Send(session, g.command())
	taken := line.Taken()
	for gate := 1; gate <= cuts+2; gate++ {
		g.at(t, gate)
		s.WaitRunner(r.ID)
		switch {
		case gate == 4: // text meets a server that is stopping, and one that is not there
			g.open(t, gate)
			s.Stop()
			s.Start()
		case gate == 8:
			g.open(t, gate)
			s.Kill()
			s.Start()
		case gate%2 == 0: // in the middle of a frame or a call
			line.CutAfter(700)
			g.open(t, gate)
			testkit.UntilSlow(t, turnLimit, func() bool { return !s.Row(r.ID).Online }, testkit.Is("the line is not cut"))
		default:
			g.open(t, gate)
			line.Cut()
			testkit.UntilSlow(t, turnLimit, func() bool { return !s.Row(r.ID).Online }, testkit.Is("the line is not cut"))
		}
	}
	g.requireWhole(t, s, w, session)
	require.GreaterOrEqual(t, line.Taken()-taken, cuts+2, "connections after the faults")
	n.Say(fmt.Sprintf("%d lines stored", len(testkit.Lines(s.Said(session)))))
}
