package tunnel

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
)

// serverEnd is the server's side of one connection: it registers the runner
// after its hello, and hands what the runner sends to the exchanges and
// channels that wait for it.
type serverEnd struct {
	server   *Server
	link     *link
	limits   Limits
	info     RunnerInfo // complete once registered is closed
	channels *channelSet
	received *budget

	requests outStream // all request frames share this one FIFO

	registered chan struct{}
	greeted    bool // of the reader

	mu        sync.Mutex
	exchanges map[string]*exchange
	closed    bool
}

func newServerEnd(s *Server, l *link, limits Limits, info RunnerInfo) *serverEnd {
	received := &budget{limit: int64(limits.ReceiveTotal)}
	e := &serverEnd{
		server: s, link: l, limits: limits, info: info, received: received,
		registered: make(chan struct{}),
		exchanges:  map[string]*exchange{},
	}
	e.channels = newChannelSet(l, limits, received, e.relieve)
	return e
}

// run serves the connection until it is over.
func (e *serverEnd) run(ctx context.Context) {
	l := e.link
	conn, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	impatience := time.AfterFunc(l.timing.Hello, func() {
		l.close(Reason{Cause: CauseHello, Code: closeTryLater, Text: "hello timeout"}, closeTryLater, "hello timeout")
	})
	var running sync.WaitGroup
	running.Go(func() { e.hooks(conn) })
	running.Go(func() {
		<-l.done
		impatience.Stop()
		cancel(l.lost(false))
		e.server.registry.remove(e)
		e.lose()
		e.channels.closeAll(errTunnelAborted(), false)
	})
	reason := l.serve(e.server.clock, func(data []byte, text bool) {
		if !e.greeted {
			impatience.Stop()
			e.greet(data, text)
			return
		}
		e.handle(data, text)
	})
	l.log.Info("tunnel is down", "reason", reason.String())
	running.Wait()
	l.wait()
}

// hooks runs the owner's callbacks beside the connection, so that they never
// hold it up.
func (e *serverEnd) hooks(conn context.Context) {
	select {
	case <-e.registered:
	case <-e.link.done:
		select {
		case <-e.registered: // both happened
		default:
			return
		}
	}
	var connected sync.WaitGroup
	if e.server.OnConnect != nil {
		connected.Go(func() { e.server.OnConnect(conn, e.info) })
	}
	<-e.link.done
	if e.server.OnDisconnect != nil {
		e.server.OnDisconnect(e.info, e.link.why())
	}
	connected.Wait()
}

// greet judges the first message (tunnel.md 3) and registers the runner.
func (e *serverEnd) greet(data []byte, text bool) {
	e.greeted = true
	frame, err := Decode(data)
	hello, ok := frame.(Hello)
	if err != nil || !ok || !text {
		l := e.link
		l.log.Warn("first message is no hello", "err", err)
		l.close(Reason{Cause: CauseHello, Code: closeNoHello, Text: "expected hello frame"}, closeNoHello, "expected hello frame")
		return
	}
	if v, ok := hello.FrameProtocolVersion.Int64(); !ok || v != ProtocolVersion {
		text := fmt.Sprintf("frame_protocol_version mismatch: server supports %d, runner sent %s", ProtocolVersion, hello.FrameProtocolVersion)
		e.link.close(Reason{Cause: CauseHello, Code: closeVersion, Text: text}, closeVersion, text)
		return
	}
	e.info.Hello, e.info.ConnectedAt = hello, time.Now()
	old, ok := e.server.registry.register(e)
	if !ok {
		const text = "runner id belongs to another owner"
		e.link.close(Reason{Cause: CauseForbidden, Code: closeNotAdmitted, Text: text}, closeNotAdmitted, text)
		return
	}
	if old != nil {
		const text = "tunnel replaced"
		old.link.close(Reason{Cause: CauseReplaced, Code: closeReplaced, Text: text}, closeReplaced, text)
	}
	e.link.log.Info("runner is online", "tunnel_gen", e.info.Generation, "replaced", old != nil)
	close(e.registered)
	select {
	case <-e.link.done: // it ended meanwhile: do not leave it registered
		e.server.registry.remove(e)
	default:
	}
}

