package core

import (
	"strings"

	"github.com/outrunner/outrunner/catchup/plan"
	"github.com/outrunner/outrunner/runner/wire"
)

// What a parent's children left unread is rebuilt from the server where this
// runner's journal does not know it: the labels say which dispatch was given out
// and which was read (subagents-catchup.md 16; design, table C). It runs once
// per parent and process, at its init or its first reading, and never holds up
// the init.

// ReadChildren asks for ChildrenRead.
type ReadChildren struct{ Session string }

// ChildrenRead answers ReadChildren.
type ChildrenRead struct {
	Session  string
	Children []wire.ChildSummary
	Err      error
}

// ReadText asks for TextRead: a child's newest text after an item.
type ReadText struct {
	Session string
	After   string
}

// TextRead answers ReadText.
type TextRead struct {
	Session string
	Text    string
	Found   bool
	Err     error
}

func (ReadChildren) effect() {}
func (ReadText) effect()     {}
func (ChildrenRead) event()  {}
func (TextRead) event()      {}

// labelAfter is ours: the child's newest item when it was dispatched. Only text
// after it is an answer to the dispatch.
const labelAfter = "outrunner.dispatch_after"

// recovery is the state of a parent's recovery from the server.
type recovery struct {
	asked bool            // for the list
	kids  []string        // of whom it is asked
	done  bool            // it succeeded in this process
	texts map[string]bool // children whose text is being read
}

func (r recovery) busy() bool { return r.asked || len(r.texts) > 0 }

// recoverChildren begins a parent's recovery, if it was not done.
func (c *Core) recoverChildren(p *session) {
	if p.recovery.done || p.recovery.busy() {
		return
	}
	p.recovery.asked = true
	p.recovery.kids = nil
	for _, kid := range c.kids(p.id) {
		p.recovery.kids = append(p.recovery.kids, kid.id)
	}
	c.effect(ReadChildren{Session: p.id})
}

func (c *Core) onChildrenRead(ev ChildrenRead) {
	p := c.sessions[ev.Session]
	p.recovery.asked = false
	if ev.Err != nil {
		c.log(p, Warn, "cannot list the children of the session; trying again when its inbox is read", ev.Err)
		c.readInbox(p)
		return
	}
	p.recovery.done = true
	listed := map[string]bool{}
	for _, child := range ev.Children {
		listed[child.ID] = true
		c.reconcileChild(p, child)
	}
	c.doubtLeases(p.recovery.kids, listed)
	c.readInbox(p)
}

func (c *Core) reconcileChild(p *session, child wire.ChildSummary) {
	s := c.session(child.ID)
	if s.Child.Both && !s.labels.stamping {
		c.patch(s, s.Child.labels())
	}
	switch plan.ReconcileChild(childInputs(s, child)) {
	case plan.HandOver:
		c.deliver(s)
	case plan.WriteReceipt:
		c.patch(s, map[string]string{labelDelivered: s.Child.Drained})
	case plan.Adopt:
		c.adopt(p, s, child)
	case plan.AwaitChild:
		w := foundWork(p, child)
		w.State = workWaiting
		c.recordWork(s, w)
		c.watch(s)
	case plan.LeaveChild, plan.AwaitEdge:
	}
}

func childInputs(s *session, child wire.ChildSummary) plan.Child {
	in := plan.Child{
		Internal: strings.HasSuffix(child.Labels[labelWrapper], "-ui-subagent"),
		Drained:  s.Child.Drained, Dispatch: child.Labels[labelDispatch], Receipt: child.Labels[labelDelivered],
	}
	if s.Child.Both || s.Child.Receipt == in.Dispatch && s.Child.Receipt != s.Child.Drained {
		in.Dispatch, in.Receipt = s.Child.Receipt, s.Child.Receipt // as it will be
	}
	absent := child.ErrorCode == "runner_disconnected" || child.ErrorCode == "runner_failed_to_start"
	switch child.Status {
	case "completed", "cancelled":
		in.Ended = true
	case "failed":
		in.Ended, in.Interrupted = !absent, absent
	case "in_progress":
		in.Interrupted = true
	}
	if w := s.Child.Work; w != nil {
		in.WorkID = w.ID
		switch {
		case w.Delivered:
			in.Work = plan.Delivered
		case w.State.terminal():
			in.Work = plan.Finished
		case w.State == workStamped:
			in.Work = plan.Stamped
		case w.State == workWaiting:
			in.Work = plan.Waiting
		default:
			in.Work = plan.Live
		}
	}
	return in
}

// foundWork is the entry of a child that only the server remembers.
func foundWork(p *session, child wire.ChildSummary) work {
	return work{
		Parent: p.id, ID: child.Labels[labelDispatch], State: workLaunching,
		Agent: first(child.Tool, child.AgentName, "sub-agent"), Title: child.SessionName,
	}
}

// adopt delivers what the server has of a finished child, under its id.
func (c *Core) adopt(p, s *session, child wire.ChildSummary) {
	if s.Child.Work == nil {
		c.recordWork(s, foundWork(p, child))
	}
	if child.Status == "failed" {
		c.report(s, workFailed, &child.ErrorMessage, false)
		return
	}
	if p.recovery.texts == nil {
		p.recovery.texts = map[string]bool{}
	}
	p.recovery.texts[s.id] = true
	s.adopting = workState(child.Status)
	c.effect(ReadText{Session: s.id, After: child.Labels[labelAfter]})
}

func (c *Core) onTextRead(ev TextRead) {
	s := c.sessions[ev.Session]
	defer c.textCame(s.id)
	to := s.adopting
	s.adopting = ""
	w := s.Child.Work
	if w == nil || to == "" {
		return
	}
	p := c.session(w.Parent)
	switch {
	case w.State.terminal():
		// A live report came first.
	case ev.Err != nil:
		c.log(s, Warn, "cannot read what the sub-agent said; trying again when the inbox is read", ev.Err)
		c.recordChild(s, childState{owed: s.Child.owed})
		p.recovery.done = false
	case ev.Found:
		c.report(s, to, &ev.Text, false)
	case to == workCancelled:
		none := ""
		c.report(s, to, &none, false)
	default:
		c.report(s, to, nil, false)
	}
}

// textCame lets go of who waits for a child's text: whatever became of the
// child, its parent is not held up.
func (c *Core) textCame(child string) {
	for _, p := range c.all() {
		if p.recovery.texts[child] {
			delete(p.recovery.texts, child)
			c.readInbox(p)
		}
	}
}

// scanWork decides, on a complete listing of a child's items, whether a
// dispatch that was stamped was sent (row 4).
func (c *Core) scanWork(s *session, items []wire.Item) {
	w := s.Child.Work
	if w == nil || w.State != workStamped || s.sending {
		return
	}
	past := w.Stamp == ""
	for _, it := range items {
		if past && it.Type == "message" && it.Role == "user" && !it.IsMeta {
			c.launched(s)
			return
		}
		past = past || it.ID == w.Stamp
	}
	text := "Error: the task was not sent: the runner was restarted before it could be."
	c.report(s, workFailed, &text, false)
}

// launched notes that the message of a dispatch was sent.
func (c *Core) launched(s *session) {
	if w := s.Child.Work; w != nil && w.State == workStamped {
		next := *w
		next.State = workLaunching
		c.recordWork(s, next)
		c.watch(s)
	}
}
