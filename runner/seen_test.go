package runner

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// An end that the server has read but had no time to keep is told again on the
// next stream: the server may have died in between.
func TestEndIsToldAgainWhenTheStreamWasLostTooSoon(t *testing.T) {
	w := newWorld(t)
	w.timing.Seen = time.Hour
	w.start()
	w.warm("S").stop()
	again := w.stream("S").until("session.status idle")
	require.Contains(t, again, "response.completed")
}

func TestEndThatTheServerHadTimeToKeepIsNotToldAgain(t *testing.T) {
	w := newWorld(t).start()
	first := w.warm("S")
	require.Eventually(t, func() bool {
		records, err := w.journal.Load()
		return err == nil && slices.ContainsFunc(records, func(r wire.Record) bool { return r.Kind == wire.RecSeen })
	}, patience, time.Millisecond)
	first.stop()
	again := w.stream("S").until("session.status idle")
	require.NotContains(t, again, "response.completed")
}