// handle takes one message. It is called by the reader and does not wait.
func (e *serverEnd) handle(data []byte, text bool) {
	if !text {
		return // as upstream does
	}
	frame, err := Decode(data)
	if err != nil {
		e.undecodable(data, err)
		return
	}
	switch f := frame.(type) {
	case ResponseHead:
		e.find(f.ID).onHead(f)
	case ResponseBody:
		e.find(f.ID).onBody(f)
	case ResponseEnd:
		e.find(f.ID).onEnd(f)
	case WSFrame:
		e.channels.frame(f)
	case WSClose:
		e.channels.peerClosed(f)
	default: // kinds that a server does not expect, and pongs: a byte is life enough
	}
}

// undecodable skips a message. If it was a piece of an answer, the answer has a
// hole now, and ends.
func (e *serverEnd) undecodable(data []byte, err error) {
	e.link.log.Warn("frame skipped", "err", err, "bytes", len(data))
	switch kind, id := FrameID(data); kind {
	case KindResponseHead, KindResponseBody, KindResponseEnd:
		e.find(id).spoil("undecodable " + string(kind))
	}
}

// find returns the exchange with that id, nil if there is none; a nil exchange
// ignores what comes.
func (e *serverEnd) find(id string) *exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.exchanges[id]
}

// open makes a new exchange.
func (e *serverEnd) open() (*exchange, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, e.link.lost(true)
	}
	if len(e.exchanges) >= e.limits.Open {
		return nil, &RefusedError{Status: 503, Reason: "too many open requests to the runner"}
	}
	x := newExchange(e, newID(16))
	e.exchanges[x.id] = x
	return x, nil
}

func (e *serverEnd) remove(x *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.exchanges, x.id) // ids are never used twice
}

// relieve makes room when all that waits is too much.
func (e *serverEnd) relieve() {
	all := e.channels.receivers()
	e.mu.Lock()
	for _, x := range e.exchanges {
		all = append(all, x)
	}
	e.mu.Unlock()
	relieve(all)
}

// lose ends all exchanges, since the link is over.
func (e *serverEnd) lose() {
	e.mu.Lock()
	e.closed = true
	all := e.exchanges
	e.exchanges = map[string]*exchange{}
	e.mu.Unlock()
	for _, x := range all {
		unsent := e.link.out.recall(&e.requests, &x.ticket)
		x.finish(e.link.lost(unsent))
	}
}

// OpenChannel opens a channel to a WebSocket endpoint of the runner's
// (tunnel.md 8). The path is decoded text, the query raw. No answer exists: a
// refusal shows as a *ChannelError of the first Read. It fails with an
// *OfflineError, a *LostError or a *RefusedError.
func (s *Server) OpenChannel(ctx context.Context, runnerID, path, query string) (*Channel, error) {
	e, err := s.end(ctx, runnerID)
	if err != nil {
		return nil, err
	}
	ch, v := e.channels.add(newID(4), path, query)
	for v == duplicate {
		ch, v = e.channels.add(newID(4), path, query)
	}
	if v != accepted {
		return nil, &RefusedError{Status: 503, Reason: "too many open channels to the runner"}
	}
	if err := e.link.out.push(ctx, &ch.out, WSOpen{ChID: ch.id, Path: path, QueryString: query}); err != nil {
		ch.closeWith(errTunnelAborted(), false)
		if errors.Is(err, errDead) {
			return nil, e.link.lost(true)
		}
		return nil, fmt.Errorf("opening a channel: %w", err)
	}
	return ch, nil
}

// newID returns n random bytes in hex, as upstream's ids are.
func newID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b)
}
