package tunnel

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// runnerEnd is the runner's side of one connection: it turns the server's
// frames into calls of the handler and of the channel handler.
type runnerEnd struct {
	link     *link
	gen      uint64
	handler  http.Handler
	serve    ChannelHandler
	orderKey func(*http.Request) string
	d        *dispatcher
	channels *channelSet
	running  *sync.WaitGroup // the client's: handlers may outlive their link for a moment
}

func newRunnerEnd(c *Client, l *link, gen uint64, limits Limits) *runnerEnd {
	e := &runnerEnd{
		link: l, gen: gen, handler: c.Handler, serve: c.Channels, orderKey: c.OrderKey, running: &c.handlers,
	}
	e.channels = newChannelSet(l, limits, &budget{limit: int64(limits.ReceiveTotal)}, func() { relieve(e.channels.receivers()) })
	if e.handler == nil {
		e.handler = http.NotFoundHandler()
	}
	e.d = newDispatcher(limits, func(call *call) {
		e.running.Go(func() { call.run(e.handler, l, e.d) })
	})
	return e
}

// handle takes one message. It is called by the reader and does not wait.
func (e *runnerEnd) handle(ctx context.Context, data []byte) {
	frame, err := Decode(data) // a binary message too, if it is text (tunnel.md 4)
	if err != nil {
		e.undecodable(data, err)
		return
	}
	switch f := frame.(type) {
	case Request:
		e.request(ctx, f)
	case RequestCancel:
		if c := e.d.stop(f.ID, &CanceledError{Reason: f.Reason}); c != nil {
			e.link.out.abort(&c.out)
		}
	case Ping:
		e.link.out.owePong(f.TS)
	case WSOpen:
		e.open(ctx, f)
	case WSFrame:
		e.channels.frame(f)
	case WSClose:
		e.channels.peerClosed(f)
	default: // kinds that a runner does not expect are ignored (tunnel.md 4)
	}
}

// undecodable skips a message; a request is answered if its id can be read, so
// that its caller does not hang.
func (e *runnerEnd) undecodable(data []byte, err error) {
	e.link.log.Warn("frame skipped", "err", err, "bytes", len(data))
	if kind, id := FrameID(data); kind == KindRequest && id != "" && !e.d.has(id) {
		e.refuse(refusal{id: id, status: http.StatusBadRequest, code: "bad_request_frame"})
	}
}

func (e *runnerEnd) request(ctx context.Context, f Request) {
	c := newCall(ctx, e.d, f)
	if e.orderKey != nil {
		c.key = e.orderKey(c.req)
	}
	switch e.d.add(c) {
	case accepted:
	case stopping:
		c.cancel(nil)
		e.refuse(refusal{id: f.ID, status: http.StatusServiceUnavailable, code: "runner_shutdown"})
	case overloaded:
		c.cancel(nil)
		e.refuse(refusal{id: f.ID, status: http.StatusServiceUnavailable, code: "overloaded"})
	case duplicate:
		c.cancel(nil)
		e.link.log.Warn("request dropped: its id is in use", "request", f.ID)
	}
}

// refuse answers a request or channel that is not taken. A peer that does not
// even leave time for that is flooding.
func (e *runnerEnd) refuse(r refusal) {
	if !e.link.out.refuse(r) {
		e.link.close(Reason{Cause: CauseFlood, Code: closeTryLater, Text: "too many refused requests"}, closeTryLater, "flooding")
	}
}

func (e *runnerEnd) open(ctx context.Context, f WSOpen) {
	ch, v := e.channels.add(f.ChID, f.Path, f.QueryString)
	switch {
	case v == overloaded:
		e.refuse(refusal{id: f.ChID, channel: true, code: "overloaded"})
	case v == duplicate:
		e.link.log.Warn("channel dropped: its id is in use", "channel", f.ChID)
	case e.serve == nil:
		ch.Close(closeNoChannel, "terminal resource not found or not running")
	default:
		e.running.Go(func() { e.serveChannel(ctx, ch) })
	}
}

func (e *runnerEnd) serveChannel(ctx context.Context, ch *Channel) {
	defer func() {
		if v := recover(); v != nil {
			e.link.log.Error("channel handler panicked", "channel", ch.id, "path", ch.Path, "panic", v)
			ch.Close(closeInternal, "runner dispatch failed")
		}
		ch.Close(closeNormal, "") // no effect if it is closed
	}()
	e.serve.ServeChannel(ctx, ch)
}

// drain ends the link in order: what runs may finish for a while, then its
// context ends, what is queued leaves, and the close frame follows.
// The close frame says why, if that is for the peer to know.
func (e *runnerEnd) drain(cancel context.CancelCauseFunc, why string) {
	timing := e.link.timing
	dropped, idle := e.d.close(errShutdown)
	for _, id := range dropped {
		e.link.out.refuse(refusal{id: id, status: http.StatusServiceUnavailable, code: "runner_shutdown"})
	}
	e.await(idle, timing.Drain)
	e.channels.closeAll(&ChannelError{Code: closeGoingAway, Reason: "runner shutdown"}, true)
	cancel(errShutdown)
	e.await(idle, timing.Flush)
	e.await(e.link.out.whenDrained(), timing.Flush)
	e.link.close(Reason{Cause: CauseShutdown, Text: why}, closeNormal, why)
}

// await waits until done closes, the link ends, or the time is up.
func (e *runnerEnd) await(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-e.link.done:
	case <-timer.C:
	}
}
