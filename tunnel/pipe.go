package tunnel

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// flushSlice is the largest single write to the connection, in bytes: big
// enough to be cheap, small enough that the rate is measured while a large
// message leaves.
const flushSlice = 256 << 10

// pipe lies between the WebSocket library and the connection. Its Write only
// appends, so that nothing the library does can wait for a slow peer; flush,
// called by the writer alone, does the waiting outside all of the library's
// locks. It counts the bytes read, which are the tunnel's sign of life, and
// sees frame borders pass, so that the writer's own control frames never fall
// into a message or behind a close frame.
type pipe struct {
	rwc     io.ReadWriteCloser
	raw     io.Closer     // what lies below TLS, if anything: closes without a farewell that could block
	grace   time.Duration // for the last bytes after Close
	read    atomic.Int64  // bytes read so far
	touched chan struct{} // capacity 1: the library wrote or closed on its own account
	gone    chan struct{} // closed with the connection
	once    sync.Once

	mu       sync.Mutex
	buf      []byte // written, not flushed
	spare    []byte // the other half of the double buffer
	rest     uint64 // bytes of the current frame that are still to be written
	closing  bool   // a close frame was written: nothing may follow it
	closed   bool   // Close was called
	flushing bool
	last     *time.Timer // closes the connection if the last flush takes too long
}

func newPipe(rwc io.ReadWriteCloser, raw io.Closer, grace time.Duration) *pipe {
	return &pipe{rwc: rwc, raw: raw, grace: grace, touched: make(chan struct{}, 1), gone: make(chan struct{})}
}

// Read implements io.Reader.
func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.rwc.Read(b)
	p.read.Add(int64(n))
	return n, err
}

// Write implements io.Writer. It never blocks.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, net.ErrClosed
	}
	wasClosing := p.closing
	if err := p.track(b); err != nil {
		return 0, err
	}
	p.buf = append(p.buf, b...)
	if p.closing && !wasClosing {
		p.touch()
	}
	return len(b), nil
}

var errSplitHeader = errors.New("writing to the tunnel's pipe: a frame header came in pieces")

// track follows the frames that b continues and begins. The library writes a
// frame's header in one piece; a test pins that.
func (p *pipe) track(b []byte) error {
	for len(b) > 0 {
		if p.rest == 0 {
			size, ok := frameSize(b)
			if !ok {
				return errSplitHeader
			}
			p.rest = size
			p.closing = p.closing || b[0]&0x0f == opClose
		}
		n := min(uint64(len(b)), p.rest)
		b, p.rest = b[n:], p.rest-n
	}
	return nil
}

// frameSize returns the size of the WebSocket frame that begins b (RFC 6455, 5.2).
func frameSize(b []byte) (size uint64, ok bool) {
	if len(b) < 2 {
		return 0, false
	}
	header, payload := uint64(2), uint64(b[1]&0x7f)
	switch {
	case payload == 126 && len(b) >= 4:
		header, payload = 4, uint64(binary.BigEndian.Uint16(b[2:]))
	case payload == 127 && len(b) >= 10:
		header, payload = 10, binary.BigEndian.Uint64(b[2:])
	case payload >= 126:
		return 0, false
	}
	if b[1]&0x80 != 0 {
		header += 4
	}
	return header + payload, true
}

// control appends a ping or pong of ours between two messages. It reports
// false when none may be sent any more.
func (p *pipe) control(frame []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.closing || p.rest != 0 {
		return false
	}
	p.buf = append(p.buf, frame...)
	return true
}

// flush writes what has gathered. note hears of each single write: how many
// bytes, and how long the connection took them. Only the writer calls it.
func (p *pipe) flush(note func(n int, took time.Duration)) error {
	for {
		p.mu.Lock()
		out := p.buf
		if len(out) == 0 {
			closed := p.closed
			p.mu.Unlock()
			if closed {
				p.abort()
			}
			return nil
		}
		p.buf, p.flushing = p.spare[:0], true
		p.spare = nil
		p.mu.Unlock()

		for rest := out; len(rest) > 0; {
			slice := rest[:min(len(rest), flushSlice)]
			start := time.Now()
			m, err := p.rwc.Write(slice)
			if err != nil {
				p.abort()
				return err
			}
			note(m, time.Since(start))
			rest = rest[m:]
		}

		p.mu.Lock()
		p.flushing = false
		if cap(out) <= 2*flushSlice { // a rare giant is not kept
			p.spare = out
		}
		p.mu.Unlock()
	}
}

// Close implements io.Closer. What was written before it is still flushed, for
// as long as the grace lasts; then the connection closes. It does not wait.
func (p *pipe) Close() error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	pending := p.flushing || len(p.buf) > 0
	if first && pending {
		p.last = time.AfterFunc(p.grace, p.abort)
		p.touch()
	}
	p.mu.Unlock()
	if !pending {
		p.abort()
	}
	return nil
}

// abort closes the connection at once, whatever waits.
func (p *pipe) abort() {
	p.once.Do(func() {
		p.mu.Lock()
		p.closed = true
		if p.last != nil {
			p.last.Stop()
		}
		p.mu.Unlock()
		if p.raw != nil {
			_ = p.raw.Close()
		}
		_ = p.rwc.Close() // the connection is given up; nothing depends on how
		close(p.gone)
	})
}

// touch wakes the writer.
func (p *pipe) touch() {
	select {
	case p.touched <- struct{}{}:
	default:
	}
}

// hijackedConn is the pipe as the net.Conn that the library gets from Hijack.
type hijackedConn struct {
	net.Conn // addresses and deadlines
	pipe     *pipe
}

func (c hijackedConn) Read(b []byte) (int, error)  { return c.pipe.Read(b) }
func (c hijackedConn) Write(b []byte) (int, error) { return c.pipe.Write(b) }
func (c hijackedConn) Close() error                { return c.pipe.Close() }
