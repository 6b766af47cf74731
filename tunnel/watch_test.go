package tunnel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestVigilCountsSilentSteps(t *testing.T) {
	v := vigil{suspend: 15 * time.Second}
	now, bytes := time.Duration(0), int64(0)
	step := func(more int64) life {
		now += 5 * time.Second
		bytes += more
		return v.look(now, now, bytes)
	}
	require.Equal(t, lifeGood, step(1))
	for range silenceTicks - 1 {
		require.Equal(t, lifeGood, step(0))
	}
	require.Equal(t, lifeGood, step(1), "one byte is life")
	for range silenceTicks - 1 {
		require.Equal(t, lifeGood, step(0))
	}
	require.Equal(t, lifeSilent, step(0))
}

func TestVigilDoesNotBlameThePeerForItsOwnAbsence(t *testing.T) {
	v := vigil{suspend: 15 * time.Second}
	// The process was stopped for ten minutes: both clocks ran on.
	require.Equal(t, lifeGood, v.look(10*time.Minute, 10*time.Minute, 0))
}

func TestVigilSeesASuspend(t *testing.T) {
	v := vigil{suspend: 15 * time.Second}
	require.Equal(t, lifeGood, v.look(19*time.Second, 5*time.Second, 1), "14 s of drift may be a clock set right")
	require.Equal(t, lifeResumed, v.look(39*time.Second, 10*time.Second, 2))
	require.Equal(t, lifeGood, v.look(44*time.Second, 15*time.Second, 3), "once only")
	require.Equal(t, lifeGood, v.look(20*time.Second, 20*time.Second, 4), "a clock set back is no suspend")
}
