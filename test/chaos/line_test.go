//go:build linux

package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

func TestTunnelCutFiveTimesInATurn(t *testing.T) {
	t.Parallel()
	w, line := newProxied(t)
	command, lines := counting(200, 20*time.Millisecond)
	send := w.send(t, command)
	session, item := w.onlySession(t)
	for n := range 5 {
		w.waitStored(t, session, 10+n*30)
		taken := line.Taken()
		line.Cut()
		testkit.Until(t, testkit.Patience, func() bool { return line.Taken() > taken && w.Online() }, testkit.Is("the runner is back"))
	}
	w.requireWhole(t, session, item, lines)
	require.Zero(t, send.Wait(testkit.Patience))
	require.Equal(t, lines, testkit.Lines(send.Stdout.String()))
}

// What breaks in the middle of a frame, or of a stored item's request, is the
// harder cut.
func TestTunnelCutInTheMiddleOfBytes(t *testing.T) {
	t.Parallel()
	w, line := newProxied(t)
	command, lines := counting(150, 20*time.Millisecond)
	session := w.NewSession("shell")
	item := w.Send(session, command)
	w.waitStored(t, session, 5)
	over := func() bool {
		found, err := w.Outcomes(session)
		return err == nil && len(found[item]) > 0
	}
	cuts := 0
	for ; cuts < 12 && !over(); cuts++ {
		taken := line.Taken()
		line.CutAfter(int64(200 + 331*cuts))
		testkit.Until(t, testkit.Patience, func() bool { return line.Taken() > taken && w.Online() || over() }, testkit.Is("the runner is back"))
	}
	line.CutAfter(-1)
	require.Greater(t, cuts, 3)
	w.requireWhole(t, session, item, lines)
}

func TestLinkStoppedForTwentySeconds(t *testing.T) {
	t.Parallel()
	w, line := newProxied(t)
	command, lines := counting(200, 20*time.Millisecond)
	send := w.send(t, command)
	session, item := w.onlySession(t)
	w.waitStored(t, session, 20)
	line.Stall()
	testkit.Hold(20 * time.Second)
	line.Heal()
	w.requireWhole(t, session, item, lines)
	require.Zero(t, send.Wait(testkit.Patience))
	require.Equal(t, lines, testkit.Lines(send.Stdout.String()))
}
