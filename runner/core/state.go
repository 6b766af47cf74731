package core

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// How much of a session's past is kept to recognise what comes again. A server
// repeats a message or lists an answer within one outage; these are far beyond.
const (
	keptAnswered = 1024
	keptTurns    = 512
	keptRecovery = 64
)

// durable is what must survive a restart of one session. Only apply writes it.
type durable struct {
	Identity identity      `json:"identity"`
	Cursor   string        `json:"cursor,omitempty"`
	Queued   []queued      `json:"queued,omitempty"`   // oldest first
	Answered []string      `json:"answered,omitempty"` // item ids, newest last
	Turns    []turnMark    `json:"turns,omitempty"`    // newest last
	Open     *turn         `json:"open,omitempty"`
	Ended    []*turn       `json:"ended,omitempty"` // the server has not seen their end; oldest first
	Last     *wire.TurnEnd `json:"last,omitempty"`  // what the status says between turns
	Outbox   []outEntry    `json:"outbox,omitempty"`
	Recovery []string      `json:"recovery,omitempty"` // used recovery ids
	Child    childState    `json:"child,omitzero"`     // its work for its parent
	Rail     *rail         `json:"rail,omitempty"`     // its line to its parent's stream
	Inbox    inbox         `json:"inbox,omitzero"`     // its children's results
	Native   *native       `json:"native,omitempty"`   // what its harness keeps
}

// identity is what alone decides the harness of a session, and what a turn of
// it needs besides its input.
type identity struct {
	// Known: a snapshot or an envelope of the server said all of this.
	Known     bool   `json:"known,omitempty"`
	AgentID   string `json:"agent_id,omitempty"`
	SubAgent  string `json:"sub_agent,omitempty"`
	ParentID  string `json:"parent_id,omitempty"`
	AgentName string `json:"agent_name,omitempty"`
	Title     string `json:"title,omitempty"`
	Wrapper   string `json:"wrapper,omitempty"`  // label: which program shows it
	Dispatch  string `json:"dispatch,omitempty"` // label: the id of its latest dispatch
	Receipt   string `json:"receipt,omitempty"`  // label: the id of the dispatch whose result was read
	Override  string `json:"override,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Model     string `json:"model,omitempty"`
	Effort    string `json:"effort,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	CreatedAt int64  `json:"created_at,omitempty"`
}

// settled tells whether the harness follows from what is known: all of it, or
// the one name that a snapshot could add.
func (id identity) settled() bool {
	return id.Known || id.AgentID != "" && id.SubAgent != ""
}

type queued struct {
	ID      string          `json:"id"`
	Content json.RawMessage `json:"content,omitempty"`
	// Scanned: it was found, not handed over; nobody was told 202 for it.
	Scanned bool `json:"scanned,omitempty"`
	// Tools are its sender's.
	Tools []json.RawMessage `json:"tools,omitempty"`
}

type turnMark struct {
	ID       string `json:"id"`
	Response string `json:"response"`
}

type turn struct {
	ID       string       `json:"id"`
	Response string       `json:"response"`
	Agent    string       `json:"agent,omitempty"`
	Inputs   []wire.Input `json:"inputs,omitempty"`
	// Made is the text of ours that it runs on, for its inputs.
	Made json.RawMessage `json:"made,omitempty"`
	// Tools are those of whoever sent the last message that brought any.
	Tools     []json.RawMessage `json:"tools,omitempty"`
	Questions []*question       `json:"questions,omitempty"`
	Output    bool              `json:"output,omitempty"`
	Text      string            `json:"text,omitempty"` // what it said, for its parent; bounded
	End       *wire.TurnEnd     `json:"end,omitempty"`
}

func (t *turn) inputIDs() []string {
	ids := make([]string, 0, len(t.Inputs))
	for _, in := range t.Inputs {
		ids = append(ids, in.ItemID)
	}
	return ids
}

type outEntry struct {
	Turn string        `json:"turn"`
	Out  wire.Outgoing `json:"out"`
}

