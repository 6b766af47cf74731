package serverapi

import (
	"context"
	"fmt"
	"math"
	"net/http/httptrace"
	"time"
)

// Timing holds the time limits of a Client; zero is the default. A limit spans
// a whole call, from its connection to the last byte of the answer.
type Timing struct {
	Connect  time.Duration // until there is a connection, of all calls but those below; default 5 s
	Snapshot time.Duration // default 10 s
	Items    time.Duration // one page; default 10 s
	Store    time.Duration // default 10 s
	Children time.Duration // one page; default 10 s
	Contents time.Duration // a whole bundle; default 5 min
	Call     time.Duration // labels, creating, deleting, a verdict; default 30 s

	DeletePause time.Duration // before a deletion is sent again; default 100 ms

	// A human may have to approve a message first.
	MessageConnect time.Duration // default 30 s
	Message        time.Duration // default 24 h

	ToolConnect time.Duration // default 10 s
	Tool        time.Duration // a tool's run, however often it is asked for; default 7260 s

	Away      time.Duration // how long a call that may be repeated waits for a server that is away; default 120 s
	AwayPause time.Duration // before it is repeated, doubling up to 8 times that; default 500 ms
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}

func (t Timing) away() time.Duration           { return orDefault(t.Away, 120*time.Second) }
func (t Timing) connect() time.Duration        { return orDefault(t.Connect, 5*time.Second) }
func (t Timing) messageConnect() time.Duration { return orDefault(t.MessageConnect, 30*time.Second) }
func (t Timing) toolConnect() time.Duration    { return orDefault(t.ToolConnect, 10*time.Second) }
func (t Timing) call() time.Duration           { return orDefault(t.Call, 30*time.Second) }

// longestConnect bounds the attempts to connect that a call has left behind; it
// is longer than every call's own limit, which is the one to tell of.
func (t Timing) longestConnect() time.Duration {
	return max(t.connect(), t.messageConnect(), t.toolConnect()) + time.Second
}

// bounded is a context that ends with the call's time, and as soon as
// connecting takes longer than it may. A connection is a limit of its own
// because a call that may take a day must not take one to find out that nobody
// is there.
func (c *Client) bounded(ctx context.Context, q call) (context.Context, context.CancelFunc) {
	limit := orDefault(q.connect, c.Timing.connect())
	ctx, done := context.WithTimeout(ctx, q.timeout)
	ctx, giveUp := context.WithCancelCause(ctx)
	connecting := time.AfterFunc(math.MaxInt64, func() { giveUp(fmt.Errorf("no connection within %v", limit)) })
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connecting.Reset(limit) },
		GotConn: func(httptrace.GotConnInfo) { connecting.Stop() },
	})
	return ctx, func() {
		connecting.Stop()
		done()
	}
}

// pause waits, and reports whether the context let it.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
