package terminal

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// Why an attach ended (terminals.md 3.4). The browser dials again after 1001 and
// 1013, and never after 4404.
var (
	detachedMissing = wire.Detached{Code: 4404, Reason: "terminal resource not found or not running"}
	detachedEnded   = wire.Detached{Code: 4404, Reason: "terminal session ended"}
	detachedByUser  = wire.Detached{Code: 1000}
	detachedStop    = wire.Detached{Code: 1001, Reason: "runner shutdown"}
	detachedSlow    = wire.Detached{Code: 1013, Reason: "viewer too slow"}
)

var (
	errViewerLeft = errors.New("the viewer has gone")
	errStuck      = errors.New("the viewer takes nothing")
	errFlushed    = errors.New("the terminal has ended")
)

// message is one message to a viewer.
type message struct {
	data []byte
	text bool
}

// A viewer is one end of an attached terminal. Its queue is filled by the
// terminal's reader, which never waits, and emptied by its own goroutine. Fields
// under the line belong to the terminal's lock.
type viewer struct {
	t        *terminal
	port     wire.Viewer
	readOnly bool
	wake     chan struct{}
	told     chan struct{} // closed when the viewer has told its size
	speed    int           // bytes a second that it takes; its writer's own

	// ---
	joined   bool
	queue    []message
	queued   int
	behind   bool      // what it missed is to be made good by a picture
	partial  bool      // the last picture was not a full one
	overflow time.Time // when it last missed something
	cols     int       // its own size, when it told it
	rows     int
	sized    <-chan struct{} // closed when the terminal has followed
	typed    time.Time       // when it last typed
	active   time.Time       // when it last did anything
	count    *typist         // of what it has typed, if it has said who it is
	owed     bool            // it is to be told the count
}

// add puts what was printed into the queue. A viewer that is too far behind
// misses it, and is painted the screen instead (T6).
func (v *viewer) add(m message) {
	if !v.joined || v.behind || len(m.data) == 0 {
		return
	}
	if v.queued+len(m.data) > maxQueue {
		v.fallBehind()
		return
	}
	v.queued += len(m.data)
	if last := len(v.queue) - 1; last >= 0 && !m.text && !v.queue[last].text && len(v.queue[last].data)+len(m.data) <= maxFrame {
		v.queue[last].data = append(v.queue[last].data, m.data...)
	} else {
		v.queue = append(v.queue, message{data: append([]byte(nil), m.data...), text: m.text})
	}
	signal(v.wake)
}

// addAlways is add for what no picture has; the terminal itself bounds it.
func (v *viewer) addAlways(m message) {
	v.queue = append(v.queue, m)
	v.queued += len(m.data)
	signal(v.wake)
}

// fallBehind forgets the queue. The picture that comes instead has the size too.
func (v *viewer) fallBehind() {
	v.queue, v.queued = nil, 0
	v.behind, v.overflow = true, v.t.now()
	signal(v.wake)
}

// take returns the next messages, how many bytes of them count for the pace, and
// how long to wait for a full picture when there is none; it is called without
// the lock.
func (v *viewer) take() (next []message, paced bool, wait time.Duration) {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if owed := v.owes(); owed != nil {
		return owed, false, 0
	}
	switch {
	case v.behind:
		v.behind, v.partial = false, true
		v.queue, v.queued = nil, 0
		return t.paint(patchLines, v.afford(time.Second, maxPatch)), true, 0
	case len(v.queue) > 0:
		m := v.queue[0]
		v.queue = v.queue[1:]
		v.queued -= len(m.data)
		return []message{m}, true, 0
	case v.partial:
		if quiet := t.now().Sub(v.overflow); quiet < t.lim.settle && t.state == running {
			return nil, false, t.lim.settle - quiet
		}
		v.partial = false
		return t.paint(seedLines, v.afford(2*time.Second, maxSeed)), false, 0
	}
	return nil, false, 0
}

// afford is how much a viewer takes within a time.
func (v *viewer) afford(within time.Duration, most int) int {
	const least = 16 << 10
	return min(max(int(float64(v.speed)*within.Seconds()), least), most)
}

// join paints the first picture; from here on the viewer is in the stream. Both
// happen at once, so nothing is missing or comes twice (T1). A history that takes
// long to send comes a little later, by itself (T24).
func (v *viewer) join() []message {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	v.joined, v.overflow = true, t.now()
	all := t.paint(seedLines, maxSeed)
	if size(all) > maxPatch {
		v.partial = true
		all = t.paint(patchLines, maxPatch)
	}
	return append(v.owes(), all...)
}

func size(messages []message) int {
	n := 0
	for _, m := range messages {
		n += len(m.data)
	}
	return n
}

