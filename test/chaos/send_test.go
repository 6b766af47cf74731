//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// The user's own line breaks at any byte of any call: the message is stored
// once, and the answer is printed once.
func TestSendOverALineThatBreaks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.NewSession("shell")
	var sends []*testkit.Process
	const messages, apart = 10, 190 // bytes; the calls of one send are within the product
	for n := range messages {
		line := testkit.NewProxy(t, w.Address)
		line.CutAfter(int64(apart * (n + 1)))
		sends = append(sends, testkit.Run(t, testkit.Options{}, "send", "--server", line.URL, "--session", session,
			fmt.Sprintf("echo %d >> %s; echo answer %d", n, ran, n)))
	}
	for n, send := range sends {
		require.Zero(t, send.Wait(turnLimit), "exit code of a send whose line was cut after %d bytes", apart*(n+1))
		require.Equal(t, fmt.Sprintf("answer %d\n", n), send.Stdout.String())
		require.Contains(t, send.Stderr.String(), "connected again")
	}
	started := w.runner.Lines(ran)
	require.Len(t, started, messages)
	for n := range messages {
		require.Equal(t, 1, count(started, strconv.Itoa(n)), "starts of a command: %v", started)
	}
	items, err := w.Items(session)
	require.NoError(t, err)
	require.Len(t, items, 2*messages, "each message and each answer once")
}

// Messages are sent while the server dies again and again.
func TestSendsWhileTheServerDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.NewSession("shell")
	var sends []*testkit.Process
	random := rand.New(rand.NewPCG(13, 17))
	for n := range 5 {
		for m := range 2 {
			sends = append(sends, w.send(t, "--session", session, fmt.Sprintf("echo %d >> %s; echo answer %d", 2*n+m, ran, 2*n+m)))
			testkit.Hold(time.Duration(random.IntN(150)) * time.Millisecond)
		}
		w.Kill()
		testkit.Hold(time.Duration(random.IntN(300)) * time.Millisecond)
		w.Start()
	}
	for n, send := range sends {
		require.Zero(t, send.Wait(turnLimit))
		require.Equal(t, fmt.Sprintf("answer %d\n", n), send.Stdout.String())
		require.Equal(t, 1, count(w.runner.Lines(ran), strconv.Itoa(n)), "starts of a command")
	}
	items, err := w.Items(session)
	require.NoError(t, err)
	require.Len(t, items, 2*len(sends), "each message and each answer once")
}

// A send that waits goes on after its line was cut again and again.
func TestSendCutInALongTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	line := testkit.NewProxy(t, w.Address)
	command, lines := counting(150, 20*time.Millisecond)
	session := w.NewSession("shell")
	send := testkit.Run(t, testkit.Options{}, "send", "--server", line.URL, "--session", session, command)
	for n := range 5 {
		printed := 5 + 25*n
		testkit.Until(t, testkit.Patience, func() bool { return len(send.Stdout.Lines()) > printed }, testkit.Is("the send prints on"))
		line.Cut()
	}
	require.Zero(t, send.Wait(turnLimit))
	require.Equal(t, lines, testkit.Lines(send.Stdout.String()))
}

// Who left early comes back to the answer, also long after.
func TestSendFollowsAnEarlierMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.NewSession("shell")
	command, lines := counting(40, 20*time.Millisecond)
	item := w.Send(session, command)
	w.waitStored(t, session, 5)
	for _, when := range []string{"in the turn", "after it"} {
		follow := w.send(t, "--session", session, "--follow", item)
		require.Zero(t, follow.Wait(turnLimit), when)
		require.Equal(t, lines, testkit.Lines(follow.Stdout.String()), when)
	}
}
