package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// Config is what the core is told once.
type Config struct {
	// Runner is this runner's own id; a session bound to another is not ours.
	Runner string
	// Traits tells what a harness declares, by canonical id, and whether it is
	// configured here. It must always answer the same.
	Traits func(harness string) (wire.Traits, bool)
	// LaunchBudget is how long a dispatched sub-agent may take to show a sign of
	// life, in milliseconds; 0 or less is for ever. DefaultLaunchBudget is
	// upstream's.
	LaunchBudget int64
	// Terminals: this runner has terminals.
	Terminals bool
	// NewID returns 32 hex digits, never the same twice.
	NewID func() string
}

// Core is the state of the runner. Not safe for concurrent use: it has one owner.
type Core struct {
	cfg      Config
	sessions map[string]*session
	tunnel   uint64          // the connection that is up; 0 = none
	ops      []*statusOp     // statuses that wait for a snapshot
	buried   map[string]bool // sessions that were deleted here
	graves   []string        // the same, oldest first
	calls    int             // tool calls of several steps so far
	lives    uint64          // sessions deleted so far: what was asked in one life is no answer in the next
	// serverWaits: the server knows the status "waiting".
	serverWaits bool
	retired     bool // the runner leaves, and begins nothing
	now         Time
	out         Out
}

// Out is what a step asks for: records to make durable, then effects to carry
// out, both in order.
type Out struct {
	Records []wire.Record
	Effects []Effect
}

// New returns an empty core.
func New(cfg Config) *Core {
	return &Core{cfg: cfg, sessions: map[string]*session{}, buried: map[string]bool{}}
}

// Restore folds the journal. Call it once, before the first Step; then Step
// Restored, to let what was left undone begin.
func (c *Core) Restore(records []wire.Record) error {
	for n, r := range records {
		if err := c.apply(r); err != nil {
			return fmt.Errorf("journal record %d: %w", n, err)
		}
	}
	return nil
}

// Step takes one event.
func (c *Core) Step(at Time, ev Event) Out {
	c.now = at
	if !c.held(ev) && !c.stale(ev) {
		c.handle(ev)
	}
	out := c.out
	c.out = Out{}
	return out
}

func (c *Core) handle(ev Event) {
	switch ev := ev.(type) {
	case Init:
		c.onInit(ev)
	case Message:
		c.onMessage(ev)
	case Control:
		c.onControl(ev)
	case Status:
		c.onStatus(ev)
	case ToolCall:
		c.onToolCall(ev)
	case Get:
		c.onGet(ev)
	case Delete:
		c.onDelete(ev)
	case Reset:
		c.onReset(ev)
	case ResolveSkill:
		c.onResolveSkill(ev)
	case Retire:
		c.onRetire(ev)
	case RequestGone:
		c.onRequestGone(ev)
	case StreamOpened:
		c.onStreamOpened(ev)
	case SnapshotRead:
		c.onSnapshotRead(ev)
	case SpecRead:
		c.onSpecRead(ev)
	case Scanned:
		c.onScanned(ev)
	case Stored:
		c.onStored(ev)
	case HarnessClosed:
		c.onHarnessClosed(ev)
	case Evaluated:
		c.onEvaluated(ev)
	case LabelsPatched:
		c.onLabelsPatched(ev)
	case ChildrenRead:
		c.onChildrenRead(ev)
	case TextRead:
		c.onTextRead(ev)
	case ChildFound:
		c.onChildFound(ev)
	case SiblingsListed:
		c.onSiblingsListed(ev)
	case ChildCreated:
		c.onChildCreated(ev)
	case ChildStamped:
		c.onChildStamped(ev)
	case TaskPosted:
		c.onTaskPosted(ev)
	case ToolAnswered:
		c.onToolAnswered(ev)
	case ToolList:
		c.onToolList(ev)
	case UseJudged:
		c.onUseJudged(ev)
	case PhaseJudged:
		c.onPhaseJudged(ev)
	case ToolResult:
		c.onToolResult(ev)
	case LookedUp:
		c.onLookedUp(ev)
	case SessionSpawned:
		c.onSessionSpawned(ev)
	case ControlPosted:
		c.onControlPosted(ev)
	case Answer:
		c.onAnswer(ev)
	case AgentAsked:
		c.onAgentAsked(ev)
	case Told:
		c.onTold(ev)
	case TerminalUsed:
		c.onTerminalUsed(ev)
	case WakePosted:
		c.onWakePosted(ev)
	case Frame:
		c.onFrame(ev)
	case TurnEnded:
		c.onTurnEnded(ev)
	case TimerFired:
		c.onTimer(ev)
	case TunnelUp:
		c.onTunnelUp(ev)
	case TunnelDown:
		if ev.Gen == c.tunnel {
			c.tunnel = 0
		}
	case Seen:
		c.onSeen(ev)
	case Restored:
		c.onRestored()
	}
}

