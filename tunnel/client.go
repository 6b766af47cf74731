package tunnel

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Client is the runner's end: it keeps one tunnel to a server, over and over
// again, and serves what comes through it. URL, RunnerID and Handler are
// needed; everything else has a working zero value. The fields must not change
// once Run is called.
type Client struct {
	// URL is the server's base URL, http or https.
	URL string
	// RunnerID is the id under which the server knows this runner.
	RunnerID string
	// Hello returns the first message of each connection. Its protocol version
	// is set, and a connection id if it has none. Nil means a plain one.
	Hello func() Hello
	// Header returns headers for the upgrade request, credentials mostly. It
	// is asked before each dial; its error counts as a failed attempt.
	Header func(context.Context) (http.Header, error)
	// Handler serves requests. Request contexts end with the tunnel, with a
	// *LostError as cause, and on request.cancel, with a *CanceledError.
	Handler http.Handler
	// Channels serves channels; nil closes each with 4404.
	Channels ChannelHandler
	// OrderKey tells which requests must start in order. It is called by the
	// reader with a request that has no body yet, and must be quick. Nil or ""
	// means no order.
	OrderKey func(*http.Request) string
	// OnUpgrade is called at each accepted upgrade, before the hello.
	OnUpgrade func()
	// OnUp is called in a goroutine of its own once the hello is written. ctx
	// ends with the connection; the next one is not dialed before it returned.
	OnUp func(ctx context.Context, gen uint64)
	// OnDown is called when a connection is over that was up.
	OnDown func(gen uint64, reason Reason)
	// OnState is called with each new state, in order. It must be quick.
	OnState func(State)
	// Log gets what an operator must know. Nil discards it.
	Log *slog.Logger
	// TLS is the configuration for https; nil is Go's default.
	TLS *tls.Config
	// Proxy chooses a proxy; nil is http.ProxyFromEnvironment, which never
	// applies to loopback addresses.
	Proxy  func(*http.Request) (*url.URL, error)
	Limits Limits
	Timing Timing

	clock    clock // nil is the machine's
	handlers sync.WaitGroup

	stateOrder sync.Mutex // held while OnState runs

	mu     sync.Mutex
	status Status
	link   *link // of the current connection
}

// Run keeps the tunnel until ctx ends, and then returns nil after a drain of at
// most Timing.Drain and a close frame. When the cause of ctx's end is ErrIdle,
// the close frame says that the runner left because it had nothing to do, and
// no server takes that for a failure (tunnel.md 3). Any other end is an error, a *FatalError
// if the server's answer means that dialing again would not help. Run must be
// called only once.
func (c *Client) Run(ctx context.Context) error {
	log := orDiscard(c.Log).With("runner", c.RunnerID)
	target, err := tunnelURL(c.URL, c.RunnerID)
	if err != nil {
		return err
	}
	defer c.setState(Stopped)
	defer c.awaitHandlers(log)
	past := attempts{outageSince: time.Now()}
	next := newSchedule(c.Timing.withDefaults())
	for ctx.Err() == nil {
		reason, up := c.connect(ctx, target, &past, log)
		if ctx.Err() != nil {
			break
		}
		if next.lived(up) {
			past.outageSince = time.Now()
		}
		class := classify(reason)
		if err := past.fatal(class, reason); err != nil {
			c.setReason(reason)
			return err
		}
		delay := next.delay(class, time.Since(past.outageSince))
		log.Warn("tunnel is down", "tunnel_gen", past.gen, "reason", reason.String(), "retry_in", delay.Round(time.Millisecond))
		c.setReason(reason)
		c.setState(BackingOff)
		pause(ctx, delay)
	}
	return nil
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// connect makes one connection and serves it until it ends. up is how long it
// was up.
func (c *Client) connect(ctx context.Context, target string, past *attempts, log *slog.Logger) (_ Reason, up time.Duration) {
	limits := c.Limits.withDefaults()
	l := newLink(c.RunnerID, limits, c.Timing.withDefaults(), true, log)
	c.setState(Dialing)
	answer, failed := c.dial(ctx, target, l)
	if failed.Cause != "" {
		return failed, 0
	}
	start := time.Now()
	past.gen++
	past.connected, past.refusals = true, 0
	l.log = log.With("tunnel_gen", past.gen)
	if c.OnUpgrade != nil {
		c.OnUpgrade()
	}
	c.setLink(l, past.gen, answer)
	c.setState(Greeting)
	reason := c.serve(ctx, newRunnerEnd(c, l, past.gen, limits))
	return reason, time.Since(start)
}

// serve runs one connection.
func (c *Client) serve(ctx context.Context, e *runnerEnd) Reason {
	l := e.link
	// Handlers outlive ctx for the time of the drain.
	conn, cancel := context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), generationKey, e.gen))
	defer cancel(nil)
	greeted := l.out.greet(c.hello())
	var running sync.WaitGroup
	running.Go(func() {
		select {
		case <-ctx.Done():
			c.setState(Draining)
			why := ""
			if errors.Is(context.Cause(ctx), ErrIdle) {
				why = ErrIdle.Error()
			}
			e.drain(cancel, why)
		case <-l.done:
		}
	})
	running.Go(func() {
		<-l.done
		cancel(l.lost(false))
		e.d.close(errShutdown)
		e.channels.closeAll(errTunnelAborted(), false)
	})
	running.Go(func() { c.up(conn, e, greeted) })
	reason := l.serve(c.clock, func(data []byte, _ bool) { e.handle(conn, data) })
	running.Wait()
	l.wait()
	return reason
}

// up tells that the connection serves, once the hello is written.
func (c *Client) up(conn context.Context, e *runnerEnd, greeted <-chan struct{}) {
	select {
	case <-greeted:
	case <-e.link.done:
		select {
		case <-greeted: // it was up, if only for a moment
		default:
			return
		}
	}
	c.setState(Serving)
	e.link.log.Info("tunnel is up")
	var up sync.WaitGroup
	if c.OnUp != nil {
		up.Go(func() { c.OnUp(conn, e.gen) })
	}
	<-e.link.done
	if c.OnDown != nil {
		c.OnDown(e.gen, e.link.why())
	}
	up.Wait()
}

// hello returns the first message of a connection.
func (c *Client) hello() Hello {
	h := Hello{}
	if c.Hello != nil {
		h = c.Hello()
	}
	h.FrameProtocolVersion = IntOf(ProtocolVersion)
	if h.ConnectionID == "" {
		var id [16]byte
		_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the program instead
		h.ConnectionID = hex.EncodeToString(id[:])
	}
	return h
}

// awaitHandlers waits for the handlers of all connections. Their contexts have
// ended, so one that stays is a bug of its author, named in the log.
func (c *Client) awaitHandlers(log *slog.Logger) {
	done := make(chan struct{})
	go func() {
		c.handlers.Wait()
		close(done)
	}()
	timer := time.NewTimer(c.Timing.withDefaults().HandlerExit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		log.Error("handlers do not return although their context ended")
	}
}

func orDiscard(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
