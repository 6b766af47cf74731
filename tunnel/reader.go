package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/coder/websocket"
)

// keptRead is the largest read buffer that is kept for the next message.
const keptRead = 1 << 20

// read hands every message to handle until the connection ends, and returns
// why. It is the only goroutine that reads, and waits for nothing else: not
// for the writer, not for a stream. That is what makes a deadlock of the two
// ends impossible.
func (l *link) read(handle func(data []byte, text bool)) error {
	l.ws.SetReadLimit(MaxMessage)
	buf := make([]byte, 0, 64<<10)
	for {
		// A context that can end would close the connection when it does.
		typ, r, err := l.ws.Reader(context.Background())
		if err != nil {
			return fmt.Errorf("reading from the tunnel: %w", err)
		}
		buf, err = readMessage(r, buf[:0])
		if err != nil {
			return fmt.Errorf("reading from the tunnel: %w", err)
		}
		select {
		case <-l.done: // closing: what still comes means nothing
		default:
			handle(buf, typ == websocket.MessageText)
		}
		if cap(buf) > keptRead {
			buf = make([]byte, 0, 64<<10)
		}
	}
}

// readMessage appends a whole message to buf.
func readMessage(r io.Reader, buf []byte) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}
