package core

import "fmt"

// A parent must not wait for ever for a child that is not there. A dispatch that
// shows no sign of life within the launch budget counts as failed; work that
// only the server can tell about is asked for again at each sweep, and ends with
// the child (subagents-catchup.md 3, reaper). The first is a guess: the real end
// takes its place when it comes.

// DefaultLaunchBudget is the launch budget where Config has none, in
// milliseconds.
const DefaultLaunchBudget = 180_000

// sweepPause is the time between two sweeps, in milliseconds.
const sweepPause = 30_000

// watch begins to watch over work that was dispatched, or found.
func (c *Core) watch(s *session) {
	w := s.Child.Work
	if w == nil || w.State.terminal() || w.State == workStamped {
		return
	}
	if w.State == workLaunching && c.cfg.LaunchBudget > 0 {
		c.effect(SetTimer{Session: s.id, Key: TimerLaunch, After: c.cfg.LaunchBudget})
	}
	if p := c.sessions[w.Parent]; p != nil && !p.sweeping {
		p.sweeping = true
		c.effect(SetTimer{Session: p.id, Key: TimerSweep, After: sweepPause})
	}
}

// onLaunchBudget ends a dispatch that nobody has seen begin.
func (c *Core) onLaunchBudget(s *session) {
	if w := s.Child.Work; w != nil && w.State == workLaunching {
		c.guess(s, workFailed, fmt.Sprintf(
			"Error: no start of the sub-agent %s/%s was seen within %d s; it may still be running, and then its result arrives later.",
			w.Agent, w.Title, c.cfg.LaunchBudget/1000))
	}
}

// guess gives work an end that its child has not told.
func (c *Core) guess(s *session, to workState, output string) {
	next := *s.Child.Work
	next.State, next.Output, next.Ended, next.Guess, next.Delivered = to, output, c.now, true, false
	c.recordWork(s, next)
	c.deliver(s)
}

// onSweep asks the server about the parent's work that is not alive here.
func (c *Core) onSweep(p *session) {
	p.sweeping = false
	var absent, active bool
	for _, kid := range c.kids(p.id) {
		if kid.Child.Work.State.terminal() {
			continue
		}
		active = true
		absent = absent || kid.leased()
	}
	if !active {
		return
	}
	p.sweeping = true
	c.effect(SetTimer{Session: p.id, Key: TimerSweep, After: sweepPause})
	if absent && c.tunnel != 0 {
		p.recovery.done = false
		c.recoverChildren(p)
	}
}

// doubtLeases asks for those children that were there when the list was asked
// for and are not on it.
func (c *Core) doubtLeases(asked []string, listed map[string]bool) {
	for _, id := range asked {
		if s := c.sessions[id]; s != nil && !listed[id] && s.leased() {
			c.askSnapshot(s)
		}
	}
}

// endLease ends the work of a child that the server does not know any more:
// nothing will tell of it.
func (c *Core) endLease(s *session) {
	if s.view.gone && s.leased() {
		text := "Error: the sub-agent's session is gone; nothing more will come from it."
		c.report(s, workFailed, &text, false)
	}
}

// leased tells whether the session has work that goes on, and nothing here
// that does it.
func (s *session) leased() bool {
	w := s.Child.Work
	return w != nil && w.State != workStamped && !w.State.terminal() && !s.live && s.Open == nil && len(s.Queued) == 0
}

// busyKids tells whether work of a parent goes on.
func (c *Core) busyKids(p *session) bool {
	for _, kid := range c.kids(p.id) {
		if !kid.Child.Work.State.terminal() {
			return true
		}
	}
	return false
}

// noteServer keeps what the server said of its version in an init. Sessions that
// wait are known from 0.3.0 on; to an older one, or one whose version cannot be
// read, they run (sessions.md 5.9, subagents-catchup.md 5).
func (c *Core) noteServer(version string) {
	var major, minor int
	n, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	waits := n == 2 && err == nil && (major > 0 || minor >= 3)
	if waits == c.serverWaits {
		return
	}
	c.serverWaits = waits
	for _, s := range c.all() {
		if s.waits {
			c.publishStatus(s)
		}
	}
}

// kidsChanged tells the parent's viewers when it waits for nobody any more.
func (c *Core) kidsChanged(parent string) {
	if p := c.sessions[parent]; p != nil && p.waits && !c.busyKids(p) {
		c.publishStatus(p)
	}
}
