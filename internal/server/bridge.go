package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/outrunner/outrunner/tunnel"
)

const (
	// maxTyped bounds one message of a browser, in bytes: a paste is one.
	maxTyped = 8 << 20
	// maxControl bounds a control message, in bytes.
	maxControl = 64 << 10
	// bridgePiece is how much of either direction goes in one message. Pings
	// and pongs of a slow link get their turn between two.
	bridgePiece = 32 << 10
	// takenEvery is how much a browser takes before the runner hears of it, in
	// bytes.
	takenEvery = 64 << 10
)

// bridge joins a browser's socket to a channel of the runner. It holds one
// message of each direction; behind that a slow browser holds up the channel,
// whose queue is bounded and ends with it.
//
// A runner of ours knows better: after each takenEvery bytes it is told how many
// of them the browser took ({"type":"taken","bytes":n}, and once at the start),
// so it can stop sending and show the newest screen later instead. Runners that
// do not know the word ignore it, as the protocol says.
type bridge struct {
	*socket
	channel  *tunnel.Channel
	readOnly bool
	stopping func() bool

	taken, told int // bytes; of the outgoing goroutine
}

// run carries until one side ends or ctx does, and closes both.
func (b *bridge) run(ctx context.Context) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	b.tellTaken(ctx) // before anything that is typed
	var running sync.WaitGroup
	running.Go(func() { end(b.out(ctx)) })
	running.Go(func() {
		if !b.keepAlive(ctx) {
			end(&ended{closeTryAgain, "the browser is silent"})
		}
	})
	incoming := make(chan struct{})
	go func() { // ends with the socket
		defer close(incoming)
		end(b.in(ctx))
	}()
	<-ctx.Done()
	why := &ended{closeStopping, "server restarts"}
	_ = errors.As(context.Cause(ctx), &why) // or it stays
	b.channel.Close(int(closeNormal), "")
	b.end(why.code, why.reason)
	running.Wait()
	<-incoming
}

// out carries what the terminal shows.
func (b *bridge) out(ctx context.Context) *ended {
	for {
		m, err := b.channel.Read(ctx)
		if err != nil {
			return b.lost(err)
		}
		for _, piece := range pieces(m) {
			if err := b.write(piece, m.Text); err != nil {
				return &ended{closeTryAgain, "the browser is too slow"}
			}
		}
		b.taken += len(m.Data)
		if b.taken-b.told >= takenEvery {
			b.tellTaken(ctx)
		}
	}
}

// tellTaken tells the runner. If that fails the channel is over, which its
// reader learns behind the last output.
func (b *bridge) tellTaken(ctx context.Context) {
	b.told = b.taken
	_ = b.channel.Write(ctx, tunnel.Message{Data: []byte(`{"type":"taken","bytes":` + strconv.Itoa(b.taken) + `}`), Text: true})
}

// in carries what the browser types. Reading goes on until the socket ends: it
// is what sees pongs and the browser's leaving. That the runner takes no more is
// for out to tell, behind the last output.
func (b *bridge) in(ctx context.Context) *ended {
	for {
		data, text, err := b.read()
		if err != nil {
			if websocket.CloseStatus(err) == -1 {
				return &ended{closeNormal, "the browser went away"}
			}
			return &ended{closeNormal, ""}
		}
		m := tunnel.Message{Data: data, Text: text}
		switch {
		case text && (len(data) > maxControl || !utf8.Valid(data)):
			continue // the tunnel would make keys of what is no text
		case !text && b.readOnly:
			continue
		}
		for _, piece := range pieces(m) {
			if b.channel.Write(ctx, tunnel.Message{Data: piece, Text: text}) != nil {
				break
			}
		}
	}
}

// pieces cuts bytes; a text stays whole.
func pieces(m tunnel.Message) [][]byte {
	if m.Text || len(m.Data) <= bridgePiece {
		return [][]byte{m.Data}
	}
	var out [][]byte
	for rest := m.Data; len(rest) > 0; {
		n := min(len(rest), bridgePiece)
		out, rest = append(out, rest[:n]), rest[n:]
	}
	return out
}

// lost is how the browser learns that the channel is over: the runner's own
// code, unless the tunnel was cut.
func (b *bridge) lost(err error) *ended {
	var e *tunnel.ChannelError
	switch {
	case b.stopping():
		return &ended{closeStopping, "server restarts"}
	case !errors.As(err, &e):
		return &ended{closeTryAgain, "the channel to the runner failed"}
	case e.Code == 1006:
		return &ended{closeTryAgain, "the runner's connection was lost"}
	case sendable(e.Code):
		return &ended{websocket.StatusCode(e.Code), e.Reason}
	}
	return &ended{closeFailed, fmt.Sprintf("the runner closed with code %d", e.Code)}
}

// sendable says whether a code may be in a close frame.
func sendable(code int) bool {
	switch {
	case code == 1004 || code == 1005 || code == 1006:
		return false
	case code >= 1000 && code <= 1014:
		return true
	}
	return code >= 3000 && code <= 4999
}
