package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

// The size of a segment in bytes: from the first it closes at the next line
// border, at the second wherever it stands.
const (
	segmentSize = 16 << 10
	segmentMax  = 64 << 10
)

// errNotCurrent ends the program of a turn that holds its session's slot no more.
var errNotCurrent = errors.New("the turn is not current any more")

// pump reads the frames of one turn. Text goes to the outlet at once, as
// previews, and is gathered into segments; each closed segment and every other
// frame is an event, and the pump reads on only when the core says so. It
// decides nothing.
type pump struct {
	d      *driver
	start  wire.TurnStart
	out    *outlet
	gate   chan core.Advance  // one entry per event posted
	cancel context.CancelFunc // ends the program
	killed <-chan struct{}    // closed when it was ended so, or the runner stops
	gone   <-chan struct{}    // closed when the runner stops
	ready  chan struct{}      // closed when the program is started, or will not be

	mu    sync.Mutex
	n     int // pieces closed
	text  strings.Builder
	index int // deltas sent of the open segment
	since time.Time
	timer *time.Timer
	over  bool
}

// pumps are the turns in progress, by turn id.
type pumps struct {
	mu     sync.Mutex
	byTurn map[string]*pump
}

func (d *driver) startTurn(work context.Context, start wire.TurnStart) {
	ctx, cancel := context.WithCancel(work)
	p := &pump{
		d: d, start: start, out: d.outlets.of(start.Session), gate: make(chan core.Advance, 1),
		cancel: cancel, killed: ctx.Done(), gone: work.Done(), ready: make(chan struct{}),
	}
	p.out.begin(start.Turn)
	d.pumps.mu.Lock()
	if d.pumps.byTurn == nil {
		d.pumps.byTurn = map[string]*pump{}
	}
	d.pumps.byTurn[start.Turn] = p
	d.pumps.mu.Unlock()
	d.running.Go(func() { p.run(ctx) })
}

func (ps *pumps) get(turn string) *pump {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.byTurn[turn]
}

func (ps *pumps) drop(turn string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.byTurn, turn)
}

func (ps *pumps) advance(e core.Advance) {
	if p := ps.get(e.Turn); p != nil {
		p.gate <- e // has room: one answer per event
	}
}

// kill ends the programs of a session at once, also those that are just about
// to start.
func (ps *pumps) kill(session string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.byTurn {
		if p.start.Session == session {
			p.cancel()
		}
	}
}

// flushWait is how long a stopping runner waits for the journal to take what
// programs have written.
const flushWait = 2 * time.Second

// flush closes the open segments of all turns.
func (d *driver) flush(work context.Context) {
	ctx, cancel := context.WithTimeout(work, flushWait)
	defer cancel()
	d.pumps.mu.Lock()
	all := slices.Collect(maps.Values(d.pumps.byTurn))
	d.pumps.mu.Unlock()
	done := make(chan struct{}, len(all))
	for _, p := range all {
		d.running.Go(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if err := p.closeSegment(); err != nil {
				p.d.log.Debug("the last text of a turn has no taker", "turn", p.start.Turn, "error", err)
			}
			done <- struct{}{}
		})
	}
	for range all {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// run reports the turn's end exactly once, whatever happens.
func (p *pump) run(ctx context.Context) {
	end := wire.TurnEnd{}
	ready := sync.OnceFunc(func() { close(p.ready) })
	defer func() {
		ready()
		if r := recover(); r != nil {
			p.d.log.Error("a turn panicked", "turn", p.start.Turn, "panic", r, "stack", string(debug.Stack()))
			end = failed(wire.CodeInternal, fmt.Sprintf("The runner failed while it ran this turn: %v", r))
		}
		p.finish()
		p.cancel()
		p.d.pumps.drop(p.start.Turn)
		select {
		case <-p.gone:
			return // the turn stays open in the journal, for the next start
		default:
		}
		p.d.r.loop.answer(core.TurnEnded{Session: p.start.Session, Turn: p.start.Turn, N: p.n, End: end})
	}()
	start := p.start // others read that one
	if traits, _ := p.d.r.cfg.Harness.Traits(start.Harness); traits.History {
		var err error
		if start, err = p.d.history(ctx, start); err != nil {
			end = failed(wire.CodeInternal, fmt.Sprintf("The program was not started: %v. Send the message again when the server is well.", err))
			return
		}
	}
	ready()
	end = p.d.r.cfg.Harness.Turn(ctx, start, p.emit)
}
func failed(code, msg string) wire.TurnEnd {
	return wire.TurnEnd{Outcome: wire.Failed, Error: &wire.TurnError{Code: code, Message: msg}}
}

// emit takes one frame of the program; an error means that nobody wants more.
func (p *pump) emit(ev wire.HarnessEvent) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev.Type {
	case wire.TextDelta:
		return p.addText(ev.Delta)
	case wire.ReasoningDelta:
		p.out.delta(p.start.Turn, ev.Type, p.messageID()+":reasoning", 0, ev.Delta)
		return nil
	case wire.HeartbeatEvent:
		return nil // the stream has its own
	}
	if err := p.closeSegment(); err != nil {
		return err
	}
	return p.post(core.Frame{Item: ev.Item, Ask: ev.Ask, Native: ev.Native, Consumed: ev.Consumed, Policy: ev.Policy})
}

