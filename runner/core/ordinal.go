package core

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// A task that names no child makes a new one with a name of ours: the agent's
// and a number. The numbers of an agent rise, and exceed those of all children
// that are there, closed ones too (subagents-catchup.md 3, ordinals): a name
// that was read once never means another child.

// ListSiblings asks for SiblingsListed: the children that are there.
type ListSiblings struct{ Session, Key string }

// SiblingsListed answers ListSiblings.
type SiblingsListed struct {
	Session, Key string
	Children     []wire.ChildSummary
	Err          error
}

func (ListSiblings) effect()  {}
func (SiblingsListed) event() {}

// createNumbered makes a child with the next number of its agent. The first
// number of a process follows from what is there.
func (c *Core) createNumbered(p *session, s *send) {
	if _, counted := p.ordinals[s.agent]; !counted {
		c.effect(ListSiblings{Session: p.id, Key: s.key})
		return
	}
	p.ordinals[s.agent]++
	s.ordinal = p.ordinals[s.agent]
	s.name = fmt.Sprintf("%s-%d", s.agent, s.ordinal)
	c.createChild(p, s)
}

func (c *Core) onSiblingsListed(ev SiblingsListed) {
	p := c.sessions[ev.Session]
	s := p.sendOf(ev.Key)
	if s == nil {
		return
	}
	if ev.Err != nil {
		c.endSend(p, s, "Error: the server could not be asked for the sub-agents: "+ev.Err.Error())
		return
	}
	if p.ordinals == nil {
		p.ordinals = map[string]int{}
	}
	if _, counted := p.ordinals[s.agent]; !counted {
		p.ordinals[s.agent] = lastOrdinal(s.agent, ev.Children)
	}
	c.createNumbered(p, s)
}

// lastOrdinal is the highest number that a child's name has behind the agent's.
func lastOrdinal(agent string, children []wire.ChildSummary) (last int) {
	for _, child := range children {
		digits, ok := strings.CutPrefix(child.SessionName, agent+"-")
		n, err := strconv.ParseUint(digits, 10, 31)
		if ok && err == nil {
			last = max(last, int(n))
		}
	}
	return last
}
