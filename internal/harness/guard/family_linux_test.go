package guard

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParentOfReadsPastAnyName(t *testing.T) {
	for stat, want := range map[string]int{
		"12 (bash) S 7 12 12 0":        7,
		"12 (a) S 1 (b) S 7 12 12 0":   7,
		"12 () ) R 1 ((\n) Z 7 12 12 ": 7,
	} {
		got, ok := parentOf([]byte(stat))
		require.True(t, ok, stat)
		require.Equal(t, want, got, stat)
	}
	for _, stat := range []string{"", "12 (bash", "12 (bash)", "12 (bash) S", "12 (bash) S x"} {
		_, ok := parentOf([]byte(stat))
		require.False(t, ok, stat)
	}
}
