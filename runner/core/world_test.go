package core

import (
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/outrunner/outrunner/runner/wire"
)

// world is a fake world around one core: a server, programs that run,
// forwarders that report, people that ask, and a machine that dies. What it does
// next is drawn; what it must never see is in the invariants files.
//
//	world_test.go          one step, the crash, the restart
//	world_server_test.go   what the server has
//	world_acts_test.go     what happens by itself
//	world_requests_test.go what the server and the forwarders ask
//	world_answers_test.go  answers to the core's questions, and their faults
//	world_settle_test.go   the end: everything comes to rest
//	world_tell_test.go     what happened, as a script
type world struct {
	t     *rapid.T
	mix   mix
	tally *tally
	core  *Core

	journal []wire.Record // what a restart folds
	made    int           // ids that the core was given
	ids     int           // others
	req     Req
	boots   int
	never   bool // the last event was lost with a process, before it was committed
	tokens  int
	gen     uint64
	up      bool
	calm    bool // the world comes to rest: no faults, no crashes

	server   *server
	cast     []string // the sessions that this world is about
	open     []asked
	timers   []TimerFired
	programs []*program
	requests map[Req]*request

	dialogue []said
	done     bool

	checks
}

// asked is a question without an answer. Seen is the snapshot as it was when it
// was asked: a slow server may answer with that.
type asked struct {
	effect Effect
	seen   wire.Snapshot
	done   bool // the server has done it, and its answer is on the way
}

// program is a turn that runs.
type program struct {
	session, turn string
	pieces        int
	questions     []string
	sent          []string // messages that it may take
	calls         []string // of a client's tool
	closing       bool     // the driver ends it before it starts another
}

// request waits for its reply.
type request struct {
	kind    string
	session string
	item    string // of a message
	ev      Event
	gone    bool // nobody waits any more
}

func newWorld(t *rapid.T, m mix, counts *tally) *world {
	w := &world{t: t, mix: m, tally: counts, requests: map[Req]*request{}, checks: newChecks()}
	w.server = newServer()
	w.setUp()
	w.boot()
	return w
}

// pick draws an index below n; low ones come more often.
func (w *world) pick(n int, label string) int {
	if n == 1 {
		return 0
	}
	return drawn(n-1).Draw(w.t, label)
}

// rarely is true about once in n, and never in the simplest case.
func (w *world) rarely(n int, label string) bool {
	return drawn(n+1).Draw(w.t, label) == n
}

// drawn draws a number up to n.
func drawn(n int) *rapid.Generator[int] {
	if n < len(upTo) {
		return upTo[n]
	}
	return rapid.IntRange(0, n)
}

// upTo are made once: a world draws hundreds of numbers.
var upTo = func() (list [80]*rapid.Generator[int]) {
	for n := range list {
		list[n] = rapid.IntRange(0, n)
	}
	return list
}()

func choose[T any](w *world, list []T, label string) T { return list[w.pick(len(list), label)] }

// must fails the run in the name of an invariant.
func (w *world) must(ok bool, invariant, format string, args ...any) {
	w.tally.hit("checked " + invariant)
	if !ok {
		w.t.Fatalf("%s: %s", invariant, fmt.Sprintf(format, args...))
	}
}

func (w *world) boot() {
	w.core = New(Config{
		Runner: "me", LaunchBudget: DefaultLaunchBudget, Traits: modelTraits, Terminals: true,
		NewID: func() string { w.made++; return fmt.Sprint(w.made) },
	})
	if err := w.core.Restore(w.journal); err != nil {
		w.t.Fatalf("journal: %v", err)
	}
	w.boots++
	w.open, w.timers, w.up = nil, nil, false
	w.programs = nil
	clear(w.requests)
	w.server.runnerGone()
	w.forget()
	w.step(Restored{})
}

// modelTraits are the harnesses of this world.
func modelTraits(h string) (wire.Traits, bool) {
	switch h {
	case "acp:shell":
		return wire.Traits{OneMessagePerTurn: true}, true
	case "acp:chat", "acp:worker", "acp:other":
		return wire.Traits{}, true
	case "acp:agent":
		return wire.Traits{Resume: true, History: true}, true
	case "acp:live":
		return wire.Traits{Resume: true, Steer: true}, true
	case "claude-native", "goose-native", "cursor-native":
		return wire.Traits{Native: true}, true
	}
	return wire.Traits{}, false
}