// addText gathers text, cutting at a line border where the segment is old or
// long enough.
func (p *pump) addText(text string) error {
	for len(text) > 0 {
		cut := len(text)
		due := p.due(cut)
		if due {
			if at := strings.LastIndexAny(text, "\n\r"); at >= 0 {
				cut = at + 1
			} else {
				due = p.text.Len()+cut >= segmentMax
			}
		}
		p.gather(text[:cut])
		text = text[cut:]
		if due {
			if err := p.closeSegment(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pump) due(more int) bool {
	return p.text.Len()+more >= segmentSize || p.text.Len() > 0 && time.Since(p.since) >= p.d.r.timing.SegmentAge
}

func (p *pump) gather(text string) {
	if p.text.Len() == 0 {
		p.since = time.Now()
		p.arm()
	}
	p.text.WriteString(text)
	p.out.delta(p.start.Turn, wire.TextDelta, p.messageID(), p.index, text)
	p.index++
}

// arm sees to it that a segment is closed when it is old enough even if the
// program is silent.
func (p *pump) arm() {
	if p.timer == nil {
		p.timer = time.AfterFunc(p.d.r.timing.SegmentAge, p.ripe)
		return
	}
	p.timer.Reset(p.d.r.timing.SegmentAge)
}

func (p *pump) ripe() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || !p.due(0) {
		return
	}
	if text := p.text.String(); text[len(text)-1] == '\n' || text[len(text)-1] == '\r' {
		// An error means that the turn is over; emit will say so.
		_ = p.closeSegment()
	}
}

func (p *pump) messageID() string { return fmt.Sprintf("%s:%d", p.start.Turn, p.n) }

func (p *pump) closeSegment() error {
	if p.text.Len() == 0 {
		return nil
	}
	text := p.text.String()
	p.text.Reset()
	p.index = 0
	return p.post(core.Frame{Text: text})
}

// post hands a piece to the core and waits until it may go on. A program that
// was ended waits for nothing: its last pieces are journaled all the same.
func (p *pump) post(f core.Frame) error {
	f.Session, f.Turn, f.N = p.start.Session, p.start.Turn, p.n
	if f.Text != "" || f.Item != nil {
		p.n++ // a piece of what the turn said
	}
	p.d.r.loop.answer(f)
	select {
	case a := <-p.gate:
		if a.Stop {
			return errNotCurrent
		}
		return nil
	case <-p.killed:
		return context.Canceled
	}
}

// finish closes what is left of the text.
func (p *pump) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
	if err := p.closeSegment(); err != nil {
		p.d.log.Debug("the last text of a turn has no taker", "turn", p.start.Turn, "error", err)
	}
}
