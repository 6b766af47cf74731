package core

import (
	"encoding/json"

	"github.com/outrunner/outrunner/runner/wire"
)

// Effect is something that must happen, after the records of its step are
// durable and in the order given.
type Effect interface{ effect() }

// TimerKey names a timer of a session; setting it again replaces it.
type TimerKey string

// The timers.
const (
	TimerRescan    TimerKey = "rescan"    // read the session from the server again
	TimerInterrupt TimerKey = "interrupt" // answer interrupts that still wait
	TimerDelete    TimerKey = "delete"    // finish a delete whose program does not end
	TimerInit      TimerKey = "init"      // answer an init that still waits
	TimerWake      TimerKey = "wake"      // tell a stranded parent again
	TimerUnread    TimerKey = "unread"    // tell a parent once more what it has not read
	TimerLaunch    TimerKey = "launch"    // the launch budget of a dispatched sub-agent
	TimerSweep     TimerKey = "sweep"     // ask the server about the session's sub-agents
	TimerGrace     TimerKey = "grace"     // an interrupt that no end has followed
	TimerResume    TimerKey = "resume"    // decide on a dead turn without an init
)

// Effects that happen at once and cannot block.
type (
	// Reply answers a request.
	Reply struct {
		Req    Req
		Status int
		Body   json.RawMessage // nil = no body
	}
	// Publish puts an event on the session's stream.
	Publish struct {
		Session string
		Event   json.RawMessage
		// Covers names the turn whose terminal response this is: when the
		// server has it, Seen comes back.
		Covers string
	}
	// Welcome lets a reader of the session's stream hear what is published from
	// here on: first how things stand, so that no later word comes before it.
	Welcome struct {
		Session string
		Reader  uint64
	}
	// EndStream ends the session's stream with the done marker.
	EndStream struct{ Session string }
	// Advance lets the pump of a turn read on; Stop tells it that the turn is
	// not current any more.
	Advance struct {
		Session string
		Turn    string
		Stop    bool
	}
	// SetTimer asks for TimerFired after so many milliseconds.
	SetTimer struct {
		Session string
		Key     TimerKey
		After   int64
	}
	// StopTimer takes a SetTimer back.
	StopTimer struct {
		Session string
		Key     TimerKey
	}
	// Forget drops whatever the driver keeps for a deleted session.
	Forget struct{ Session string }
	// Verdict tells the scan what became of a session that it brought.
	Verdict struct {
		Session  string
		Tunnel   uint64
		Items    int
		Turns    int
		Deferred bool
	}
	// Log is a line for people.
	Log struct {
		Level   Level
		Session string
		Msg     string
		Err     error
	}
)

// Level is the weight of a Log.
type Level int

// The levels.
const (
	Info Level = iota
	Warn
)

// Effects that take time; each is answered by an event.
type (
	// ReadSnapshot asks for SnapshotRead (three tries within 5 s).
	ReadSnapshot struct {
		Session string
		Gen     uint64
	}
	// ReadSpec asks for SpecRead (three tries within 5 s).
	ReadSpec struct {
		Session  string
		Gen      uint64
		AgentID  string
		Revision string
	}
	// Scan asks for one Scanned per session.
	Scan struct {
		Tunnel   uint64
		Sessions []ScanOrder
	}
	// Store asks for Stored; in order per session, retried until it is settled.
	Store struct {
		Session string
		Out     wire.Outgoing
	}
	// StartTurn asks for Frames and one TurnEnded.
	StartTurn struct{ Start wire.TurnStart }
	// Interrupt asks a turn to stop; its answer is the TurnEnded.
	Interrupt struct {
		Session string
		Turn    string
	}
	// CloseHarness ends whatever runs for a session and asks for HarnessClosed.
	CloseHarness struct {
		Session   string
		Terminals bool // its terminals, too
		Tell      bool // and each end of one is Told
	}
)

// ScanOrder is one session of a Scan: read its snapshot, then all items after
// the cursor.
type ScanOrder struct {
	Session string
	After   string
	Gen     uint64
}

func (Reply) effect()        {}
func (Publish) effect()      {}
func (Welcome) effect()      {}
func (EndStream) effect()    {}
func (Advance) effect()      {}
func (SetTimer) effect()     {}
func (StopTimer) effect()    {}
func (Forget) effect()       {}
func (Verdict) effect()      {}
func (Log) effect()          {}
func (ReadSnapshot) effect() {}
func (ReadSpec) effect()     {}
func (Scan) effect()         {}
func (Store) effect()        {}
func (StartTurn) effect()    {}
func (Interrupt) effect()    {}
func (CloseHarness) effect() {}
