package runner

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// retires starts RetireAfter with a short limit; the channel gives its answer.
func (w *world) retires(ctx context.Context) <-chan error {
	left := make(chan error, 1)
	done := make(chan struct{})
	go func() { defer close(done); left <- w.runner.RetireAfter(ctx, 30*time.Millisecond) }()
	w.t.Cleanup(func() { <-done })
	return left
}

func TestARunnerWithoutWorkLeaves(t *testing.T) {
	w := newWorld(t)
	w.timing.Request = 300 * time.Millisecond
	w.start()
	e := w.stream("S")
	w.send("S", "u1", "hang")
	e.until("response.in_progress")
	w.connect(1)
	left := w.retires(t.Context())
	select {
	case err := <-left:
		require.FailNow(t, "it left while a turn ran", "%v", err)
	case <-time.After(300 * time.Millisecond):
	}
	status, _ := w.do("POST", "/v1/sessions/S/events", `{"type":"interrupt"}`)
	require.Equal(t, 204, status)
	require.NoError(t, <-left)
	e.until("[DONE]")

	late := w.stream("S")
	late.until("[DONE]")
	status, body := w.do("POST", "/v1/sessions/S/events", `{"type":"message","content":"say x","agent_id":"a1","persisted_item_id":"u2"}`)
	require.Equal(t, 503, status, "it is not taken: %s", body)
	require.Equal(t, []string{"hang"}, w.harness.starts())
}

func TestARunnerThatIsCutOffStays(t *testing.T) {
	w := newWorld(t).start()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, <-w.retires(ctx), context.DeadlineExceeded)
	w.connect(1)
	require.NoError(t, <-w.retires(t.Context()))
}

// A terminal is somebody's: while one runs, or is looked at, the runner stays.
func TestARunnerWithATerminalStays(t *testing.T) {
	w := newWorld(t)
	port := newFakeTerminals()
	w.terminals = port
	w.start()
	w.connect(1)
	port.adopt(wire.Terminal{Session: "S", Name: "sh", Key: "k", Running: true, Generation: "old"})
	stays := func(why string) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, <-w.retires(ctx), context.DeadlineExceeded, why)
	}
	stays("a terminal runs")
	port.exit("S", "terminal_sh_k")
	require.NoError(t, <-w.retires(t.Context()))
}
