package core

// An interrupt of a native session is keys typed into its program; what became
// of it only the program's own word tells. It is bound to the work that it was
// raised for, and when no word comes it counts as obeyed: a guess
// (subagents-catchup.md 5).

// interruptGrace is how long an end may take to follow an interrupt, in
// milliseconds.
const interruptGrace = 20_000

// cursorNative tells how each of its turns ends, so nothing is guessed for it.
const cursorNative = "cursor-native"

// interruptNative notes an interrupt of a session whose turns are not ours.
func (c *Core) interruptNative(s *session) {
	w := s.Child.Work
	if !c.native(s) || w == nil || w.State.terminal() {
		return
	}
	s.intr = w.ID
	if s.warm != cursorNative {
		c.effect(SetTimer{Session: s.id, Key: TimerGrace, After: interruptGrace})
	}
}

// interrupted takes a bare idle for the end of the interrupt that is pending,
// if it is one of the present work. Every end takes the interrupt back.
func (c *Core) interrupted(s *session, op *statusOp) bool {
	pending := s.intr
	if pending == "" {
		return false
	}
	bare := op.ev.Status == "idle" && op.ev.Outcome == "" && !op.ev.Completed
	s.intr = ""
	c.effect(StopTimer{Session: s.id, Key: TimerGrace})
	return bare && s.Child.Work != nil && s.Child.Work.ID == pending
}

// onGrace takes the silence that followed an interrupt for obedience.
func (c *Core) onGrace(s *session) {
	pending := s.intr
	s.intr = ""
	if w := s.Child.Work; w != nil && w.ID == pending && !w.State.terminal() {
		c.guess(s, workCancelled, "")
	}
}
