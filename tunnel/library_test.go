package tunnel

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// These tests pin the habits of the WebSocket library that this package is
// built upon. One that fails after an upgrade says what to look at again.

// recorder is a connection that notes each single Write.
type recorder struct {
	io.ReadWriteCloser
	reads  atomic.Int32
	mu     sync.Mutex
	writes [][]byte
}

func (r *recorder) Read(p []byte) (int, error) {
	r.reads.Add(1)
	return r.ReadWriteCloser.Read(p)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	r.writes = append(r.writes, append([]byte(nil), p...))
	r.mu.Unlock()
	return r.ReadWriteCloser.Write(p)
}

func (r *recorder) seen() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([][]byte(nil), r.writes...)
}

// libraryPair is a WebSocket whose both ends write through recorders.
func libraryPair(t *testing.T, opts websocket.DialOptions) (client, server *websocket.Conn, c, s *recorder) {
	accepted := make(chan *websocket.Conn, 1)
	s = &recorder{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(recordingWriter{w, s}, r, nil)
		if err == nil {
			accepted <- conn
		}
	}))
	t.Cleanup(srv.Close)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	opts.HTTPClient = &http.Client{Transport: upgrader{base: tr, adopt: func(rwc io.ReadWriteCloser) io.ReadCloser {
		c = &recorder{ReadWriteCloser: rwc}
		return c
	}}}
	client, _, err := websocket.Dial(t.Context(), srv.URL, &opts)
	require.NoError(t, err)
	require.NotNil(t, c, "the 101 answer's body is the connection")
	server = <-accepted
	t.Cleanup(func() { _ = client.CloseNow(); _ = server.CloseNow() })
	return client, server, c, s
}

func TestLibraryWritesOneWholeFrameAndFlushes(t *testing.T) {
	client, server, c, s := libraryPair(t, websocket.DialOptions{})
	text := strings.Repeat("x", 100<<10)
	for _, side := range []struct {
		conn *websocket.Conn
		rec  *recorder
	}{{client, c}, {server, s}} {
		read := make(chan error, 1)
		peer := server
		if side.conn == server {
			peer = client
		}
		peer.SetReadLimit(MaxMessage)
		go func() {
			_, _, err := peer.Read(context.Background())
			read <- err
		}()
		require.NoError(t, side.conn.Write(t.Context(), websocket.MessageText, []byte(text)))
		writes := side.rec.seen()
		size, ok := frameSize(writes[0])
		require.True(t, ok, "the first write begins with a whole header")
		total := 0
		for _, w := range writes {
			total += len(w)
		}
		require.EqualValues(t, size, total, "all of one frame is flushed on return")
		require.NoError(t, <-read)
	}
}

func TestLibraryCloseFrameIsOneWrite(t *testing.T) {
	client, server, c, s := libraryPair(t, websocket.DialOptions{})
	done := make(chan error, 1)
	go func() {
		_, _, err := server.Reader(context.Background())
		done <- err
	}()
	require.NoError(t, client.Close(4000, "tunnel replaced"))
	err := <-done
	require.Equal(t, websocket.StatusCode(4000), websocket.CloseStatus(err))
	for _, rec := range []*recorder{c, s} {
		writes := rec.seen()
		require.Len(t, writes, 1)
		require.Equal(t, byte(0x88), writes[0][0])
	}
}

func TestLibraryControlCallbacks(t *testing.T) {
	pings, pongs := make(chan string, 10), make(chan []byte, 10)
	client, server, c, s := libraryPair(t, websocket.DialOptions{
		OnPingReceived: func(_ context.Context, p []byte) bool { pings <- string(p); return false },
		OnPongReceived: func(_ context.Context, p []byte) { pongs <- p },
	})
	clientDone, serverDone := make(chan struct{}), make(chan struct{})
	go func() { defer close(clientDone); _, _, _ = client.Reader(context.Background()) }()
	go func() { defer close(serverDone); _, _, _ = server.Reader(context.Background()) }()

	// A ping that the library did not send is answered, and its pong reported.
	_, err := c.Write(appendControl(nil, opPing, []byte("one"), true))
	require.NoError(t, err)
	first := <-pongs
	require.Equal(t, "one", string(first))
	_, err = c.Write(appendControl(nil, opPing, []byte("two"), true))
	require.NoError(t, err)
	<-pongs
	require.Equal(t, "two", string(first), "the payload is a buffer that is used again")

	// A ping that the callback takes is not answered by the library.
	before := len(c.seen())
	_, err = s.Write(appendControl(nil, opPing, []byte("x"), false))
	require.NoError(t, err)
	require.Equal(t, "x", <-pings)
	require.NoError(t, server.Write(t.Context(), websocket.MessageText, []byte("m")))
	<-clientDone // the reader went past the ping
	require.Len(t, c.seen(), before)
	_ = client.CloseNow()
	<-serverDone
}

func TestLibraryReadLimit(t *testing.T) {
	client, server, _, _ := libraryPair(t, websocket.DialOptions{})
	big := []byte(strings.Repeat("x", 33<<10))
	failed := make(chan error, 1)
	go func() {
		_, _, err := server.Read(context.Background())
		failed <- err
	}()
	require.NoError(t, client.Write(t.Context(), websocket.MessageText, big))
	require.ErrorIs(t, <-failed, websocket.ErrMessageTooBig, "32 KiB unless it is raised")
}

func TestLibraryContextEndsConnection(t *testing.T) {
	client, _, c, _ := libraryPair(t, websocket.DialOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _, _, _ = client.Reader(ctx) }()
	require.Eventually(t, func() bool { return c.reads.Load() > 0 }, 5*time.Second, time.Millisecond)
	cancel()
	<-done
	require.Error(t, client.Write(t.Context(), websocket.MessageText, []byte("x")), "so the link passes contexts that never end")
}

// recordingWriter gives the library a recorder as the result of Hijack.
type recordingWriter struct {
	http.ResponseWriter
	rec *recorder
}

type recordedConn struct {
	net.Conn
	rec *recorder
}

func (c recordedConn) Write(p []byte) (int, error) { return c.rec.Write(p) }

func (w recordingWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.rec.ReadWriteCloser = conn
	return recordedConn{conn, w.rec}, bufio.NewReadWriter(rw.Reader, bufio.NewWriter(w.rec)), nil
}