// session is everything the core knows of one session.
type session struct {
	id string
	durable

	// What follows is lost with the process.

	gen      uint64 // of the caches; bumped by every reset, stale answers fall out
	spec     *wire.Spec
	specErr  *wire.TurnError // the server settled that the agent cannot be used
	asked    map[string]bool // open questions: "snapshot", "spec", "scan"
	scanned  uint64          // the tunnel on which the session was last scanned
	ahead    []string        // what was queued when the last scan was ordered
	retries  int             // scans that failed in a row
	rescan   bool            // a timer for the next one is set
	verdict  *verdict        // what will be said of the last one; nil when it was
	view     view
	live     bool            // the open turn has a pump
	held     bool            // the pump waits until the outbox has room
	told     map[string]bool // turns whose in_progress was published
	terminal map[string]bool // turns whose terminal response was published
	init     initState
	waiting  []waiter     // interrupts that wait for the turn's end
	stopped  []string     // queued items that a stop cancels when the turn has ended
	steering steering     // messages that the open turn was sent
	calls    []clientCall // of the open turn, that wait for a client
	dangling []string     // calls of the open turn that have no output
	cut      bool         // the open turn was interrupted
	closing  *closing     // a delete or reset that waits for the program's end

	named      bool   // a request named it in its path
	shown      bool   // a snapshot of it was read in this process
	warm       string // the harness that this process itself found; never restored
	edge       *railEdge
	untold     *untold
	wakes      waking
	wakeTries  int // of the present connection
	recovery   recovery
	sweeping   bool      // a timer for the next sweep is set
	waits      bool      // the status that was told last is waiting
	intr       string    // the work that an interrupt was raised for, whose end is not known
	adopting   workState // what the server says of a child whose text is being read
	sending    bool      // a task for it is being posted
	labels     labelling
	dispatches int     // that it was given here
	refused    refused // reports of the end of its work
	sends      []*send // of its own, to its children
	spawns     []*spawn
	cancels    []canceling
	ordinals   map[string]int
	readers    []ToolCall // readings of the inbox that wait for their turn
	reading    *reading
	askers     []*asker          // that wait for its agent, or for a terminal of it
	readOn     *uint64           // the tunnel by which its stream was opened last
	owed       []json.RawMessage // events about terminals for the next reader
}

// view is what the server showed last.
type view struct {
	read       bool // a complete page set, or nothing could predate what is here
	gone       bool
	foreign    bool
	archived   bool
	unfinished bool
	outcome    *wire.TurnEnd
	pending    []string
}

func newSession(id string) *session {
	return &session{id: id, asked: map[string]bool{}, told: map[string]bool{}, terminal: map[string]bool{}}
}

// known tells whether the journal knows the session (design, table B).
func (s *session) known() bool {
	return s.Cursor != "" || s.Open != nil || len(s.Turns) > 0 || len(s.Queued) > 0
}

func (s *session) isQueued(item string) bool {
	return slices.ContainsFunc(s.Queued, func(q queued) bool { return q.ID == item })
}

// isNamed tells whether a turn of ours names the item.
func (s *session) isNamed(item string) bool {
	if s.Open != nil && slices.Contains(s.Open.inputIDs(), item) {
		return true
	}
	return slices.Contains(s.Answered, item)
}

func (s *session) isOurs(it wire.Item) bool {
	if isDeadLetter(it) {
		return true
	}
	return slices.ContainsFunc(s.Turns, func(t turnMark) bool {
		return it.ResponseID == t.Response || it.StreamMessageID != "" && hasTurn(it.StreamMessageID, t.ID)
	})
}

func hasTurn(source, turn string) bool {
	return len(source) > len(turn) && source[:len(turn)] == turn && source[len(turn)] == ':'
}

func (s *session) outboxHas(turn string) bool {
	return slices.ContainsFunc(s.Outbox, func(e outEntry) bool { return e.Turn == turn })
}

func (s *session) outboxBytes() (n int) {
	for _, e := range s.Outbox {
		n += len(e.Out.ItemData)
	}
	return n
}

