package terminal

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTypingKeepsItsOrderAndItsBound(t *testing.T) {
	q := newTyping()
	ctx := context.Background()
	require.NoError(t, q.put(ctx, keystroke{data: []byte("a")}))
	require.NoError(t, q.put(ctx, keystroke{data: []byte("b")}))
	require.NoError(t, q.put(ctx, keystroke{keys: []string{"Enter"}}))
	require.NoError(t, q.put(ctx, keystroke{data: make([]byte, maxInput-2)}))

	// There is no room: it waits, and gives up with its context.
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, q.put(cancelled, keystroke{data: []byte("c")}), context.Canceled)

	waiting := make(chan error, 1)
	go func() { waiting <- q.put(ctx, keystroke{data: []byte("c")}) }()
	_, k, _ := q.take(time.Now(), 0)
	require.Equal(t, "ab", string(k.data))
	require.NoError(t, <-waiting)
	_, k, _ = q.take(time.Now(), 0)
	require.Equal(t, []string{"Enter"}, k.keys)
	_, k, _ = q.take(time.Now(), 0)
	require.Len(t, k.data, maxInput-1)
	_, k, wait := q.take(time.Now(), 0)
	require.Nil(t, k)
	require.Zero(t, wait)

	// A single message is taken whatever its size.
	require.NoError(t, q.put(ctx, keystroke{data: make([]byte, maxInput*2)}))
	done := make(chan error, 1)
	go func() { waiting <- q.put(ctx, keystroke{data: []byte("x"), done: done}) }()
	q.close()
	require.ErrorIs(t, <-waiting, errEnded)
	require.ErrorIs(t, q.put(ctx, keystroke{}), errEnded)
}

func TestTheNewestSizeCounts(t *testing.T) {
	q := newTyping()
	first := q.want(80, 24)
	second := q.want(90, 25)
	<-first
	now := time.Now()
	size, k, wait := q.take(now, time.Hour)
	require.Nil(t, size)
	require.Nil(t, k)
	require.Greater(t, wait, 59*time.Minute)
	// Before a key it does not wait: what is typed is meant for that size.
	require.NoError(t, q.put(context.Background(), keystroke{data: []byte("a")}))
	size, _, _ = q.take(now, time.Hour)
	require.Equal(t, [2]int{90, 25}, [2]int{size.cols, size.rows})
	_, k, _ = q.take(now, time.Hour)
	require.Equal(t, "a", string(k.data))
	select {
	case <-second:
		require.Fail(t, "whoever applies the size tells when it is done")
	default:
	}
	third := q.want(1, 1)
	q.close()
	<-third
	<-q.want(2, 2)
}

func TestAWaitingTypistIsToldOfTheEnd(t *testing.T) {
	q := newTyping()
	done := make(chan error, 1)
	require.NoError(t, q.put(context.Background(), keystroke{keys: []string{"Enter"}, done: done}))
	q.close()
	require.ErrorIs(t, <-done, errEnded)
}

func TestKeysOfAPTY(t *testing.T) {
	for name, want := range map[string]string{
		"Enter": "\r", "C-c": "\x03", "C-[": "\x1b", "C-?": "\x7f", "M-x": "\x1bx", "M-C-a": "\x1b\x01", "Up": "\x1b[A", "x": "x", "word": "word", "F12": "\x1b[24~",
	} {
		require.Equal(t, want, keyBytes(name), name)
	}
}
