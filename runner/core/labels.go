package core

import "maps"

// PatchLabels asks for LabelsPatched.
type PatchLabels struct {
	Session string
	Labels  map[string]string
}

// LabelsPatched answers PatchLabels.
type LabelsPatched struct {
	Session string
	Labels  map[string]string
	Err     error
}

func (LabelsPatched) event() {}
func (PatchLabels) effect()  {}

// The labels by which a result survives without a journal
// (subagents-catchup.md 16).
const (
	labelDispatch  = "omnigent.subagent.dispatch_id"
	labelDelivered = "omnigent.subagent.delivered_id"
	labelWrapper   = "omnigent.wrapper"
	labelClosed    = "omnigent.closed"
)

// labelling is what the server is being told of a child.
type labelling struct {
	stamping bool              // the dispatch of a task that is given out when it is there
	named    bool              // it was told of a dispatch: who read of one before may know an older one
	open     map[string]string // labels that it is told of
	next     map[string]string // and is told then
}

// dispatching tells whether the server is being told of a dispatch.
func (l labelling) dispatching() bool {
	return l.stamping || l.open[labelDispatch] != ""
}

// patch has the server label a child. It is told one thing at a time, so that
// none overtakes another: a dispatch, or a receipt, that comes late would be
// taken for what was said last.
func (c *Core) patch(s *session, labels map[string]string) {
	if labels[labelDispatch] != "" {
		s.labels.named = true
	}
	switch {
	case len(s.labels.next) == 0 && len(s.labels.open) > 0 && contains(s.labels.open, labels):
		// It is told so already.
	case s.labels.stamping || s.labels.open != nil:
		if s.labels.next == nil {
			s.labels.next = map[string]string{}
		}
		maps.Copy(s.labels.next, labels)
	default:
		s.labels.open = labels
		c.effect(PatchLabels{Session: s.id, Labels: labels})
	}
}

// patchNext goes on when the server has answered.
func (c *Core) patchNext(s *session) {
	if labels := s.labels.next; len(labels) > 0 {
		s.labels.next = nil
		c.patch(s, labels)
	}
}

// stamped ends a stamp. What waited to name another dispatch is older.
func (c *Core) stamped(s *session, err error) {
	s.labels.stamping = false
	if err == nil {
		delete(s.labels.next, labelDispatch)
	}
	if err != nil && s.Child.Both {
		c.patch(s, s.Child.labels()) // the server may have it
	}
	c.patchNext(s)
}

func (c *Core) onLabelsPatched(ev LabelsPatched) {
	s := c.sessions[ev.Session]
	s.labels.open = nil
	next, changed := s.Child, false
	if w := s.Child.Work; w != nil && w.Unstamped && ev.Labels[labelDispatch] == w.ID {
		if ev.Err == nil {
			there := *w
			there.Unstamped = false
			next.Work, changed = &there, true
		} else { // it is written with the receipt
			c.log(s, Warn, "the server has no stamp of a task that was sent", ev.Err)
		}
	}
	if s.Child.Receipt != "" && contains(ev.Labels, s.Child.labels()) {
		if ev.Err == nil {
			next.owed, changed = owed{}, true
		} else { // it is written again at the next start
			c.log(s, Warn, "the server has no receipt of a result that was read", ev.Err)
		}
	}
	if changed {
		c.recordChild(s, next)
	}
	c.patchNext(s)
}

func contains(labels, these map[string]string) bool {
	for k, v := range these {
		if labels[k] != v {
			return false
		}
	}
	return true
}
