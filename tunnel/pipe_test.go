package tunnel

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slowConn is a connection whose writes wait until it is told to let them go.
type slowConn struct {
	release chan struct{}
	closed  chan struct{}
	once    sync.Once
	mu      sync.Mutex
	writes  [][]byte
}

func newSlowConn() *slowConn {
	return &slowConn{release: make(chan struct{}), closed: make(chan struct{})}
}

func (c *slowConn) Read([]byte) (int, error) {
	<-c.closed
	return 0, io.EOF
}

func (c *slowConn) Write(p []byte) (int, error) {
	select {
	case <-c.release:
	case <-c.closed:
		return 0, net.ErrClosed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes = append(c.writes, bytes.Clone(p))
	return len(p), nil
}

func (c *slowConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func frameOf(op byte, n int) []byte {
	return append([]byte{finBit | op, byte(n)}, make([]byte, n)...)
}

func TestPipeGathersAndFlushesOnce(t *testing.T) {
	c := newSlowConn()
	close(c.release)
	p := newPipe(c, nil, time.Minute)
	for range 10 {
		_, err := p.Write(frameOf(1, 20))
		require.NoError(t, err)
	}
	require.True(t, p.control(frameOf(opPing, 8)))
	require.Empty(t, c.writes, "nothing leaves before flush")
	n := 0
	require.NoError(t, p.flush(func(m int, _ time.Duration) { n += m }))
	require.Equal(t, 10*22+10, n)
	require.Len(t, c.writes, 1)
	require.NoError(t, p.Close())
	<-c.closed
}

func TestPipeKeepsControlFramesOutOfMessagesAndBehindNoClose(t *testing.T) {
	p := newPipe(newSlowConn(), nil, time.Minute)
	long := make([]byte, 300)
	copy(long, []byte{finBit | 1, 126, 1, 40}) // 296 bytes of payload
	_, err := p.Write(long[:100])
	require.NoError(t, err)
	require.False(t, p.control(frameOf(opPing, 0)), "inside a message")
	// The rest of a message may look like a close frame, and is none.
	long[100] = finBit | opClose
	_, err = p.Write(long[100:])
	require.NoError(t, err)
	require.True(t, p.control(frameOf(opPing, 0)))
	_, err = p.Write(frameOf(opClose, 2))
	require.NoError(t, err)
	require.False(t, p.control(frameOf(opPong, 0)), "behind a close frame")
	require.Len(t, p.touched, 1, "a close frame wakes the writer")
	p.abort()
}

func TestPipeRejectsASplitHeader(t *testing.T) {
	p := newPipe(newSlowConn(), nil, time.Minute)
	_, err := p.Write([]byte{finBit | 1})
	require.ErrorIs(t, err, errSplitHeader)
	_, err = p.Write([]byte{finBit | 1, 126, 1})
	require.ErrorIs(t, err, errSplitHeader)
	p.abort()
}

func TestPipeCloseLetsTheLastBytesOut(t *testing.T) {
	c := newSlowConn()
	p := newPipe(c, nil, time.Minute)
	_, err := p.Write(frameOf(opClose, 2))
	require.NoError(t, err)
	require.NoError(t, p.Close(), "does not wait")
	_, err = p.Write(frameOf(1, 1))
	require.ErrorIs(t, err, net.ErrClosed)
	close(c.release)
	require.NoError(t, p.flush(func(int, time.Duration) {}))
	<-p.gone
	require.Equal(t, [][]byte{frameOf(opClose, 2)}, c.writes)
}

func TestPipeCloseDoesNotWaitForeverForTheLastBytes(t *testing.T) {
	c := newSlowConn()
	p := newPipe(c, nil, 10*time.Millisecond)
	_, err := p.Write(frameOf(opClose, 2))
	require.NoError(t, err)
	failed := make(chan error)
	go func() { failed <- p.flush(func(int, time.Duration) {}) }()
	require.NoError(t, p.Close())
	<-p.gone
	require.True(t, errors.Is(<-failed, net.ErrClosed))
}

func TestControlFrames(t *testing.T) {
	require.Equal(t, []byte{0x89, 2, 'h', 'i'}, appendControl(nil, opPing, []byte("hi"), false))
	masked := appendControl(nil, opPong, []byte("hi"), true)
	require.Len(t, masked, 8)
	require.Equal(t, []byte{0x8a, 0x82}, masked[:2])
	require.Equal(t, byte('h'), masked[6]^masked[2])
	require.Equal(t, byte('i'), masked[7]^masked[3])

	var d debt
	_, ok := d.take()
	require.False(t, ok)
	reused := []byte("a")
	d.owe(reused)
	reused[0] = 'b'
	d.owe(reused)
	reused[0] = 'c'
	payload, ok := d.take()
	require.True(t, ok)
	require.Equal(t, "b", string(payload), "the newest, copied")
	_, ok = d.take()
	require.False(t, ok)
}
