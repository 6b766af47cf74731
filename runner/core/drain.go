package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/outrunner/outrunner/runner/wire"
)

// Evaluate asks for Evaluated: may this result be shown to the parent?
type Evaluate struct {
	Session string
	Life    uint64
	Result  int // its place in the inbox
	Event   json.RawMessage
}

// Evaluated answers Evaluate.
type Evaluated struct {
	Session string
	Life    uint64
	Result  int
	Action  string // POLICY_ACTION_...
	Reason  string
	Data    json.RawMessage // in the place of the output; null or absent = keep it
	Err     error
}

func (Evaluated) event() {}
func (Evaluate) effect() {}

// outputLimit is how much of a result is shown, in characters.
const outputLimit = 12_000

const emptyInbox = "Inbox is empty — no completed tasks."

// reading is one sys_read_inbox at work. A parent has one at a time; the next
// waits, so that no result is shown to two.
type reading struct {
	call     ToolCall
	items    []result
	verdicts map[int]Evaluated
}

// readInbox begins the next reading, if none is at work.
func (c *Core) readInbox(s *session) {
	for s.reading == nil && len(s.readers) > 0 && !s.recovery.busy() {
		call := s.readers[0]
		s.readers = s.readers[1:]
		if c.repeated(s, call) { // by the reading before
			continue
		}
		s.reading = &reading{call: call, items: slices.Clone(s.Inbox.Queue), verdicts: map[int]Evaluated{}}
		for _, r := range s.reading.items {
			if r.Status != workCancelled {
				c.effect(Evaluate{Session: s.id, Life: s.life(), Result: r.N, Event: policyEvent(r)})
			}
		}
		c.finishReading(s)
	}
}

func policyEvent(r result) json.RawMessage {
	return encode(map[string]any{"event": map[string]any{
		"type": "PHASE_TOOL_RESULT", "data": map[string]any{"result": r.Output},
		"request_data": map[string]any{"name": "sys_session_send", "tool": "sys_session_send", "args": map[string]string{
			"agent": r.Agent, "title": r.Title, "conversation_id": r.Child,
		}},
	}})
}

func (c *Core) onEvaluated(ev Evaluated) {
	s := c.sessions[ev.Session]
	if s.reading == nil {
		return
	}
	s.reading.verdicts[ev.Result] = ev
	c.finishReading(s)
	c.readInbox(s)
}

// finishReading shows the results when every verdict is there: the text, what
// it took from the inbox, and the receipts are one batch of records, and only
// then the answer.
func (c *Core) finishReading(s *session) {
	rd := s.reading
	for _, r := range rd.items {
		if _, ok := rd.verdicts[r.N]; !ok && r.Status != workCancelled {
			return
		}
	}
	s.reading = nil
	var blocks []string
	d := drained{Op: rd.call.Op, Call: rd.call.fingerprint()}
	var final []result
	for _, r := range rd.items {
		text, shown := r.show(rd.verdicts[r.N])
		blocks = append(blocks, text)
		if shown {
			d.Taken = append(d.Taken, r.N)
			final = append(final, r)
		}
	}
	d.Text = strings.Join(blocks, "\n\n")
	if len(blocks) == 0 {
		d.Text = emptyInbox
	}
	c.record(wire.Record{Kind: wire.RecDrained, Session: s.id, State: encode(d)})
	if len(s.Inbox.Queue) == 0 {
		s.wakes.heard = readSince
	}
	for _, r := range final {
		s.unsend(r)
		c.retire(r)
	}
	c.replyTool(rd.call.Req, d.Text, nil)
}

// unsend has a dispatch that may yet be taken back leave its child as it is now
// that the result of before was read.
func (p *session) unsend(r result) {
	for _, s := range p.sends {
		if w := s.before.Work; s.child == r.Child && w != nil && w.ID == r.WorkID {
			s.before.Work, s.before.Drained = nil, r.WorkID
		}
	}
}

// retire ends the work whose result was shown, unless it was dispatched anew,
// and has the server note the receipt.
func (c *Core) retire(r result) {
	kid := c.sessions[r.Child]
	if kid == nil || r.Shown || r.Guess {
		return // it is known to be read; or what the child really did may still be told
	}
	if d := kid.Child.Drained; d != "" && d != r.WorkID {
		return // a later result of it was read before: that receipt stands
	}
	next := kid.Child
	switch {
	case next.Work != nil && next.Work.ID == r.WorkID:
		next.owed = owed{Receipt: r.WorkID, Both: next.Work.Unstamped}
		next.Work, next.Drained = nil, r.WorkID
	case next.Work == nil && next.Drained == "":
		return // the child was deleted; the one that has its name now did not do this
	case !next.Both:
		next.owed = owed{Receipt: r.WorkID}
	}
	c.recordChild(kid, next)
	c.patch(kid, next.labels())
}

// verdicts are the policies' words that are known; any other says nothing.
var verdicts = []string{"POLICY_ACTION_ALLOW", "POLICY_ACTION_UNSPECIFIED", "POLICY_ACTION_DENY", "POLICY_ACTION_ASK"}

// show renders a result, and tells whether it is shown for good: a policy that
// could not be asked shows nothing and keeps it.
func (r result) show(v Evaluated) (text string, final bool) {
	head, out := r.head(), r.Output
	if r.Status != workCancelled {
		switch {
		case v.Err != nil || !slices.Contains(verdicts, v.Action):
			return head + ": policy evaluation failed]", false
		case v.Action == "POLICY_ACTION_DENY" || v.Action == "POLICY_ACTION_ASK":
			out = fmt.Sprintf("[Result suppressed by policy: %s]", first(v.Reason, "no reason given"))
		case len(v.Data) > 0 && string(v.Data) != "null":
			if json.Unmarshal(v.Data, &out) != nil {
				out = string(v.Data)
			}
		}
	}
	out = cut(out)
	switch {
	case r.Status == workCancelled && out == "":
		return head + "]", true
	case r.Status == workCancelled:
		return head + "; output before cancellation: " + out + "]", true
	case r.Status == workFailed:
		return head + " error: " + out + "]", true
	case strings.TrimSpace(out) == "":
		return head + " produced no output]", true
	}
	return head + " returned: " + out + "]", true
}

// head says whose result it is, how the child ended, and whether it was shown
// before.
func (r result) head() string {
	who, mark := r.Agent, ""
	if r.Title != "" {
		who += ":" + r.Title
	}
	if r.Shown {
		mark = " (shown before)"
	}
	return fmt.Sprintf("[System: sub-agent task %s %s%s — %s", r.Child, r.Status, mark, who)
}

// returnTaken puts back, marked, what a turn has read that this runner's death
// cut off: whoever read it may have done nothing about it.
func (c *Core) returnTaken(s *session) {
	if len(s.Inbox.Taken) > 0 {
		c.record(wire.Record{Kind: wire.RecReturned, Session: s.id})
	}
}

func (s *session) applyReturned() {
	for i := range s.Inbox.Taken {
		s.Inbox.Taken[i].Shown = true
	}
	s.Inbox.Queue, s.Inbox.Taken = append(s.Inbox.Taken, s.Inbox.Queue...), nil
}

// cut shortens a long output, and says how to read the rest.
func cut(out string) string {
	n := utf8.RuneCountInString(out)
	if n <= outputLimit {
		return out
	}
	return string([]rune(out)[:outputLimit]) + fmt.Sprintf(
		"\n[cut: %d of %d characters; read the rest with sys_session_get_history tail_items=1 content_max_chars=%d]", outputLimit, n, n)
}
