package testkit

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Proxy is a TCP line to a server that a test can break. It ends with the test.
type Proxy struct {
	// URL is the server's, through the proxy.
	URL string

	target   string
	listener net.Listener
	wg       sync.WaitGroup

	mu      sync.Mutex
	pairs   map[*pair]struct{}
	refuse  bool
	flowing chan struct{} // closed while bytes flow
	stalled bool
	left    int64 // bytes until the next cut; negative: none is due
	taken   int   // connections so far
	cuts    int   // of connections that stood
}

// pair is one connection and its other half.
type pair struct {
	near, far net.Conn
	cut       chan struct{}
	once      sync.Once
}

// reset drops both halves the hard way, with what is on its way.
func (c *pair) reset() {
	c.once.Do(func() {
		close(c.cut)
		for _, conn := range []net.Conn{c.near, c.far} {
			drop(conn)
		}
	})
}

// drop closes a connection so that its other end sees a reset.
func drop(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0) // it may be gone already
	_ = conn.Close()
}

// NewProxy starts a line to the address.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{URL: "http://" + l.Addr().String(), target: target, listener: l,
		pairs: map[*pair]struct{}{}, flowing: make(chan struct{}), left: -1}
	close(p.flowing)
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close() // nothing depends on it any more
		p.Refuse()
		p.wg.Wait()
	})
	return p
}

// Cut resets every connection. New ones are taken.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pairs) > 0 {
		p.cuts++
	}
	for c := range p.pairs {
		c.reset()
	}
}

// Cuts counts how often there was a connection to reset.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// CutAfter cuts in the middle of bytes, when so many more have gone through,
// both ways counted. A negative number takes an order back.
func (p *Proxy) CutAfter(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = bytes
}

// Refuse resets every connection, and every new one until Heal.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.Cut()
}

// Stall keeps every connection open and lets nothing through until Heal.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stalled {
		p.stalled, p.flowing = true, make(chan struct{})
	}
}

// Heal ends Refuse and Stall: what was held back goes on.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = false
	if p.stalled {
		p.stalled = false
		close(p.flowing)
	}
}

// Taken counts the connections that were taken so far.
func (p *Proxy) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return // closed by the test's end
		}
		p.wg.Go(func() { p.serve(near) })
	}
}

func (p *Proxy) serve(near net.Conn) {
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		drop(near) // as if the server's machine had refused
		return
	}
	c := &pair{near: near, far: far, cut: make(chan struct{})}
	p.mu.Lock()
	refused := p.refuse
	if !refused {
		p.pairs[c] = struct{}{}
		p.taken++
	}
	p.mu.Unlock()
	if refused {
		c.reset()
		return
	}
	var back sync.WaitGroup
	back.Go(func() { p.pump(c, near, far) })
	p.pump(c, far, near)
	back.Wait()
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
	_, _ = near.Close(), far.Close() // both ways have ended
}

// pump carries bytes one way until it ends, well or badly.
func (p *Proxy) pump(c *pair, to, from net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			goes := p.pass(c, n)
			if _, err := to.Write(buf[:goes]); err != nil {
				c.reset()
				return
			}
			if goes < n {
				p.Cut()
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = to.(*net.TCPConn).CloseWrite() // it may be gone already
			return
		case err != nil:
			c.reset()
			return
		}
	}
}

// pass waits while the line is stalled, and says how many of the bytes go on. If
// that is not all of them, the line is to be cut.
func (p *Proxy) pass(c *pair, n int) int {
	p.mu.Lock()
	flowing := p.flowing
	p.mu.Unlock()
	select {
	case <-flowing:
	case <-c.cut:
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left < 0 {
		return n
	}
	if p.left >= int64(n) {
		p.left -= int64(n)
		return n
	}
	n, p.left = int(p.left), -1
	return n
}
