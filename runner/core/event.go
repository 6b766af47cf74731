package core

import (
	"encoding/json"

	"github.com/outrunner/outrunner/runner/wire"
)

// Time is a moment in Unix milliseconds, given by the loop.
type Time int64

// Req names a waiting HTTP request; its answer is a Reply effect.
type Req uint64

// Event is something that happened. The concrete types are below.
type Event interface{ event() }

// Requests. Each is answered by exactly one Reply, whatever happens.
type (
	// Init is POST /v1/sessions (sessions.md 2.1).
	Init struct {
		Req      Req
		Session  string
		AgentID  string
		SubAgent string
		// Envelope is the versioned part; nil for the three-key body.
		Envelope *Envelope
	}
	// Message is a message on POST /v1/sessions/{id}/events.
	Message struct {
		Req      Req
		Session  string
		ItemID   string // the server's id of the stored item; "" where it has none
		StableID string // the client's id, for messages that are not stored
		Content  json.RawMessage
		AgentID  string
		Revision string
		Override string
		Model    string
		Effort   string
		// Tools are the schemas of what whoever sent it will run for the turn.
		Tools []json.RawMessage
	}
	// Control is any other event on that route. Kinds the core does not act
	// on are answered 204.
	Control struct {
		Req     Req
		Session string
		Kind    string // "interrupt", "stop_session", "effort_change", ...
		Effort  string
	}
	// Get is GET /v1/sessions/{id}.
	Get struct {
		Req     Req
		Session string
	}
	// Delete is DELETE /v1/sessions/{id}.
	Delete struct {
		Req     Req
		Session string
	}
	// Reset is reset-state, agent-cache/reset, or DELETE resources.
	Reset struct {
		Req     Req
		Session string
		Kind    ResetKind
		AgentID string
	}
	// RequestGone says that nobody waits for the answer any more.
	RequestGone struct{ Req Req }
	// StreamOpened says that a reader is there for the session's stream. What
	// is published before its Welcome does not reach it.
	StreamOpened struct {
		Session string
		Tunnel  uint64
		Reader  uint64
	}
)

// ResetKind tells the three resets apart.
type ResetKind string

// The resets of sessions.md 2.5.
const (
	ResetState     ResetKind = "state"
	ResetAgent     ResetKind = "agent-cache"
	ResetResources ResetKind = "resources"
)

// Envelope is the versioned session_init (sessions.md 2.1), checked.
type Envelope struct {
	Snapshot   wire.Snapshot
	Suppress   bool
	Resume     bool
	RecoveryID string
	// ServerVersion is the server's, "" when it does not say.
	ServerVersion string
}

// Answers to asks. An error stands in for a result; the driver turns a deadline
// into one, so each ask has exactly one answer.
type (
	// SnapshotRead answers ReadSnapshot.
	SnapshotRead struct {
		Session  string
		Gen      uint64
		Snapshot wire.Snapshot
		Err      error
	}
	// SpecRead answers ReadSpec.
	SpecRead struct {
		Session string
		Gen     uint64
		Spec    *wire.Spec
		Err     error
	}
	// Scanned answers one session of a Scan.
	Scanned struct {
		Session  string
		Tunnel   uint64
		Gen      uint64
		Snapshot wire.Snapshot
		// SnapshotErr: the snapshot could not be read; Items were not asked for.
		SnapshotErr error
		// Items are all items after After, oldest first, if ItemsErr is nil.
		After    string
		Items    []wire.Item
		ItemsErr error
		// Restarted: the cursor was stale, so Items start at the beginning.
		Restarted bool
	}
	// Stored answers Store. A nil error is the server's acknowledgement;
	// wire.ErrNotFound and wire.ErrRejected are settled refusals.
	Stored struct {
		Session string
		Source  string
		Err     error
	}
	// HarnessClosed answers CloseHarness.
	HarnessClosed struct {
		Session string
		Err     error
	}
)

// What a running turn reports.
type (
	// Frame is one closed piece of a turn: text or an item. The pump waits for
	// Advance before it reads on.
	Frame struct {
		Session string
		Turn    string
		N       int // position in the turn, from 0
		Text    string
		Item    json.RawMessage
		Ask     *wire.Elicitation // a question to a human
		Native  string            // the id under which the program keeps the conversation
		// Consumed is the id of a Steer that the program has taken.
		Consumed string
		Policy   *wire.PolicyRequest // a question to the policies
	}
	// TurnEnded is the end of a turn; sent exactly once per StartTurn.
	TurnEnded struct {
		Session string
		Turn    string
		N       int // how many pieces the turn had
		End     wire.TurnEnd
	}
)

// What the world reports.
type (
	// TimerFired answers SetTimer unless StopTimer came first.
	TimerFired struct {
		Session string
		Key     TimerKey
	}
	// TunnelUp says that connection Gen is registered.
	TunnelUp struct{ Gen uint64 }
	// TunnelDown says that connection Gen is gone.
	TunnelDown struct{ Gen uint64 }
	// Seen says that the server has the terminal response of a turn.
	Seen struct {
		Session string
		Turn    string
	}
	// Restored says that the journal was folded and the world may begin.
	Restored struct{}
)

func (Init) event()          {}
func (Message) event()       {}
func (Control) event()       {}
func (Get) event()           {}
func (Delete) event()        {}
func (Reset) event()         {}
func (RequestGone) event()   {}
func (StreamOpened) event()  {}
func (SnapshotRead) event()  {}
func (SpecRead) event()      {}
func (Scanned) event()       {}
func (Stored) event()        {}
func (HarnessClosed) event() {}
func (Frame) event()         {}
func (TurnEnded) event()     {}
func (TimerFired) event()    {}
func (TunnelUp) event()      {}
func (TunnelDown) event()    {}
func (Seen) event()          {}
func (Restored) event()      {}
