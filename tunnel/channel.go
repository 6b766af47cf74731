package tunnel

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"
)

// Message is one WebSocket message of a channel.
type Message struct {
	Data []byte
	Text bool // valid UTF-8; otherwise it is sent as binary
}

// MaxChannelMessage is the largest message Write takes, in bytes.
const MaxChannelMessage = 1 << 20

// ChannelHandler serves the channels that the server opens to the runner
// (tunnel.md 8), such as an attached terminal.
type ChannelHandler interface {
	// ServeChannel runs in a goroutine of its own. ctx ends with the tunnel.
	// When it returns, the channel is closed with 1000 if it still is open.
	ServeChannel(ctx context.Context, ch *Channel)
}

// Channel is a pair of message streams, server to runner and back. Reading and
// writing may go on at the same time.
type Channel struct {
	Path  string // decoded
	Query string // raw

	id   string
	link *link
	set  *channelSet
	in   *inbox[Message]

	mu     sync.Mutex
	out    outStream
	closed error // what Write answers; nil while it is open
}

// Read returns the next message. It fails with a *ChannelError once the peer
// has closed, behind the last message, or with the context's cause.
func (c *Channel) Read(ctx context.Context) (Message, error) { return c.in.take(ctx) }

// Write sends a message. It blocks while the channel is over its bound, and
// fails with a *ChannelError once either side has closed.
func (c *Channel) Write(ctx context.Context, m Message) error {
	if len(m.Data) > MaxChannelMessage {
		return fmt.Errorf("writing to a channel: message of %d bytes is over the limit of %d", len(m.Data), MaxChannelMessage)
	}
	c.mu.Lock()
	err := c.closed
	c.mu.Unlock()
	if err != nil {
		return err
	}
	f := WSFrame{ChID: c.id, Data: string(m.Data), Encoding: EncodingUTF8}
	if !m.Text || !utf8.Valid(m.Data) {
		f.Data, f.Encoding = base64.StdEncoding.EncodeToString(m.Data), EncodingBase64
	}
	err = c.link.out.push(ctx, &c.out, f)
	if errors.Is(err, errDead) || errors.Is(err, errAborted) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed == nil {
			return errTunnelAborted()
		}
		return c.closed
	}
	return err
}

// Close closes the channel behind what was written. Only the first Close, of
// either side, counts. The reason is at most 123 bytes, a longer one is cut.
func (c *Channel) Close(code int, reason string) {
	c.closeWith(&ChannelError{Code: code, Reason: closeText(reason)}, true)
}

// closeWith ends the channel here, and tells the peer unless it knows.
func (c *Channel) closeWith(why *ChannelError, tell bool) {
	c.mu.Lock()
	first := c.closed == nil
	if first {
		c.closed = why
	}
	c.mu.Unlock()
	if !first {
		return
	}
	c.set.remove(c)
	if tell {
		c.in.drop(why) // before the peer can know
		c.link.out.put(&c.out, WSClose{ChID: c.id, Code: IntOf(int64(why.Code)), Reason: why.Reason})
		return
	}
	c.link.out.abort(&c.out) // the peer takes nothing any more
	c.in.end(why)
}

// errTunnelAborted is how a channel ends with its tunnel (tunnel.md 8).
func errTunnelAborted() *ChannelError { return &ChannelError{Code: 1006, Reason: "tunnel aborted"} }

// channelSet holds the open channels of a link.
type channelSet struct {
	link    *link
	limit   int // bytes that may wait in one
	total   *budget
	relieve func() // makes room when the total is spent

	mu     sync.Mutex
	open   map[string]*Channel
	max    int
	closed bool
}

func newChannelSet(l *link, limits Limits, total *budget, relieve func()) *channelSet {
	return &channelSet{
		link: l, limit: limits.ReceiveStream / 4, total: total, relieve: relieve,
		open: map[string]*Channel{}, max: limits.Open,
	}
}

// add opens a channel. It fails for an id in use or too many of them.
func (s *channelSet) add(id, path, query string) (*Channel, verdict) {
	c := &Channel{Path: path, Query: query, id: id, link: s.link, set: s, in: newInbox[Message](s.limit, s.total)}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.open[id] != nil:
		return nil, duplicate
	case s.closed || len(s.open) >= s.max:
		return nil, overloaded
	}
	s.open[id] = c
	return c, accepted
}

func (s *channelSet) get(id string) *Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

// remove is by identity: a later channel may have the same id.
func (s *channelSet) remove(c *Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[c.id] == c {
		delete(s.open, c.id)
	}
}

// frame delivers a message of the peer. A channel whose reader is too slow is
// closed; nobody else notices.
func (s *channelSet) frame(f WSFrame) {
	c := s.get(f.ChID)
	if c == nil {
		return
	}
	data, text, err := DecodeChannel(f.Data, f.Encoding)
	if err != nil {
		s.link.log.Warn("channel frame dropped", "channel", f.ChID, "err", err)
		return
	}
	m := Message{Data: data, Text: text}
	fit := c.in.put(m, len(data))
	if fit == overTotal {
		s.relieve()
		fit = c.in.put(m, len(data))
	}
	if fit != fits {
		c.overflow()
	}
}

// receivers lists the open channels.
func (s *channelSet) receivers() []receiver {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]receiver, 0, len(s.open))
	for _, c := range s.open {
		all = append(all, c)
	}
	return all
}

// held and overflow make it a receiver.
func (c *Channel) held() int { return c.in.held() }
func (c *Channel) overflow() {
	c.link.log.Warn("channel closed: its reader is too slow", "channel", c.id, "path", c.Path)
	c.Close(closeTryLater, "channel overflow")
}

// peerClosed ends a channel that the peer closed, behind its last message.
func (s *channelSet) peerClosed(f WSClose) {
	c := s.get(f.ChID)
	if c == nil {
		return
	}
	code, _ := f.Code.Int64()
	c.closeWith(&ChannelError{Code: int(code), Reason: f.Reason}, false)
}

// closeAll ends every channel when the link is over, or with a ws.close before.
func (s *channelSet) closeAll(why *ChannelError, tell bool) {
	s.mu.Lock()
	s.closed = true
	all := make([]*Channel, 0, len(s.open))
	for _, c := range s.open {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.closeWith(why, tell)
	}
}
