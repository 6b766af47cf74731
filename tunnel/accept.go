package tunnel

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// accept upgrades a request onto l. It has answered the request if it fails.
func accept(w http.ResponseWriter, r *http.Request, l *link, capabilities []string) error {
	if len(capabilities) > 0 {
		w.Header().Set(capabilityHeader, strings.Join(capabilities, ","))
	}
	ws, err := websocket.Accept(&hijacker{ResponseWriter: w, link: l}, r, &websocket.AcceptOptions{
		// Absent and same-host origins pass too; a page of another site does not.
		OriginPatterns: []string{origin},
		OnPingReceived: l.onPing,
		OnPongReceived: l.onPong,
	})
	if err != nil {
		return fmt.Errorf("accepting a tunnel: %w", err)
	}
	l.ws = ws
	return nil
}

// hijacker puts our pipe in the place of the connection that Hijack returns.
type hijacker struct {
	http.ResponseWriter
	link *link
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	var raw io.Closer
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		raw = t.NetConn() // below TLS
	}
	p := newPipe(conn, raw, h.link.timing.Flush)
	h.link.pipe = p
	// The library takes what rw.Reader has buffered, and then reads from conn.
	return hijackedConn{conn, p}, bufio.NewReadWriter(rw.Reader, bufio.NewWriter(p)), nil
}

// answerRefusal refuses before the upgrade. It reports false if that is to
// happen after it, by a close code.
func answerRefusal(w http.ResponseWriter, err error) bool {
	var refusal *Refusal
	switch {
	case !errors.As(err, &refusal):
		http.Error(w, "the runner could not be authorized", http.StatusInternalServerError)
	case refusal.HTTPStatus != 0:
		http.Error(w, refusal.Reason, refusal.HTTPStatus)
	default:
		return false
	}
	return true
}
