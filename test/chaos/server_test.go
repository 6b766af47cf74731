//go:build linux

package chaos

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// backWithin is how soon after the server a runner must be there again.
const backWithin = 1500 * time.Millisecond

// The promise of the project in one test. It measures, so it runs alone.
func TestServerKilledInAStreamingTurn(t *testing.T) {
	w := newWorld(t)
	command, lines := counting(200, 20*time.Millisecond)
	send := w.send(t, command)
	session, item := w.onlySession(t)
	w.waitStored(t, session, 30)

	w.Kill()
	testkit.Hold(3 * time.Second)
	w.Start()
	require.Less(t, w.WaitOnline(), backWithin)

	w.requireWhole(t, session, item, lines)
	require.Zero(t, send.Wait(testkit.Patience), "exit code of the send that waited")
	require.Equal(t, lines, testkit.Lines(send.Stdout.String()))
}

func TestServerKilledAgainAndAgainUnderThreeSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	command, lines := counting(100, 50*time.Millisecond)
	type conversation struct {
		id, item string
		send     *testkit.Process
	}
	var all []conversation
	for range 3 {
		c := conversation{id: w.NewSession("shell")}
		c.send = w.send(t, "--session", c.id, command)
		all = append(all, c)
	}
	for n := range all {
		testkit.Until(t, testkit.Patience, func() bool {
			items, err := w.Items(all[n].id)
			if err != nil || len(items) < 2 {
				return false
			}
			all[n].item = items[0].ID
			return true
		}, testkit.Is("a session that answers"))
	}
	random := rand.New(rand.NewPCG(3, 5))
	for range 4 {
		testkit.Hold(time.Duration(random.IntN(1200)) * time.Millisecond)
		w.Kill()
		testkit.Hold(time.Duration(random.IntN(600)) * time.Millisecond)
		w.Start()
	}
	for _, c := range all {
		w.requireWhole(t, c.id, c.item, lines)
		require.Zero(t, c.send.Wait(testkit.Patience), "exit code of a send that waited")
		require.Equal(t, lines, testkit.Lines(c.send.Stdout.String()))
	}
}