// serve carries a viewer until it or the terminal ends.
func (v *viewer) serve(parent context.Context) wire.Detached {
	ctx, cancel := context.WithCancelCause(parent)
	var helpers sync.WaitGroup
	helpers.Go(func() {
		v.read(ctx)
		cancel(errViewerLeft)
	})
	helpers.Go(func() { v.limitFlush(ctx, cancel) })
	err := v.write(ctx)
	cancel(err)
	helpers.Wait()
	switch {
	case parent.Err() != nil:
		return detachedStop
	case errors.Is(err, errViewerLeft):
		return detachedByUser
	case errors.Is(err, errStuck):
		return detachedSlow
	case errors.Is(err, errFlushed):
		return v.t.verdict()
	}
	return detachedByUser // it cannot be written to
}

// limitFlush ends a viewer that takes too long for the last of a terminal that
// has ended.
func (v *viewer) limitFlush(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case <-ctx.Done():
		return
	case <-v.t.over:
	}
	limit := time.NewTimer(v.t.lim.flush)
	defer limit.Stop()
	select {
	case <-ctx.Done():
	case <-limit.C:
		cancel(errFlushed)
	}
}

// write sends the picture and then the stream. It always fails.
func (v *viewer) write(ctx context.Context) error {
	v.awaitSize(ctx)
	if err := v.send(ctx, v.join()); err != nil {
		return err
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	over := v.t.over
	for {
		next, paced, wait := v.take()
		if len(next) == 0 {
			if over == nil {
				return errFlushed
			}
			var due <-chan time.Time
			if wait > 0 {
				pause.Reset(wait)
				due = pause.C
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-v.wake:
			case <-due:
			case <-over:
				over = nil // what is queued still goes out
			}
			continue
		}
		if err := v.send(ctx, next); err != nil {
			return err
		}
		// A key's echo goes at once. A flood goes in large messages, no faster than
		// a tunnel can bear beside others (T7).
		if rest := time.Duration(size(next)) * time.Second / time.Duration(v.t.lim.rate); paced && rest >= time.Millisecond && over != nil {
			pause.Reset(rest)
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-pause.C:
			}
		}
	}
}

// awaitSize gives the viewer a moment to tell its size, and the program to have
// it, so that the first picture is of that size (T3).
func (v *viewer) awaitSize(ctx context.Context) {
	limit := time.NewTimer(v.t.lim.firstResize)
	defer limit.Stop()
	select {
	case <-v.told:
	case <-limit.C:
		return
	case <-ctx.Done():
		return
	case <-v.t.over:
		return
	}
	v.t.mu.Lock()
	sized := v.sized
	v.t.mu.Unlock()
	select {
	case <-sized:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// send writes messages, in pieces of a frame. The viewer is closed alone when it
// takes nothing for long.
func (v *viewer) send(ctx context.Context, messages []message) error {
	for _, m := range messages {
		for first := true; first || len(m.data) > 0; first = false {
			piece := m.data
			if !m.text && len(piece) > maxFrame {
				piece = piece[:maxFrame]
			}
			m.data = m.data[len(piece):]
			if err := v.sendOne(ctx, message{data: piece, text: m.text}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *viewer) sendOne(ctx context.Context, m message) error {
	limited, cancel := context.WithTimeoutCause(ctx, v.t.lim.stuck, errStuck)
	defer cancel()
	began := time.Now()
	if err := v.port.Write(limited, m.data, m.text); err != nil {
		if limited.Err() != nil {
			return context.Cause(limited)
		}
		return errViewerLeft
	}
	if took := time.Since(began); len(m.data) >= 4<<10 {
		measured := int(float64(len(m.data)) / max(took.Seconds(), 1e-6))
		v.speed = (v.speed + min(measured, maxSpeed)) / 2
	}
	return nil
}

// maxSpeed is what a viewer is thought to take until it was measured.
const maxSpeed = 64 << 20

// clipboardMessage asks a browser to fill its clipboard (terminals.md 3.2).
func clipboardMessage(data []byte) message {
	text, err := json.Marshal(struct {
		Type     string `json:"type"`
		Encoding string `json:"encoding"`
		Data     string `json:"data"`
	}{"clipboard-write", "base64", base64.StdEncoding.EncodeToString(data)})
	if err != nil {
		panic(err) // three strings
	}
	return message{data: text, text: true}
}

// read takes what the viewer sends.
func (v *viewer) read(ctx context.Context) {
	for {
		data, text, err := v.port.Read(ctx)
		if err != nil {
			return
		}
		if text {
			v.t.heard(v, data)
			continue
		}
		// No byte of a viewer that only reads gets any further (T11).
		if v.readOnly || len(data) == 0 {
			continue
		}
		if !v.t.typedBy(v, data) {
			return
		}
		if v.t.typing.put(ctx, keystroke{data: data}) != nil {
			v.t.notTyped(v, data)
			return
		}
	}
}
