package core

import (
	"fmt"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// A result that cannot reach its parent must not vanish in a log, and not be
// tried for ever (field.md B1, B7). When the tries are used up the conversation
// says so, once per result: the child's when its parent has no inbox here, the
// parent's when it could not be told that results wait, or does not read them.
// Nothing is thrown away: the result is delivered when the inbox appears, and
// waits in it to be read.

// refusedTries is how often the end of a child's work is refused for want of an
// inbox before its conversation says so: as often as upstream's forwarders try.
const refusedTries = 12

const codeUndelivered = "result_undelivered"

// deadLetters begins the response ids of what is put down here. It answers no
// message, so no message is taken for answered by it.
const deadLetters = "undelivered_"

func isDeadLetter(it wire.Item) bool { return strings.HasPrefix(it.ResponseID, deadLetters) }

// refused counts the reports of the end of some work that found no inbox.
type refused struct {
	work  string
	times int
}

// refusedEnd counts a report that found no inbox.
func (c *Core) refusedEnd(s *session) {
	w := s.Child.Work
	if w == nil || !w.State.terminal() || w.Mourned {
		return
	}
	if s.refused.work != w.ID {
		s.refused = refused{work: w.ID}
	}
	if s.refused.times++; s.refused.times < refusedTries {
		return
	}
	next := *w
	next.Mourned = true
	c.recordWork(s, next)
	c.storeError(s, w.ID, fmt.Sprintf("The result of this task could not be handed to the session %s, which gave it: nobody has opened that on "+
		"this runner since. The result is kept, and handed over when that session is used again.", w.Parent))
}

// mourn says in a parent's conversation that results wait there, and why nobody
// reads them.
func (c *Core) mourn(p *session, why string) {
	w := c.latestResult(p)
	if w == nil || p.wakes.mourned == w.ID {
		return
	}
	p.wakes.mourned = w.ID
	c.storeError(p, w.ID, fmt.Sprintf("Results of sub-agents wait, the latest of %s/%s (%s), but %s. "+
		"Send it a message; it reads them with %s.", w.Agent, w.Title, w.State, why, toolInbox))
}

// storeError puts an error about some work in a session's conversation.
func (c *Core) storeError(s *session, work, message string) {
	c.store(s, wire.Outgoing{
		SourceID: work + ":undelivered", ResponseID: deadLetters + work, ItemType: "error",
		ItemData: encode(map[string]string{"source": "execution", "code": codeUndelivered, "message": message}),
	})
}
