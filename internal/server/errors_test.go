package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/server/store"
)

// TestWhatTheLogSaysOfAFailure: a caller that hung up is no failure of the disk.
func TestWhatTheLogSaysOfAFailure(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("reading: %w: %w", store.ErrUnavailable, errors.New("disk full")), "level=ERROR"},
		{fmt.Errorf("reading: %w: %w", store.ErrUnavailable, context.Canceled), "level=DEBUG"},
		{sessionNotFound(), ""},
	} {
		var said bytes.Buffer
		fail(httptest.NewRecorder(), slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})), c.err)
		if c.want == "" {
			require.Empty(t, said.String())
		}
		require.Contains(t, said.String(), c.want)
	}
}
