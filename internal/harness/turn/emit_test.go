package turn

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestPieces(t *testing.T) {
	require.Empty(t, Pieces("", 4))
	require.Equal(t, []string{"abcd"}, Pieces("abcd", 4))
	require.Equal(t, []string{"abcd", "e"}, Pieces("abcde", 4))
	require.Equal(t, []string{"abc", "éé", "🙂", "x"}, Pieces("abcéé🙂x", 4))
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.String().Draw(rt, "text")
		parts := Pieces(text, 7)
		require.Equal(t, text, strings.Join(parts, ""))
		for _, p := range parts {
			require.True(t, utf8.ValidString(p))
			require.NotEmpty(t, p)
			require.LessOrEqual(t, len(p), 7)
		}
	})
}

func TestSafely(t *testing.T) {
	gone := errors.New("gone")
	require.NoError(t, Safely(func(wire.HarnessEvent) error { return nil }, wire.HarnessEvent{}))
	require.ErrorIs(t, Safely(func(wire.HarnessEvent) error { return gone }, wire.HarnessEvent{}), gone)
	require.EqualError(t, Safely(func(wire.HarnessEvent) error { panic("no") }, wire.HarnessEvent{}), "panic: no")
}
