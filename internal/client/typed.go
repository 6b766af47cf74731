package client

import (
	"context"
	"sync"
)

const (
	// maxTyped bounds what waits to be sent, in bytes; then typing waits.
	maxTyped = 1 << 20
	// typedPiece is how much goes in one message. The library answers pings
	// between two, so a slow line must not need long for one.
	typedPiece = 4 << 10
)

// typed is what was typed and not sent yet. It outlives connections.
type typed struct {
	mu    sync.Mutex
	bytes []byte
	more  chan struct{} // has a token when there may be something to send
	room  chan struct{} // has a token when there may be room
}

func newTyped() *typed {
	return &typed{more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// add waits for room, or for ctx.
func (t *typed) add(ctx context.Context, p []byte) {
	for len(p) > 0 {
		t.mu.Lock()
		n := min(len(p), maxTyped-len(t.bytes))
		t.bytes = append(t.bytes, p[:n]...)
		p = p[n:]
		t.mu.Unlock()
		token(t.more)
		if len(p) == 0 {
			return
		}
		select {
		case <-t.room:
		case <-ctx.Done():
			return
		}
	}
}

// next is what goes in the next message, nil for nothing. It stays until sent.
func (t *typed) next() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.bytes[:min(len(t.bytes), typedPiece)]...)
}

// sent takes away what went out.
func (t *typed) sent(n int) {
	t.mu.Lock()
	t.bytes = t.bytes[n:]
	if len(t.bytes) == 0 {
		t.bytes = nil
	}
	t.mu.Unlock()
	token(t.room)
}

func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
