package server

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Close codes of a WebSocket to a browser. Those that browsers answer by coming
// back are chosen for whatever may pass (terminals.md 3.4).
const (
	closeNormal   = websocket.StatusNormalClosure
	closeFailed   = websocket.StatusInternalError
	closeStopping = websocket.StatusServiceRestart
	closeTryAgain = websocket.StatusTryAgainLater
)

// socketBuffer is how much of a WebSocket's output the system holds, in bytes:
// what lies there is late already.
const socketBuffer = 64 << 10

// socket is a WebSocket to a browser. Its owner reads all the time, so that
// pongs are seen.
type socket struct {
	*websocket.Conn
	timing Timing
	raw    net.Conn     // below it
	heard  atomic.Int64 // when the browser last gave a sign of life, unix nanoseconds
}

// accept makes a request a WebSocket. Who asks, and from which page, was checked
// before (safety.go, authn.go).
func (s *Server) accept(w http.ResponseWriter, r *http.Request, readLimit int64) (*socket, error) {
	k := &socket{timing: s.cfg.Timing}
	k.hear()
	var err error
	k.Conn, err = websocket.Accept(&hijacked{w, &k.raw}, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled,
		OnPongReceived: func(context.Context, []byte) { k.hear() },
	})
	if err != nil {
		return nil, err
	}
	k.SetReadLimit(readLimit)
	return k, nil
}

func (k *socket) hear() { k.heard.Store(time.Now().UnixNano()) }

// read returns the next message. It ends only with the socket.
func (k *socket) read() (data []byte, text bool, err error) {
	kind, data, err := k.Read(context.Background())
	k.hear()
	return data, kind == websocket.MessageText, err
}

// write sends one message; a browser that does not take it in time is slow.
func (k *socket) write(data []byte, text bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), k.timing.ViewerWrite)
	defer cancel()
	kind := websocket.MessageBinary
	if text {
		kind = websocket.MessageText
	}
	return k.Write(ctx, kind, data)
}

// keepAlive pings until ctx ends, or answers false when the browser has been
// silent for three pings.
func (k *socket) keepAlive(ctx context.Context) bool {
	tick := time.NewTicker(k.timing.SocketPing)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return true
		case <-tick.C:
		}
		if time.Since(time.Unix(0, k.heard.Load())) >= 3*k.timing.SocketPing {
			return false
		}
		ping, cancel := context.WithTimeout(ctx, k.timing.SocketPing/2)
		_ = k.Ping(ping) // a late pong counts as well, and a lost one shows above
		cancel()
	}
}

// end closes the socket behind what was written, and unblocks its reader. A
// browser that does not answer is left without an answer.
func (k *socket) end(code websocket.StatusCode, reason string) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		_ = k.Close(code, reason) // the browser may be gone
	}()
	patience := time.NewTimer(k.timing.SocketClose)
	defer patience.Stop()
	select {
	case <-said:
	case <-patience.C:
		_ = k.raw.Close() // the library would wait for ten seconds
		<-said
	}
}

// hijacked keeps the connection that it hands over, with small buffers.
type hijacked struct {
	http.ResponseWriter
	conn *net.Conn
}

// Hijack implements http.Hijacker.
func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if tcp, ok := conn.(interface{ SetWriteBuffer(int) error }); ok && err == nil {
		_ = tcp.SetWriteBuffer(socketBuffer) // larger ones only make output later
	}
	*h.conn = conn
	return conn, rw, err
}

// isUpgrade says whether a request wants to become a WebSocket.
func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}
