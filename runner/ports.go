package runner

import (
	"context"
	"encoding/json"

	"github.com/outrunner/outrunner/runner/wire"
)

// Server is the server's HTTP API as the runner calls it. Errors are
// wire.ErrNotFound, wire.ErrRejected, wire.ErrStaleCursor (match with
// errors.Is), or anything else for "try again".
type Server interface {
	// Snapshot reads GET /v1/sessions/{id}. An answer that is not a session
	// (HTML, an array, a cut body) is an error, never an empty snapshot.
	Snapshot(ctx context.Context, session string) (wire.Snapshot, error)
	// Items reads one page after the cursor, oldest first; after "" starts at
	// the beginning, limit is 1 to 100.
	Items(ctx context.Context, session, after string, limit int) (wire.Page, error)
	// Store sends one item and returns the id under which the server keeps it.
	// It is safe to repeat: the server keeps the first of equal source ids.
	Store(ctx context.Context, session string, out wire.Outgoing) (id string, err error)

	// Message posts a user message to a session: a wake. It may be held for a
	// day by a human's approval. wire.ErrConflict (409) is worth another try, as
	// the server means it; so is a lost answer, if the message may come twice.
	Message(ctx context.Context, session, text string) error
	// Task is Message for what must arrive once: a child's task.
	Task(ctx context.Context, session, text string) error
	// PatchLabels merges labels into a session's.
	PatchLabels(ctx context.Context, session string, labels map[string]string) error
	// CreateChild makes a child session; a title that is taken is
	// wire.ErrConflict.
	CreateChild(ctx context.Context, child wire.NewChild) (wire.Made, error)
	// DeleteSession undoes a CreateChild.
	DeleteSession(ctx context.Context, session string) error
	// FindChild looks a child up by its agent and name; the newest that is not
	// closed. Without an agent the name is a session's id; one that is not the
	// parent's is marked Foreign. ok is false when there is none.
	FindChild(ctx context.Context, parent, agent, name string) (child wire.ChildSummary, ok bool, err error)
	// Children lists all children of a session.
	Children(ctx context.Context, parent string) ([]wire.ChildSummary, error)
	// LatestText returns the text of the newest assistant message that lies
	// after the item (after the last user message when the item is "" or not
	// there). ok is false when there is none.
	LatestText(ctx context.Context, session, after string) (text string, ok bool, err error)
	// Evaluate asks for a policy verdict; the event is the request's body. An
	// answer that is not a verdict is an error.
	Evaluate(ctx context.Context, session string, event json.RawMessage) (wire.Verdict, error)
	// Judge asks the policies about what a program is about to do, or has done;
	// the data is what they know for the phase (PHASE_...). A human may have to
	// decide, so it may take a day; an answer that is not a verdict is an error.
	Judge(ctx context.Context, session, phase string, data json.RawMessage) (wire.Verdict, error)
	// LookUp runs one of the runner's tools that only read the server. The
	// output is text for the program; an error means that it could not ask.
	LookUp(ctx context.Context, session, tool string, args json.RawMessage) (output string, err error)
	// Control posts a control event ("interrupt", "stop_session") to a session.
	Control(ctx context.Context, session, event string) error
	// CallTool has the server run a tool for a session's program: policy first,
	// then whoever has the tool, this runner perhaps. The output is text.
	CallTool(ctx context.Context, session string, call wire.ToolCall) (output string, err error)
}

// Specs turns a session's agent into a tree of specs. A session without an
// agent is wire.ErrNotFound; a bundle that cannot be read is wire.ErrRejected
// with a sentence for the user.
type Specs interface {
	Spec(ctx context.Context, session, agentID, revision string) (*wire.Spec, error)
}

// Summarizer has a language model sum a conversation up.
type Summarizer interface {
	// Summarize asks once. An error that is wire.ErrRejected has a sentence for
	// the user, who can mend the cause; any other is the service's.
	Summarize(ctx context.Context, ask wire.SummaryRequest) (wire.Summary, error)
}

// Journal is the runner's durable state.
type Journal interface {
	// Load returns all records in order.
	Load() ([]wire.Record, error)
	// Commit makes the records durable, all or none, in order. It returns only
	// when they are; an error means that none is known to be, and the same
	// call may be repeated with the same records without doubling them.
	Commit(records []wire.Record) error
	// Replace puts the records in the place of everything committed so far,
	// all or nothing: a checkpoint.
	Replace(records []wire.Record) error
}

// Harness runs turns in programs.
type Harness interface {
	// Traits tells what a harness declares, and whether it is configured here.
	Traits(harness string) (wire.Traits, bool)
	// Turn runs one turn and returns how it ended, once every process that it
	// started for this turn alone is gone. emit is called from one goroutine in
	// program order and blocks for back-pressure; when it fails the turn is
	// over and its program must be ended. Cancelling ctx ends the program at
	// once. Turn never panics and always returns.
	Turn(ctx context.Context, start wire.TurnStart, emit func(wire.HarnessEvent) error) wire.TurnEnd
	// Interrupt asks a running turn to stop, then insists (interrupt, terminate,
	// kill). It returns when the request was delivered; the turn's end comes
	// from Turn. It may overtake Turn: a turn that is not known yet is
	// interrupted when it begins.
	Interrupt(ctx context.Context, session, turn string) error
	// Send hands something to a running turn. A turn or call that is not known
	// any more is no error.
	Send(ctx context.Context, session, turn string, msg wire.ToHarness) error
	// Close ends whatever process is kept for a session.
	Close(ctx context.Context, session string) error
}

// Terminals runs programs in terminals that outlive the runner (design 8).
// Errors are wire.ErrNotFound, wire.ErrConflict, wire.ErrRejected (with a
// sentence for the user), or anything else for a failure of the machine.
type Terminals interface {
	// Launch starts a terminal, or returns the one that runs under its session,
	// name and key. An id that another name and key holds is wire.ErrConflict.
	Launch(ctx context.Context, spec wire.TerminalSpec) (wire.Terminal, error)
	// List returns the terminals of a session that run, in the order of their
	// launch. It asks no process.
	List(session string) []wire.Terminal
	// Get returns a terminal that runs, and makes sure that it does.
	Get(ctx context.Context, session, id string) (wire.Terminal, error)
	// Transfer gives a terminal to another session; viewers stay attached.
	Transfer(ctx context.Context, session, id, target string) (wire.Terminal, error)
	// Close ends a terminal and what runs in it.
	Close(ctx context.Context, session, id string) error
	// CloseAll ends all terminals of a session.
	CloseAll(ctx context.Context, session string) error
	// Attach joins a viewer to a terminal until either ends. A viewer that only
	// reads has nothing that it sends reach the program.
	Attach(ctx context.Context, session, id string, viewer wire.Viewer, readOnly bool) wire.Detached
	// Type types text as it is, and then presses keys by tmux's names of them.
	Type(ctx context.Context, session, id, text string, keys []string) error
	// Screen returns what a terminal shows as plain text, with up to so many
	// lines of its history.
	Screen(ctx context.Context, session, id string, history int) (string, error)
	// OnNews has fn called with what happens to terminals, one call at a time,
	// in order. It is set once, before the first launch.
	OnNews(fn func(wire.TerminalNews))
}
