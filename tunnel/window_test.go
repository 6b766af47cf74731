package tunnel

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func testWindow() window {
	return newWindow(Limits{Window: 1000, WindowMax: 100_000}.withDefaults())
}

func TestWindowShutsAtItsSizeAndOpensByPong(t *testing.T) {
	w := testWindow()
	require.True(t, w.open(0))
	w.took(999)
	require.True(t, w.open(0))
	w.took(1)
	require.False(t, w.open(0))
	require.Zero(t, w.pingAfter(0), "a shut window needs a ping")
	ping := w.ping(0)
	require.Negative(t, w.pingAfter(ms), "one is enough")
	w.took(500) // interactive traffic does not count, but a last bulk message may go over
	_, ok := w.pong(ping, 5*ms)
	require.True(t, ok)
	require.EqualValues(t, 500, w.inFlight(), "a pong covers what came before its ping, no more")
	require.True(t, w.open(5*ms))
}

func TestWindowPingsEveryQuarterAndNotTooOften(t *testing.T) {
	w := testWindow()
	w.took(249)
	require.Negative(t, w.pingAfter(0))
	w.took(1)
	require.Zero(t, w.pingAfter(0))
	w.ping(0)
	w.took(250)
	require.Equal(t, pingSpacing-ms, w.pingAfter(ms), "the rate of pings is capped")
	require.Zero(t, w.pingAfter(pingSpacing))
}

func TestWindowPongCoversEarlierPings(t *testing.T) {
	w := testWindow()
	var pings [][]byte
	for i := range 3 {
		w.took(100)
		pings = append(pings, w.ping(time.Duration(i)*10*ms))
	}
	seq, ok := w.pong(pings[1], 50*ms)
	require.True(t, ok)
	require.EqualValues(t, 2, seq)
	require.EqualValues(t, 100, w.inFlight())
	_, ok = w.pong(pings[0], 50*ms)
	require.False(t, ok, "covered already")
	_, ok = w.pong([]byte("unsolicited"), 50*ms)
	require.False(t, ok)
	_, ok = w.pong(binary.BigEndian.AppendUint64(nil, 99), 50*ms)
	require.False(t, ok, "a ping that was never sent")
}

func TestWindowFollowsThePath(t *testing.T) {
	w := testWindow()
	w.max = 1 << 30
	now := time.Duration(0)
	w.pong(w.ping(now), now+100*ms) // idle: 100 ms away
	now += 200 * ms
	const link = 10_000_000 // bytes per second
	for range 20 {          // full windows; the link takes 10 MB/s
		n := int(w.size)
		w.took(n)
		ping := w.ping(now)
		now += 100*ms + time.Duration(float64(n)/link*float64(time.Second))
		w.pong(ping, now)
	}
	require.InDelta(t, 2*link*0.102, w.size, 0.6*2*link*0.102, "about twice what the path holds")

	// Half an hour of saturation must not creep upwards: a queue of our own
	// making is no longer path.
	for range 5000 {
		n := int(w.size)
		w.took(n)
		ping := w.ping(now)
		now += 100*ms + time.Duration(float64(n)/link*float64(time.Second))
		w.pong(ping, now)
	}
	require.Less(t, w.size, int64(3*link*0.102))
}

func TestWindowHasAFloor(t *testing.T) {
	w := testWindow()
	w.took(10)
	w.pong(w.ping(0), time.Second) // 10 bytes a second
	require.EqualValues(t, 1000, w.size)
}

func TestWindowGivesUpOnAPeerThatNeverPongs(t *testing.T) {
	w := testWindow()
	w.took(2000)
	w.ping(0)
	require.False(t, w.open(blindAfter-1))
	require.True(t, w.open(blindAfter))
	ping := w.ping(blindAfter)
	w.took(200_000)
	w.pong(ping, blindAfter+ms)
	require.False(t, w.open(blindAfter+ms), "it can pong after all")
}

func TestWindowBoundsItsPings(t *testing.T) {
	w := testWindow()
	now := time.Duration(0)
	for range maxPings {
		w.want = true
		require.Zero(t, w.pingAfter(now))
		w.ping(now)
		now += pingSpacing
	}
	w.want = true
	require.Negative(t, w.pingAfter(now))
}
