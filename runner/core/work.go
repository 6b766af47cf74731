package core

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// workState is where a dispatched child stands (subagents-catchup.md 12).
type workState string

const (
	workStamped   workState = "stamped" // its message is not known to be sent
	workLaunching workState = "launching"
	workRunning   workState = "running"
	workWaiting   workState = "waiting"
	workCompleted workState = "completed"
	workFailed    workState = "failed"
	workCancelled workState = "cancelled"
)

func (w workState) terminal() bool {
	return w == workCompleted || w == workFailed || w == workCancelled
}

// work is the dispatch of a child by its parent. It is kept on the child.
type work struct {
	Parent string    `json:"parent"`
	ID     string    `json:"id"` // also the server's label: the dispatch
	Agent  string    `json:"agent"`
	Title  string    `json:"title,omitempty"`
	State  workState `json:"state"`
	Output string    `json:"output,omitempty"`
	Ended  Time      `json:"ended,omitempty"`
	// Stamp is the child's newest item at the dispatch, as far as is known.
	Stamp string `json:"stamp,omitempty"`
	// After is the child's newest turn at the dispatch: only a later one can
	// finish this work.
	After     string `json:"after,omitempty"`
	Delivered bool   `json:"delivered,omitempty"`
	// Confirmed: the child itself said that it was cancelled.
	Confirmed bool `json:"confirmed,omitempty"`
	// Guess: the end was not told by the child; a real one replaces it.
	Guess bool `json:"guess,omitempty"`
	// Unstamped: the server may not have this id as the dispatch.
	Unstamped bool `json:"unstamped,omitempty"`
	// Second: another end was delivered before this one. There is no third.
	Second bool `json:"second,omitempty"`
	// Mourned: the conversation says that the result could not be delivered.
	Mourned bool `json:"mourned,omitempty"`
}

// childState is what a child's record of work holds: at most one of an entry
// and the id of the entry whose result was read last.
type childState struct {
	Work    *work  `json:"work,omitempty"`
	Drained string `json:"drained,omitempty"`
	owed
	// Told is the response of the turn whose end was told last.
	Told string `json:"told,omitempty"`
}

// owed is a receipt that the server may not have yet.
type owed struct {
	// Receipt is the id of work that was read, or that will never be done.
	Receipt string `json:"receipt,omitempty"`
	// Both: the server may have another id as the dispatch, or should not have
	// this one, because its task was never sent. So both labels are written: a
	// receipt of one id says nothing of another (subagents-catchup.md 16).
	Both bool `json:"both,omitempty"`
}

// labels are what is owed.
func (o owed) labels() map[string]string {
	labels := map[string]string{labelDelivered: o.Receipt}
	if o.Both {
		labels[labelDispatch] = o.Receipt
	}
	return labels
}

// result is a payload in a parent's inbox.
type result struct {
	N      int       `json:"n"` // its place in the order of all that came
	WorkID string    `json:"work_id"`
	Child  string    `json:"child"`
	Agent  string    `json:"agent"`
	Title  string    `json:"title,omitempty"`
	Status workState `json:"status"`
	Output string    `json:"output"`
	Guess  bool      `json:"guess,omitempty"`
	// Shown: a turn that a death of the runner cut off has read it.
	Shown bool `json:"shown,omitempty"`
}

// inbox is a parent's queue of its children's results, and what was answered
// to those who read it.
type inbox struct {
	Queue   []result `json:"queue,omitempty"`
	Next    int      `json:"next,omitempty"`
	Answers []answer `json:"answers,omitempty"` // newest last
	Taken   []result `json:"taken,omitempty"`   // by the open turn
}

// answer is what one operation was told; it is told the same again.
type answer struct {
	Op   string `json:"op"`
	Call string `json:"call,omitempty"` // its name and arguments, in short
	Text string `json:"text"`
}

const keptAnswers = 64

// answered returns what an operation was told, or nil.
func (in *inbox) answered(op string) *answer {
	at := slices.IndexFunc(in.Answers, func(a answer) bool { return op != "" && a.Op == op })
	if at < 0 {
		return nil
	}
	return &in.Answers[at]
}

// hasInbox: a parent's inbox exists from the first request that names it in
// its path, until its delete. A snapshot that names a parent makes none.
func (s *session) hasInbox() bool { return s.named || s.known() }

// name notes that a request named the session, and hands over what waited for
// its inbox.
func (c *Core) name(s *session) {
	if s.named {
		return
	}
	s.named = true
	delete(c.buried, s.id)
	c.handOver(s)
}

// handOver delivers what waited for the inbox of a session, now that it has one.
func (c *Core) handOver(s *session) {
	for _, kid := range c.kids(s.id) {
		if kid.Child.Work.State.terminal() && !kid.Child.Work.Delivered {
			c.deliver(kid)
		}
		c.watch(kid)
	}
}

// kids are the sessions that a parent has work with, by id.
func (c *Core) kids(parent string) []*session {
	var list []*session
	for _, id := range slices.Sorted(maps.Keys(c.sessions)) {
		if s := c.sessions[id]; s.Child.Work != nil && s.Child.Work.Parent == parent {
			list = append(list, s)
		}
	}
	return list
}

func (c *Core) recordChild(s *session, cs childState) {
	before := s.Child.Work
	cs.Told = first(cs.Told, s.Child.Told)
	c.record(wire.Record{Kind: wire.RecChild, Session: s.id, State: encode(cs)})
	if before != nil && cs.Work == nil {
		c.kidsChanged(before.Parent)
	}
}

func (c *Core) recordWork(s *session, w work) {
	c.recordChild(s, childState{Work: &w, owed: s.Child.owed})
}

