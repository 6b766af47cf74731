package plan

import "github.com/outrunner/outrunner/runner/wire"

// TurnState is what the journal says of a session's latest turn.
type TurnState int

// The states of the latest turn.
const (
	NoTurn TurnState = iota
	OpenTurn
	EndedTurn
)

// Life is what is alive on this machine for a session.
type Life int

// The kinds of life.
const (
	Dead Life = iota
	TurnLive
	PaneLive
)

// InitKind is the kind of session init that is being answered.
type InitKind int

// The kinds of init. NoInit means that none is.
const (
	NoInit InitKind = iota
	PlainInit
	SuppressInit
	ResumeInit
)

// Init is the session init that is being answered, if any.
type Init struct {
	Kind InitKind
	// Used: the recovery id of a ResumeInit was used here before.
	Used bool
}

// Journal is what this runner remembers of a session.
type Journal struct {
	// Known: the session has a cursor, a turn or a queued item here.
	Known bool
	Turn  TurnState
	// Output: the open turn has produced text or a call.
	Output bool
	// Queued are the accepted items that no turn has taken, oldest first.
	Queued []string
}

// View is what the server shows. Items are merged into the journal before
// Reconcile is asked, so it holds only what a merge does not settle.
type View struct {
	// Read: a complete page set was read since this process began, or nothing
	// of the session could predate it. Rows 5, 6 and 8 to 11 wait for it.
	Read bool
	// Gone: the snapshot was 404 in a scan or an init.
	Gone bool
	// Foreign: the snapshot's runner is set and is another one.
	Foreign bool
	// Archived sessions get no new work.
	Archived bool
	// Unfinished: the server calls it running, waiting, or failed with
	// runner_disconnected or runner_failed_to_start.
	Unfinished bool
	// Outcome is the end that the server has stored under the open turn's
	// response, if it has.
	Outcome *wire.TurnEnd
}

// Inputs are everything Reconcile looks at.
type Inputs struct {
	IdentityKnown bool
	Traits        wire.Traits
	J             Journal
	V             View
	I             Init
	L             Life
	// InitMayCome: a first init on this connection may still arrive, so a turn
	// that can resume waits before it is given up (row 6).
	InitMayCome bool
	// PaneIdle: a native pane can take the next item (row 4).
	PaneIdle bool
}
