package core

// A runner that has had nothing to do for long may leave (sessions.md 6.8). It
// ends its streams with the done marker, so that nobody takes its absence for a
// crash, and takes nothing on from then: a message that comes still is not
// answered, so that the server keeps it, and the next runner has it.

// Retire asks to leave. The answer is 200 when nothing is under way, and 409
// when something is; then nothing has changed.
type Retire struct{ Req Req }

func (Retire) event() {}

func (c *Core) onRetire(ev Retire) {
	if c.busy() {
		c.replyError(ev.Req, 409, "runner_busy", "Something is under way.")
		return
	}
	c.retired = true
	for _, s := range c.all() {
		c.effect(EndStream{Session: s.id})
	}
	c.reply(ev.Req, 200, encode(map[string]bool{"retired": true}))
}

// busy tells whether something is under way that an exit would cut.
func (c *Core) busy() bool {
	if c.tunnel == 0 || len(c.ops) > 0 {
		return true // one that is cut off does not know
	}
	for _, s := range c.sessions {
		if s.Open != nil || len(s.Queued) > 0 || len(s.Outbox) > 0 || s.closing != nil || len(s.init.reqs) > 0 ||
			len(s.sends) > 0 || len(s.spawns) > 0 || len(s.cancels) > 0 || len(s.readers) > 0 || s.reading != nil || s.wakes.posting ||
			len(s.askers) > 0 {
			return true
		}
	}
	return false
}

// held tells whether a request finds nobody any more. It has no answer: the end
// of the connection is one that a server repeats the request after.
func (c *Core) held(ev Event) bool {
	if !c.retired {
		return false
	}
	switch ev.(type) {
	case Message, Init, ToolCall, AgentAsked:
		return true
	}
	return false
}
