package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// Follower sends one message to a session and stays with its turn until that
// ends, over lost connections and restarts of the server. Use it from one
// goroutine; Close it.
type Follower struct {
	Client  *Client
	Session string
	// Item is the message to wait for. Send sets it; set it to wait for the
	// answer to an earlier one.
	Item string
	// Text gets the answer's text as it comes, each piece once. May be nil.
	Text func(string)
	// Event gets every event, as it comes and perhaps again after a lost
	// connection. May be nil.
	Event func(Event)
	// Notice gets a sentence when something makes the user wait, one at a
	// time, perhaps beside Text and Event. May be nil.
	Notice func(string)
	// Patience is how long to go on without a server; default 2 min.
	Patience time.Duration
	// Retry is the wait between two tries; default 0.5 s.
	Retry time.Duration
	// Quiet is how long nothing may begin before Notice is told who is away;
	// default 1 s.
	Quiet time.Duration

	noticing   sync.Mutex
	stream     *Stream
	last       string // id of the last stored event
	fresh      bool   // no event but heartbeats has come on this stream
	missed     bool   // a stream ended: the items say what may be missing
	lostAt     time.Time
	turn       turn
	transcript *transcript
	begun      func() // the turn gives signs of life
}

// Send opens the session's stream, waits until it lives, and posts the text.
// The message is stored once, however often the line breaks.
func (f *Follower) Send(ctx context.Context, text string) error {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	for {
		err := f.live(ctx)
		if err == nil {
			f.Item, err = f.Client.Post(ctx, f.Session, text, hex.EncodeToString(id[:]))
		}
		if err == nil {
			f.back()
			return nil
		}
		if err := f.lost(ctx, err); err != nil {
			return fmt.Errorf("sending the message: %w", err)
		}
	}
}

// live opens the stream if it is not, and waits for its first event.
func (f *Follower) live(ctx context.Context) error {
	if f.stream != nil {
		return nil
	}
	if f.last == "" && f.Item != "" {
		f.last = "0" // the turn may have begun long ago
	}
	stream, err := f.Client.Open(ctx, f.Session, f.last)
	if err != nil {
		return err
	}
	if _, err := stream.Next(); err != nil { // a heartbeat
		stream.Close()
		return err
	}
	f.stream, f.fresh = stream, true
	if f.last == "" {
		f.last = stream.At
	}
	return nil
}

// Wait stays until the turn of Item ends. The error is the context's, or wraps
// ErrUnreachable when patience is over, or is a StatusError that will not pass.
func (f *Follower) Wait(ctx context.Context) (End, error) {
	f.turn.item = f.Item
	f.transcript = newTranscript(func(text string) {
		if f.Text != nil && text != "" {
			f.Text(text)
		}
	})
	asking, begun := context.WithCancel(ctx)
	f.begun = begun
	var asker sync.WaitGroup
	asker.Go(func() { f.tellWhoIsAway(asking) })
	defer asker.Wait()
	defer begun()
	for {
		end, err := f.read(ctx)
		if err == nil {
			return end, nil
		}
		f.drop()
		if err := f.lost(ctx, err); err != nil {
			return End{}, fmt.Errorf("waiting for the answer: %w", err)
		}
	}
}

// Close ends the stream.
func (f *Follower) Close() { f.drop() }

func (f *Follower) drop() {
	if f.stream != nil {
		f.stream.Close()
		f.stream, f.missed = nil, true
	}
}

// read goes through one stream, to the turn's end or the stream's.
func (f *Follower) read(ctx context.Context) (End, error) {
	if err := f.live(ctx); err != nil {
		return End{}, err
	}
	f.back()
	if f.stream.Resync {
		if end, err := f.resync(ctx); end != nil || err != nil {
			return deref(end), err
		}
	}
	for {
		ev, err := f.stream.Next()
		if err != nil {
			return End{}, err
		}
		end, err := f.take(ev)
		if err != nil {
			return End{}, err
		}
		if end == nil {
			continue
		}
		if f.missed || !f.transcript.whole() {
			if err := f.fill(ctx, end.Response); err != nil {
				return End{}, err
			}
		}
		f.transcript.end()
		return *end, nil
	}
}

func (f *Follower) take(ev Event) (*End, error) {
	if ev.ID != "" {
		f.last = ev.ID
	}
	if ev.Type == "session.heartbeat" {
		return nil, nil
	}
	if f.Event != nil {
		f.Event(ev)
	}
	b, err := read(ev)
	if err != nil {
		return nil, fmt.Errorf("reading a %s event: %w", ev.Type, err)
	}
	first := f.fresh && ev.Type == "response.output_text.delta"
	f.fresh = f.fresh && ev.ID != "" // stored events are repeated before the text
	end := f.turn.take(ev, &b)
	if end != nil || f.turn.active {
		f.begun()
	}
	if end != nil {
		return end, nil
	}
	switch {
	case ev.Type == "response.output_item.done" && f.ofTurn(&b.Item):
		f.transcript.item(&b.Item)
	case ev.Type == "response.output_text.delta" && f.turn.active:
		id := ""
		if b.MessageID != nil {
			id = *b.MessageID
		}
		f.transcript.delta(id, b.Index, b.Delta, first)
	case ev.Type == "session.status" && b.Status == "failed" && b.Error != nil && b.Error.Code == "runner_disconnected":
		f.notice("the runner is gone; waiting for it to come back")
	}
	return nil, nil
}

// ofTurn reports whether an item is part of the answer.
func (f *Follower) ofTurn(i *Item) bool {
	if f.turn.response != "" && i.ResponseID != "" && !f.turn.guessed {
		return i.ResponseID == f.turn.response
	}
	return f.turn.active
}

func deref(end *End) End {
	if end == nil {
		return End{}
	}
	return *end
}