// stale is the one fence before every rule: an answer that was asked under
// older caches, a frame of a turn that is not in the slot, a scan or a stream of
// an old tunnel. Such an event frees whoever waits for it and changes nothing.
func (c *Core) stale(ev Event) bool {
	switch ev := ev.(type) {
	case SnapshotRead:
		return c.outdated(ev.Session, ev.Gen)
	case SpecRead:
		return c.outdated(ev.Session, ev.Gen)
	case Scanned:
		s := c.sessions[ev.Session]
		if s == nil || s.gen != ev.Gen || ev.Tunnel != c.tunnel {
			c.effect(Verdict{Session: ev.Session, Tunnel: ev.Tunnel, Deferred: true})
			if s != nil && ev.Tunnel == c.tunnel {
				c.requestScan(s) // it is as unread as before
			}
			return true
		}
	case Stored:
		return c.sessions[ev.Session] == nil
	case HarnessClosed:
		return c.sessions[ev.Session] == nil
	case Evaluated:
		return c.bygone(ev.Session, ev.Life)
	case LabelsPatched:
		return c.sessions[ev.Session] == nil
	case WakePosted:
		return c.bygone(ev.Session, ev.Life)
	case ChildrenRead:
		return c.sessions[ev.Session] == nil
	case TextRead:
		if c.sessions[ev.Session] == nil {
			c.textCame(ev.Session)
			return true
		}
	case ChildFound:
		return c.sessions[ev.Session] == nil
	case SiblingsListed:
		return c.sessions[ev.Session] == nil
	case ChildCreated:
		return c.sessions[ev.Session] == nil
	case ChildStamped:
		return c.sessions[ev.Session] == nil
	case TaskPosted:
		return c.sessions[ev.Session] == nil
	case SessionSpawned:
		return c.sessions[ev.Session] == nil
	case TerminalUsed:
		return c.sessions[ev.Session] == nil
	case ToolAnswered:
		return !c.current(ev.Session, ev.Turn)
	case UseJudged:
		return !c.current(ev.Session, ev.Turn)
	case PhaseJudged:
		return !c.current(ev.Session, ev.Turn)
	case Frame:
		if !c.current(ev.Session, ev.Turn) {
			c.effect(Advance{Session: ev.Session, Turn: ev.Turn, Stop: true})
			return true
		}
	case TurnEnded:
		return !c.current(ev.Session, ev.Turn)
	case Seen:
		return c.sessions[ev.Session] == nil
	case TimerFired:
		return c.sessions[ev.Session] == nil
	case StreamOpened:
		return ev.Tunnel < c.tunnel
	}
	return false
}

// bygone tells whether an answer was asked for before the session was deleted,
// of which only the name is used again.
func (c *Core) bygone(session string, life uint64) bool {
	s := c.sessions[session]
	return s == nil || s.life() != life
}

// life is that of the session among all that bore its name.
func (s *session) life() uint64 { return s.gen >> lifeBits }

// outdated tells whether an answer was asked for under older caches.
func (c *Core) outdated(session string, gen uint64) bool {
	s := c.sessions[session]
	if s != nil && s.gen != gen {
		c.askAgain(s)
	}
	return s == nil || s.gen != gen
}

// current tells whether the turn holds the session's slot and lives.
func (c *Core) current(session, turn string) bool {
	s := c.sessions[session]
	return s != nil && s.live && s.Open != nil && s.Open.ID == turn
}

// lifeBits is where in a generation the count of lives begins.
const lifeBits = 32

// session returns the session, making it on first touch: events may come
// before any init (sessions.md 14, trap 2).
func (c *Core) session(id string) *session {
	s := c.sessions[id]
	if s == nil {
		s = newSession(id)
		s.gen = c.lives << lifeBits
		c.sessions[id] = s
	}
	return s
}

// record changes durable state and has the change made durable.
func (c *Core) record(r wire.Record) {
	s := c.session(r.Session)
	had := s.hasInbox()
	if err := c.apply(r); err != nil {
		// Every record made here is made by this package: apply knows it.
		panic("core: " + err.Error())
	}
	c.out.Records = append(c.out.Records, r)
	if !had && s.hasInbox() {
		c.handOver(s)
	}
}

func (c *Core) effect(e Effect) { c.out.Effects = append(c.out.Effects, e) }

func (c *Core) log(s *session, level Level, msg string, err error) {
	c.effect(Log{Level: level, Session: s.id, Msg: msg, Err: err})
}

// Checkpoint returns the fewest records that fold to the present durable
// state. A journal that is replaced by them starts the same runner.
func (c *Core) Checkpoint() []wire.Record {
	var records []wire.Record
	for _, id := range slices.Sorted(maps.Keys(c.sessions)) {
		s := c.sessions[id]
		if s.empty() {
			continue
		}
		records = append(records, wire.Record{Kind: wire.RecSession, Session: id, State: encode(s.durable)})
	}
	return records
}

func (d *durable) empty() bool {
	return d.Identity == (identity{}) && d.Cursor == "" && len(d.Queued) == 0 &&
		len(d.Turns) == 0 && len(d.Answered) == 0 && len(d.Recovery) == 0 &&
		d.Child == (childState{}) && d.Rail == nil && d.Inbox.Next == 0 && len(d.Inbox.Answers) == 0
}
