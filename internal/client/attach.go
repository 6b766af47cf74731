package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

const (
	// dialTimeout bounds the upgrade: the server may wait for the runner.
	dialTimeout = 20 * time.Second
	// silence is how long the server may say nothing; it pings each 30 s.
	silence = 90 * time.Second
	// leaveTimeout bounds the good-bye to the server.
	leaveTimeout = time.Second
	// steady is how long a connection must have lived to end an outage.
	steady = 30 * time.Second
	// attachTries is how often it is dialed in one outage.
	attachTries = 15
	// sendTimeout bounds the sending of one message.
	sendTimeout = 30 * time.Second
)

// attachDelays are the waits before dialing again; the last one repeats
// (terminals.md 3.4).
func attachDelays() []time.Duration {
	return []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second, 30 * time.Second}
}

// Attach joins a terminal of a session's to the caller's screen and keyboard,
// over cuts. What is typed while there is no connection is sent later; what was
// on its way when one was cut may be lost, and is never sent twice.
type Attach struct {
	Client   *Client
	Session  string
	Terminal string // its id
	ReadOnly bool

	// Screen gets what the terminal shows.
	Screen io.Writer
	// Fresh is called before the first output of a connection but the first:
	// the screen is then painted from nothing. nil = nothing to do.
	Fresh func()
	// Size is the screen's size; it is asked for at each connection and each
	// time that Resized has something.
	Size    func() (cols, rows int)
	Resized <-chan struct{}
	// Notice tells of the connection. nil = nobody wants to know.
	Notice func(string)
	// Panicking is called before a panic ends the program. nil = nothing to do.
	Panicking func()
	// Delays are the waits before dialing again. Default: 0.5 s to 30 s.
	Delays []time.Duration

	once    sync.Once
	typed   *typed
	typedAt atomic.Int64 // unix nanoseconds
	heard   atomic.Int64 // when the server last said anything
	fresh   bool         // the next output begins a new screen
}

// AttachEnd is how an attach ended: the server's close code and reason.
type AttachEnd struct {
	Code   int
	Reason string
}

func (a *Attach) init() { a.once.Do(func() { a.typed = newTyped() }) }

// Type sends what the user typed. It waits while too much is on its way.
func (a *Attach) Type(ctx context.Context, p []byte) {
	a.init()
	if a.ReadOnly {
		return
	}
	a.typedAt.Store(time.Now().UnixNano())
	a.typed.add(ctx, p)
}

// Run carries until the terminal ends or ctx does. A server that cannot be
// reached at all is ErrUnreachable, and so is one that stays away.
func (a *Attach) Run(ctx context.Context) (AttachEnd, error) {
	a.init()
	delays := a.Delays
	if len(delays) == 0 {
		delays = attachDelays()
	}
	connected, tries, told := false, 0, false
	for {
		ws, err := a.dial(ctx)
		if err == nil {
			connected = true
			began := time.Now()
			if told {
				a.notice("connected again")
				told = false
			}
			var end AttachEnd
			end, err = a.carry(ctx, ws)
			if err == nil && ctx.Err() == nil {
				return end, nil
			}
			if time.Since(began) >= steady {
				tries = 0
			}
			a.fresh = true
		}
		switch {
		case ctx.Err() != nil:
			return AttachEnd{}, context.Cause(ctx)
		case !connected && !errors.Is(err, errComeBack), !mayPass(err) && !errors.Is(err, errComeBack):
			return AttachEnd{}, err
		case tries == attachTries:
			return AttachEnd{}, errors.Join(fmt.Errorf("%w after %d tries", ErrUnreachable, tries), err)
		}
		if !told {
			told = true
			a.notice(fmt.Sprintf("the connection is lost, trying again: %v", err))
		}
		if err := pause(ctx, delays[min(tries, len(delays)-1)]); err != nil {
			return AttachEnd{}, err
		}
		tries++
	}
}

// errComeBack marks the end of a connection after which another may live.
var errComeBack = errors.New("disconnected")

// comesBack says whether a close code is one that a client dials again after
// (terminals.md 3.4).
func comesBack(code int) bool {
	switch code {
	case 1001, 1005, 1006, 1011, 1012, 1013, 1014:
		return true
	}
	return false
}

func (a *Attach) dial(ctx context.Context) (*websocket.Conn, error) {
	c := a.Client
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	header := http.Header{}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	ws, response, err := websocket.Dial(ctx, //nolint:bodyclose // the library has closed what it leaves of it
		c.base.String()+attachPath(a.Session, a.Terminal, a.ReadOnly), &websocket.DialOptions{
			HTTPClient: c.sockets, HTTPHeader: header, CompressionMode: websocket.CompressionDisabled,
			OnPingReceived: func(context.Context, []byte) bool { a.hear(); return true },
		})
	switch {
	case err == nil:
		ws.SetReadLimit(-1) // the server cuts what it sends
		return ws, nil
	case response != nil && response.StatusCode != http.StatusSwitchingProtocols:
		return nil, c.refusal(response)
	}
	return nil, fmt.Errorf("%w at %s: %w", ErrUnreachable, c.base.String(), bare(err))
}

func (a *Attach) hear() { a.heard.Store(time.Now().UnixNano()) }

func (a *Attach) notice(text string) {
	if a.Notice != nil {
		a.Notice(text)
	}
}
