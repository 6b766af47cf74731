package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// A parent that is at rest is told that results wait, by a message to its
// session (subagents-catchup.md 7). One such post is open per parent at most,
// and only its own end ends it.

// PostWake asks for WakePosted: a notice to a parent, tried a few times.
type PostWake struct {
	Session string
	Life    uint64
	Text    string
}

// WakePosted answers PostWake.
type WakePosted struct {
	Session string
	Life    uint64
	Err     error // it was given up
}

func (PostWake) effect()  {}
func (WakePosted) event() {}

// waking is the wake state of a parent.
type waking struct {
	posting  bool   // a post is open
	flag     bool   // a wake is out and no turn of the parent has begun since
	stranded bool   // the last post failed for good
	again    bool   // a result came while a post was open that its text does not count
	lastText string // the last recovery notice that was delivered in this episode
	text     string // of the open post, if it is a recovery notice
	heard    heard  // what turns have let wait that were told of it
	mourned  string // the work of which the conversation says that it waits unheard
}

// heard is how often a parent was told, and has read nothing since.
type heard int

const (
	readSince heard = iota
	toldOnce
	toldTwice
)

// unreadPause is how long a parent may leave unread what it was told of before
// it is told once more, in milliseconds.
const unreadPause = 30_000

// wakeRetries are the pauses of the stranded after a reconnect, in milliseconds.
var wakeRetries = []int64{2000, 5000, 10_000, 30_000}

// wake tells a parent of a result that was just queued.
func (c *Core) wake(p *session, w work) {
	switch {
	case p.wakes.posting:
		p.wakes.again = true
	case !p.wakes.flag:
		c.postWake(p, w, false)
	}
}

// tellable tells whether a parent takes notices: a program that runs its input
// as a command is never sent words of ours.
func (c *Core) tellable(p *session) bool {
	if p.spec == nil {
		return true
	}
	_, harness, err := c.resolve(p)
	t, _ := c.cfg.Traits(harness)
	return err != nil || !t.OneMessagePerTurn
}

// postWake posts a notice, unless the parent cannot take one.
func (c *Core) postWake(p *session, w work, recovery bool) {
	if len(p.Inbox.Queue) == 0 || w.Parent == "" || !c.tellable(p) {
		return
	}
	if p.spec == nil && !c.identified(p) {
		p.wakes.stranded = true // asked again when the agent is known
		return
	}
	n := len(p.Inbox.Queue)
	plural := "s"
	if n == 1 {
		plural = ""
	}
	text := fmt.Sprintf("[System: sub-agent %s/%s finished (%s) — %d result%s waiting in inbox. Call sys_read_inbox to collect.]",
		w.Agent, w.Title, w.State, n, plural)
	if recovery && text == p.wakes.lastText {
		return
	}
	p.wakes.posting, p.wakes.flag, p.wakes.again, p.wakes.text = true, true, false, ""
	if recovery {
		p.wakes.text = text
	}
	c.effect(PostWake{Session: p.id, Life: p.life(), Text: text})
}

func (c *Core) onWakePosted(ev WakePosted) {
	p := c.sessions[ev.Session]
	p.wakes.posting = false
	if ev.Err != nil {
		p.wakes.flag, p.wakes.stranded = false, true
		c.log(p, Warn, "the parent could not be told of a result; it waits in the inbox", ev.Err)
		if errors.Is(ev.Err, wire.ErrNotFound) || errors.Is(ev.Err, wire.ErrRejected) || p.wakeTries >= len(wakeRetries) {
			if !errors.Is(ev.Err, wire.ErrNotFound) { // else it has nobody to tell
				c.mourn(p, "this session could not be told of them: "+ev.Err.Error())
			}
			return
		}
		c.rewake(p)
		return
	}
	p.wakes.stranded = false
	if p.wakes.text != "" {
		p.wakes.lastText = p.wakes.text
	}
	switch {
	case !p.atRest():
	case p.wakes.again:
		// A result came while the post was open, and its turn is over already.
		c.rested(p)
	case p.wakes.flag:
		// Its turn is still to come.
	default:
		c.unread(p)
	}
}

// turnBegan: the parent runs, and will see what waits.
func (s *session) turnBegan() { s.wakes.flag = false }

// turnRested is rested after a turn.
func (c *Core) turnRested(p *session) {
	if p.wakes.posting || p.wakes.flag || p.wakes.stranded || p.wakes.again || len(p.Inbox.Queue) == 0 {
		c.rested(p)
		return
	}
	c.unread(p)
}

// unread is called when a turn that was told of all that waits is over. What it
// has not read it is told of once more, after a while; then the conversation
// says so (field.md B7). Of a turn that a person stopped no more is asked.
func (c *Core) unread(p *session) {
	if len(p.Inbox.Queue) == 0 || p.Last != nil && p.Last.Outcome == wire.Cancelled || !c.tellable(p) {
		return
	}
	if p.wakes.heard == toldTwice {
		c.mourn(p, "nobody has read them though this session was told twice")
		return
	}
	p.wakes.heard = toldOnce
	c.effect(SetTimer{Session: p.id, Key: TimerUnread, After: unreadPause})
}

// tellAgain is the second time, unless it has read by now, or is at work, or
// will be: then the end of that turn decides.
func (c *Core) tellAgain(p *session) {
	w := c.latestResult(p)
	if w == nil || p.wakes.heard != toldOnce || p.wakes.posting || p.wakes.flag || !p.atRest() {
		return
	}
	p.wakes.heard = toldTwice
	c.postWake(p, *w, false)
}

// rested is called when a parent has come to rest: what it was not told of, or
// was told of since its last turn began, it is told of again. The same state of
// things is told only once.
func (c *Core) rested(p *session) {
	if len(p.Inbox.Queue) == 0 {
		p.wakes.lastText = ""
		p.wakes.flag, p.wakes.stranded = false, false
		return
	}
	if p.wakes.posting || !p.wakes.flag && !p.wakes.stranded && !p.wakes.again {
		return
	}
	p.wakes.flag, p.wakes.again = false, false
	if w := c.latestResult(p); w != nil {
		c.postWake(p, *w, true)
	}
}

// rewake tries the stranded again after a while, as long as a connection is up.
func (c *Core) rewake(p *session) {
	if c.tunnel == 0 || p.wakeTries >= len(wakeRetries) {
		return
	}
	c.effect(SetTimer{Session: p.id, Key: TimerWake, After: wakeRetries[p.wakeTries]})
	p.wakeTries++
}

// wakeStranded tells a parent at rest, that could not be told before, what waits.
func (c *Core) wakeStranded(p *session) {
	if p.wakes.stranded && p.atRest() {
		c.rested(p)
	}
}

func (s *session) atRest() bool { return s.Open == nil && len(s.Queued) == 0 }

// latestResult is the work that finished last among what waits.
func (c *Core) latestResult(p *session) *work {
	if len(p.Inbox.Queue) == 0 {
		return nil
	}
	r := slices.MaxFunc(p.Inbox.Queue, func(a, b result) int { return a.N - b.N })
	return &work{Parent: p.id, ID: r.WorkID, Agent: r.Agent, Title: r.Title, State: r.Status}
}
