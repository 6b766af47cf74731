//go:build linux

package chaos

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

func TestMessagesForAnOfflineRunnerAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runner.Process.Signal(syscall.SIGTERM)
	require.Zero(t, w.runner.Process.Wait(testkit.Patience), "exit code of a runner that was asked to stop")

	session := w.NewSession("shell")
	var items []string
	for _, word := range []string{"one", "two", "three"} {
		send := w.send(t, "--no-wait", "--session", session, "echo "+word+" >> ran; echo answer "+word)
		require.Zero(t, send.Wait(testkit.Patience))
		stored, err := w.Items(session)
		require.NoError(t, err)
		items = append(items, stored[len(stored)-1].ID)
	}
	at, err := w.Session(session)
	require.NoError(t, err)
	require.Len(t, at.Pending, 3)

	w.runner.Start()
	for n, end := range w.Settled(turnLimit, session, items...) {
		require.Equal(t, "completed", end.Status, end.Message)
		require.Equal(t, "answer "+[]string{"one", "two", "three"}[n]+"\n", w.Answer(session, end.Response))
	}
	require.Equal(t, []string{"one", "two", "three"}, w.runner.Lines("ran"))
}
