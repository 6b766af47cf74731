package tunnel

import (
	"net/http"
	"strings"
	"time"
)

// State is where a Client is in its life.
type State int

// The states, in the order of a connection's life.
const (
	Dialing    State = iota // name, connection, TLS, upgrade
	Greeting                // upgraded; the hello is not written yet
	Serving                 // the hello is written
	Draining                // asked to stop; handlers finish
	BackingOff              // waiting before the next attempt
	Stopped                 // Run returned, or was not called
)

// String returns the state in lower case.
func (s State) String() string {
	switch s {
	case Dialing:
		return "dialing"
	case Greeting:
		return "greeting"
	case Serving:
		return "serving"
	case Draining:
		return "draining"
	case BackingOff:
		return "backing_off"
	}
	return "stopped"
}

// Status is a snapshot of a Client, for health and diagnostics.
type Status struct {
	State        State
	Generation   uint64        // of the current or last connection; 0 before the first
	Since        time.Time     // when State was entered
	LastInbound  time.Duration // age of the last byte read; 0 without a connection
	Connects     int           // accepted upgrades
	LastReason   Reason        // why the last connection or attempt ended
	Capabilities []string      // what the server listed in its upgrade answer
	Queue        QueueStatus
}

// QueueStatus tells how much waits to be written to the connection.
type QueueStatus struct {
	Bytes     int // now
	HighWater int // most since the connection began
	Window    int // bulk bytes allowed without a pong
	InFlight  int // bulk bytes under way without a pong
}

// Status reports the tunnel's present condition. It may be called at any time.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	if s.Since.IsZero() {
		s.State = Stopped
	}
	if c.link != nil {
		s.LastInbound = c.link.lastByte.load()
		s.Queue = c.link.out.status()
	}
	return s
}

// setState enters a state, and calls OnState in the order of the states.
func (c *Client) setState(s State) {
	c.stateOrder.Lock()
	defer c.stateOrder.Unlock()
	c.mu.Lock()
	late := s == Serving && c.status.State != Greeting // already draining
	if !late {
		c.status.State, c.status.Since = s, time.Now()
	}
	if s == BackingOff || s == Stopped {
		c.link = nil
	}
	c.mu.Unlock()
	if c.OnState != nil && !late {
		c.OnState(s)
	}
}

func (c *Client) setReason(r Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.LastReason = r
}

// setLink takes note of an accepted upgrade.
func (c *Client) setLink(l *link, gen uint64, answer http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = l
	c.status.Generation = gen
	c.status.Connects++
	c.status.Capabilities = nil
	for name := range strings.SplitSeq(answer.Get(capabilityHeader), ",") {
		if name = strings.TrimSpace(name); name != "" {
			c.status.Capabilities = append(c.status.Capabilities, name)
		}
	}
}