// register begins a dispatch. It always replaces what was, a receipt of earlier
// work too, and lets a drained child deliver again.
func (c *Core) register(s *session, w work) {
	w.State = workStamped
	s.adopting = "" // a text that is being read answers what was before
	s.dispatches++
	if n := len(s.Turns); n > 0 {
		w.After = s.Turns[n-1].ID
	}
	c.recordChild(s, childState{Work: &w})
}

// reportTurn tells the parent of a child how its turn ended. The program of a
// native child speaks for itself.
func (c *Core) reportTurn(s *session, t *turn) {
	// A turn that an earlier runner left and nobody here has run is told only
	// for a dispatch that was not read (design, table C 8).
	unread := s.Identity.Dispatch != "" && s.Identity.Dispatch != s.Identity.Receipt
	if s.Child.Work == nil && s.Child.Drained == "" && c.adoptable(s) && (len(t.Inputs) > 0 || unread) {
		c.recordWork(s, c.adopted(s))
	}
	w := s.Child.Work
	if w == nil || w.After != "" && !s.later(t.ID, w.After) {
		return
	}
	if c.selfTold(s, t) {
		c.started(s)
		return
	}
	text := t.Text
	if text == saidNothing {
		text = ""
	}
	switch t.End.Outcome {
	case wire.Completed:
		c.report(s, workCompleted, &text, false)
	case wire.Cancelled:
		text = ""
		c.report(s, workCancelled, &text, false)
	default:
		text = "Error: sub-agent turn failed: " + t.End.Error.Message
		c.report(s, workFailed, &text, false)
	}
}

// selfTold tells whether the program of a native session says itself when it is
// idle: that a turn handed it a message cleanly is not the end of its work.
func (c *Core) selfTold(s *session, t *turn) bool {
	return c.native(s) && t.End.Outcome == wire.Completed
}

// later tells whether a turn came after another, of those that are remembered.
func (s *session) later(turn, than string) bool {
	at := func(id string) int {
		return slices.IndexFunc(s.Turns, func(m turnMark) bool { return m.ID == id })
	}
	return at(turn) > at(than)
}

// lost says why a result was not delivered.
type lost int

const (
	notLost       lost = iota // delivered now, before, or nothing to deliver
	lostUntracked             // no entry
	lostNoInbox               // the parent has no inbox here
)

// report takes a terminal state of a child's work. Failed stands over
// completed, both over cancelled; what was delivered stays but for a failure
// over a completion, which is told as well (subagents-catchup.md 3).
func (c *Core) report(s *session, to workState, output *string, confirmed bool) lost {
	w := s.Child.Work
	switch {
	case w == nil && s.Child.Drained != "":
		return notLost
	case w == nil:
		return lostUntracked
	case w.Delivered && w.Second:
		return notLost
	case w.State == workCompleted && to == workFailed, !w.State.terminal():
	case w.Guess && to != workCancelled:
	case w.Delivered:
		return notLost
	case w.State != workCancelled && to == workCancelled, w.State == workFailed && to == workCompleted:
		return c.deliver(s)
	}
	next := *w
	next.Second = w.Second || w.Delivered
	next.State, next.Ended, next.Delivered, next.Confirmed, next.Guess = to, c.now, false, confirmed, false
	next.Output = ""
	switch {
	case output != nil:
		next.Output = *output
	case to == workCompleted:
		next.Output = noOutput
	}
	c.recordWork(s, next)
	return c.deliver(s)
}

// noOutput stands for the output of a child that completed without any.
const noOutput = "[System: sub-agent completed with no output]"

// deliver queues the payload of a finished child in its parent's inbox, once.
func (c *Core) deliver(s *session) lost {
	w := *s.Child.Work
	if w.Delivered {
		return notLost
	}
	p := c.sessions[w.Parent]
	if p == nil || !p.hasInbox() {
		return lostNoInbox
	}
	c.record(wire.Record{Kind: wire.RecResult, Session: p.id, State: encode(result{
		N: p.Inbox.Next, WorkID: w.ID, Child: s.id, Agent: w.Agent, Title: w.Title, Status: w.State, Output: w.Output, Guess: w.Guess,
	})})
	w.Delivered = true
	c.recordWork(s, w)
	c.kidsChanged(p.id)
	c.wake(p, w)
	return notLost
}

// started notes the first sign of life of a dispatched child.
func (c *Core) started(s *session) {
	if w := s.Child.Work; w != nil && (w.State == workStamped || w.State == workLaunching || w.State == workWaiting) {
		next := *w
		next.State = workRunning
		c.recordWork(s, next)
	}
}

// applyResult and applyDrained are apply's part for inboxes.
func (s *session) applyResult(raw json.RawMessage) error {
	var r result
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	s.Inbox.Queue = append(s.Inbox.Queue, r)
	s.Inbox.Next = r.N + 1
	return nil
}

// drained is what one reading of the inbox took and said.
type drained struct {
	Op    string `json:"op"`
	Call  string `json:"call,omitempty"`
	Text  string `json:"text"`
	Taken []int  `json:"taken,omitempty"`
}

func (s *session) applyDrained(raw json.RawMessage) error {
	var d drained
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	s.Inbox.Queue = slices.DeleteFunc(s.Inbox.Queue, func(r result) bool {
		taken := slices.Contains(d.Taken, r.N)
		if taken && s.Open != nil {
			s.Inbox.Taken = append(s.Inbox.Taken, r)
		}
		return taken
	})
	if d.Op != "" {
		s.Inbox.Answers = last(append(s.Inbox.Answers, answer{d.Op, d.Call, d.Text}), keptAnswers)
	}
	return nil
}