// apply folds one record into the state. It is the only writer of durable
// state, in a running process and in a restart.
func (c *Core) apply(r wire.Record) error {
	s := c.session(r.Session)
	switch r.Kind {
	case wire.RecSession:
		s.durable = durable{}
		return json.Unmarshal(r.State, &s.durable)
	case wire.RecGone:
		delete(c.sessions, r.Session)
	case wire.RecIdentity:
		s.Identity = identity{}
		return json.Unmarshal(r.State, &s.Identity)
	case wire.RecCursor:
		s.Cursor = r.Cursor
	case wire.RecItem:
		s.applyItem(r)
	case wire.RecOrder:
		s.applyOrder(r.Inputs)
	case wire.RecOpened:
		s.applyOpened(r)
	case wire.RecOut:
		s.Outbox = append(s.Outbox, outEntry{Turn: r.Turn, Out: *r.Out})
		if s.Open != nil && s.Open.ID == r.Turn {
			s.Open.Output = true
			s.Open.hear(r.Out)
		}
	case wire.RecStored:
		s.Outbox = slices.DeleteFunc(s.Outbox, func(e outEntry) bool { return e.Out.SourceID == r.Source })
	case wire.RecEnded:
		s.applyEnded(r)
	case wire.RecTook:
		s.applyTook(r)
	case wire.RecCalled:
		if s.Open != nil && s.Open.ID == r.Turn {
			s.Open.Output = true
		}
	case wire.RecAsked:
		s.applyAsked(r)
	case wire.RecSettled:
		return s.applySettled(r)
	case wire.RecNative:
		return s.applyNative(r.State)
	case wire.RecSeen:
		s.Ended = slices.DeleteFunc(s.Ended, func(t *turn) bool { return t.ID == r.Turn })
	case wire.RecRecoveryID:
		s.Recovery = last(append(s.Recovery, r.Source), keptRecovery)
	case wire.RecChild:
		s.Child = childState{}
		return json.Unmarshal(r.State, &s.Child)
	case wire.RecRail:
		s.Rail = nil
		return json.Unmarshal(r.State, &s.Rail)
	case wire.RecResult:
		return s.applyResult(r.State)
	case wire.RecDrained:
		return s.applyDrained(r.State)
	case wire.RecReturned:
		s.applyReturned()
	default:
		return fmt.Errorf("record of an unknown kind %q: the journal is from a newer version", r.Kind)
	}
	return nil
}

func (s *session) applyItem(r wire.Record) {
	at := slices.IndexFunc(s.Queued, func(q queued) bool { return q.ID == r.Item })
	q := queued{ID: r.Item, Content: r.Content, Scanned: r.Source == sourceScan, Tools: decodeTools(r.State)}
	switch {
	case r.ItemState != wire.ItemQueued:
		s.Queued = slices.DeleteFunc(s.Queued, func(q queued) bool { return q.ID == r.Item })
	case at >= 0: // it keeps its place
		s.Queued[at] = q
	default:
		s.Queued = append(s.Queued, q)
	}
}

// applyOrder puts the queue in the order of the ids; what they do not name
// comes last, as it stood.
func (s *session) applyOrder(ids []string) {
	rank := func(q queued) int {
		if at := slices.Index(ids, q.ID); at >= 0 {
			return at
		}
		return len(ids)
	}
	slices.SortStableFunc(s.Queued, func(a, b queued) int { return rank(a) - rank(b) })
}

// sourceScan marks a queued item that a scan found.
const sourceScan = "scan"

func (s *session) applyOpened(r wire.Record) {
	t := &turn{ID: r.Turn, Response: r.Response, Agent: r.Source, Made: r.Content}
	for _, id := range r.Inputs {
		in := wire.Input{ItemID: id}
		s.Queued = slices.DeleteFunc(s.Queued, func(q queued) bool {
			if q.ID == id {
				in.Content = q.Content
				if len(q.Tools) > 0 {
					t.Tools = q.Tools
				}
			}
			return q.ID == id
		})
		t.Inputs = append(t.Inputs, in)
	}
	s.Open = t
	s.Turns = last(append(s.Turns, turnMark{t.ID, t.Response}), keptTurns)
}

func (s *session) applyEnded(r wire.Record) {
	if s.Open == nil || s.Open.ID != r.Turn {
		return
	}
	t := s.Open
	s.Open, s.Inbox.Taken = nil, nil
	t.End = r.End
	if r.End.Outcome == wire.Resumed {
		t.Inputs = nil // they are the next turn's
	} else {
		s.Answered = last(append(s.Answered, t.inputIDs()...), keptAnswered)
		s.Last = r.End
	}
	for i := range t.Inputs {
		t.Inputs[i].Content = nil
	}
	s.Ended = append(s.Ended, t)
}

// keptText is how much of a turn's text is kept for the parent, in bytes. The
// parent is shown less (outputLimit), and told how to read the rest.
const keptText = 64 << 10

// hear adds a stored piece to the text of the turn.
func (t *turn) hear(out *wire.Outgoing) {
	if out.ItemType != "message" || len(t.Text) >= keptText {
		return
	}
	var item struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(out.ItemData, &item) == nil && item.Role == "assistant" {
		t.Text += wire.Text(item.Content)
	}
}

// last keeps the newest n.
func last[T any](list []T, n int) []T {
	if len(list) > n {
		return slices.Clone(list[len(list)-n:])
	}
	return list
}
