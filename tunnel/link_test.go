package tunnel

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pong confirms all that came before its ping. A link that is over takes
// nothing any more, so it confirms nothing either.
func TestNoPongAfterTheEnd(t *testing.T) {
	t.Parallel()
	l := newLink("r", Limits{}.withDefaults(), Timing{}.withDefaults(), false, slog.New(slog.DiscardHandler))
	require.False(t, l.onPing(context.Background(), []byte("12345678")))
	payload, ok := l.out.pongs.take()
	require.True(t, ok)
	require.Equal(t, "12345678", string(payload))

	l.end(Reason{Cause: CauseShutdown})
	require.False(t, l.onPing(context.Background(), []byte("87654321")))
	_, ok = l.out.pongs.take()
	require.False(t, ok)
}
