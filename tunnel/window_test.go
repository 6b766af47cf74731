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
	w.took(999, 0)
	require.True(t, w.open(0))
	w.took(1, 0)
	require.False(t, w.open(0))
	require.Zero(t, w.pingAfter(0), "a shut window needs a ping")
	ping := w.ping(0)
	require.Negative(t, w.pingAfter(ms), "one is enough")
	w.took(500, 0) // interactive traffic does not count, but a last bulk message may go over
	_, ok := w.pong(ping, 5*ms)
	require.True(t, ok)
	require.EqualValues(t, 500, w.inFlight(), "a pong covers what came before its ping, no more")
	require.True(t, w.open(5*ms))
}

func TestWindowPingsEveryQuarterAndNotTooOften(t *testing.T) {
	w := testWindow()
	w.took(249, 0)
	require.Negative(t, w.pingAfter(0))
	w.took(1, 0)
	require.Zero(t, w.pingAfter(0))
	w.ping(0)
	w.took(250, 0)
	require.Equal(t, pingSpacing-ms, w.pingAfter(ms), "the rate of pings is capped")
	require.Zero(t, w.pingAfter(pingSpacing))
}

func TestWindowPongCoversEarlierPings(t *testing.T) {
	w := testWindow()
	var pings [][]byte
	for i := range 3 {
		w.took(100, time.Duration(i)*10*ms)
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

// path simulates a link of a rate and a round trip that a sender with always
// something to send uses through the window, for a time. It returns the bytes
// that arrived.
func path(w *window, start, span time.Duration, rate float64, rtt time.Duration) int64 {
	type flight struct {
		payload []byte
		back    time.Duration
	}
	var pongs []flight
	var delivered int64
	free := start // when the link has sent what it was given
	for now := start; now < start+span; now += 100 * time.Microsecond {
		for len(pongs) > 0 && pongs[0].back <= now {
			w.pong(pongs[0].payload, now)
			pongs = pongs[1:]
		}
		for w.open(now) {
			const n = 40_000
			w.took(n, now)
			delivered += n
			free = max(free, now) + time.Duration(n/rate*float64(time.Second))
			if w.pingAfter(now) == 0 {
				pongs = append(pongs, flight{w.ping(now), free + rtt})
			}
		}
		if w.pingAfter(now) == 0 {
			pongs = append(pongs, flight{w.ping(now), max(free, now) + rtt})
		}
	}
	for _, p := range pongs { // the link runs empty
		w.pong(p.payload, p.back)
	}
	return delivered
}

func TestWindowFollowsThePath(t *testing.T) {
	for _, c := range []struct {
		name string
		rate float64 // bytes per second
		rtt  time.Duration
	}{
		{"same machine", 400e6, 50 * time.Microsecond},
		{"same house", 100e6, ms},
		{"same continent", 30e6, 40 * ms},
		{"other side of the world", 10e6, 250 * ms},
		{"bad radio", 100e3, 80 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWindow(Limits{}.withDefaults())
			w.want = true
			w.pong(w.ping(0), c.rtt) // idle, as after a hello
			path(&w, time.Second, 5*time.Second, c.rate, c.rtt)
			// Half a minute of saturation must not creep upwards: a queue of our
			// own making is no longer path.
			const span = 30 * time.Second
			got := path(&w, 10*time.Second, span, c.rate, c.rtt)
			require.Greater(t, float64(got), 0.9*c.rate*span.Seconds(), "the link is used")
			holds := c.rate * (c.rtt + pingSpacing).Seconds()
			require.LessOrEqual(t, float64(w.size), max(2.5*holds, 256<<10), "little more than the path holds is under way")
		})
	}
}

func TestWindowHasAFloor(t *testing.T) {
	w := testWindow()
	w.took(10, 0)
	w.pong(w.ping(0), time.Second) // 10 bytes a second
	require.EqualValues(t, 1000, w.size)
}

func TestWindowGivesUpOnAPeerThatNeverPongs(t *testing.T) {
	w := testWindow()
	w.took(2000, 0)
	w.ping(0)
	require.False(t, w.open(blindAfter-1))
	require.True(t, w.open(blindAfter))
	ping := w.ping(blindAfter)
	w.took(200_000, blindAfter)
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