// step steps the core. Where the draw says so the process dies: before the
// commit, and then nothing of the step ever was; or after it, and then only some
// of the effects.
func (w *world) step(ev Event) {
	w.tally.hit(kindOf(ev))
	w.situations(ev)
	w.before(ev)
	w.say(ev)
	said, made := len(w.dialogue), w.made
	out := w.core.Step(1_000_000, ev)
	carried := len(out.Effects)
	dies := false
	if !w.calm && len(out.Records) > 0 {
		if w.rarely(70, "crash before commit") {
			w.tally.hit("crash before commit")
			w.dialogue[said-1].never, w.made = true, made
			w.boot()
			w.never = true
			return
		}
		if w.rarely(70, "crash after commit") {
			w.tally.hit("crash after commit")
			dies, carried = true, w.pick(len(out.Effects)+1, "effects")
		}
	}
	w.journal = append(w.journal, out.Records...)
	w.batch(ev, out.Records)
	for _, r := range out.Records {
		w.say(r)
		w.observe(ev, r)
	}
	for _, e := range out.Effects[:carried] {
		w.say(e)
		w.effect(ev, e)
		w.carry(e)
	}
	if dies {
		for _, e := range out.Effects[carried:] {
			w.say(e)
			w.unheard(e)
		}
		w.say(fmt.Sprintf("// it dies, and the last %d of these never happen", len(out.Effects)-carried))
		w.boot()
	} else {
		w.after(ev, out)
	}
	w.never = false
}

// carry does what an effect asks for.
func (w *world) carry(e Effect) {
	switch e := e.(type) {
	case StartTurn:
		w.programs = append(w.programs, &program{session: e.Start.Session, turn: e.Start.Turn})
	case Publish:
		w.server.published(e)
	case SendToTurn:
		w.toProgram(e)
	case SetTimer:
		w.stopTimer(TimerFired{Session: e.Session, Key: e.Key})
		w.timers = append(w.timers, TimerFired{Session: e.Session, Key: e.Key})
	case StopTimer:
		w.stopTimer(TimerFired(e))
	case CloseHarness:
		for _, p := range w.programs {
			p.closing = p.closing || p.session == e.Session
		}
		w.ask(e, "")
	case Forget: // the server has deleted the session; its name may be used again
		w.open = slices.DeleteFunc(w.open, func(q asked) bool {
			st, stores := q.effect.(Store)
			return stores && st.Session == e.Session
		})
		w.server.queue = slices.DeleteFunc(w.server.queue, func(f forward) bool { return f.session == e.Session })
		w.server.renew(e.Session)
	case DeleteChild:
		w.server.remove(e.Session)
	case Scan:
		for _, o := range e.Sessions {
			w.ask(Scan{Tunnel: e.Tunnel, Sessions: []ScanOrder{o}}, o.Session)
		}
	case ReadSnapshot:
		w.ask(e, e.Session)
	case Store:
		w.putDown(e)
		w.ask(e, "")
	case ReadSpec, JudgePhase, Evaluate, PatchLabels, ReadChildren, ReadText, FindChild, ListSiblings, CreateChild,
		StampChild, PostTask, CallTool, JudgeUse, LookUp, UseTerminal, SpawnSession, PostControl, PostWake:
		w.ask(e, "")
	}
}

func (w *world) ask(e Effect, session string) {
	q := asked{effect: e}
	if session != "" {
		q.seen = w.server.snapshot(session)
	}
	w.open = append(w.open, q)
}

func (w *world) stopTimer(t TimerFired) {
	w.timers = slices.DeleteFunc(w.timers, func(o TimerFired) bool { return o == t })
}

// request opens a request and steps its event.
func (w *world) request(kind, session, item string, make func(Req) Event) {
	w.req++
	ev := make(w.req)
	w.requests[w.req] = &request{kind: kind, session: session, item: item, ev: ev}
	w.req--
	w.numbered(ev)
}

// numbered steps an event that has a number of its own among the requests.
func (w *world) numbered(ev Event) {
	w.req++
	w.step(ev)
	if w.never {
		w.req--
	}
}

// token is a text that occurs nowhere else.
func (w *world) token() string {
	w.tokens++
	return fmt.Sprintf("«%d»", w.tokens)
}

var errModel = errors.New("the server is unwell")

// checkpoint replaces the journal by a checkpoint, and requires that a core that
// folds either is the same core.
func (w *world) checkpoint() {
	records := w.core.Checkpoint()
	folded, whole := New(w.core.cfg), New(w.core.cfg)
	if folded.Restore(records) != nil || whole.Restore(w.journal) != nil {
		w.t.Fatal("journal: it cannot be folded")
	}
	for id, s := range w.core.sessions {
		if s.empty() {
			continue
		}
		want := string(encode(s.durable))
		for _, c := range []*Core{folded, whole} {
			var got string
			if other := c.sessions[id]; other != nil {
				got = string(encode(other.durable))
			}
			w.must(got == want, "journal", "%s folds to %s, and is %s", id, got, want)
		}
	}
	w.journal = records
	w.say("checkpoint")
}

func kindOf(ev Event) string { return fmt.Sprintf("event %T", ev) }
