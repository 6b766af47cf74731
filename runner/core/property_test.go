package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/outrunner/outrunner/runner/wire"
)

// TestPromise checks, over random orders of everything that can happen, with
// crashes anywhere, the promise of the design: a message that was answered 202
// gets exactly one outcome, its command is started at most once, and nothing is
// told before what it depends on.
func TestPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newModel(t)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			w.act()
		}
		w.settle()
		w.checkPromise()
	})
}

// TestPromiseOfResuming is the same for a harness that declares resume, whose
// command may be started again: after a death of the runner, and then only.
func TestPromiseOfResuming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newModel(t)
		w.tree = &wire.Spec{Name: "agent", Harness: "acp:agent"}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			w.act()
		}
		w.settle()
		w.checkPromise()
	})
}

// model is a world around the core: a server that stores items, programs that
// run, questions that are open.
type model struct {
	t    *rapid.T
	core *Core

	journal []wire.Record
	ids     int
	req     Req
	gen     uint64
	up      bool

	items    map[string][]wire.Item // what the server has
	acked    map[string]bool        // stored source ids
	accepted map[string]string      // item -> session, answered 202
	asked    map[Req]string         // message requests that wait: item
	running  map[string]int         // live programs: turn -> pieces written
	sessions map[string]string      // turn -> session
	starts   map[string]int         // item -> how often its command was started
	told     map[string]string      // turn -> outcome published
	open     []Effect               // questions without an answer
	timers   map[TimerFired]bool

	also   func(Effect) // sees every effect, too
	booted func()       // a new process begins
	snap   func(session string) wire.Snapshot
	tree   *wire.Spec // the agent of every session
}

func newModel(t *rapid.T) *model {
	w := &model{
		t: t, tree: &wire.Spec{Name: "shell", Harness: "acp:shell"}, items: map[string][]wire.Item{}, acked: map[string]bool{}, accepted: map[string]string{},
		asked: map[Req]string{}, running: map[string]int{}, sessions: map[string]string{},
		starts: map[string]int{}, told: map[string]string{},
	}
	w.boot()
	return w
}

func (w *model) boot() {
	w.core = New(Config{
		Runner: "me",
		Traits: func(h string) (wire.Traits, bool) {
			return wire.Traits{OneMessagePerTurn: h == "acp:shell", Resume: h == "acp:agent"},
				h == "acp:shell" || h == "acp:chat" || h == "acp:agent"
		},
		NewID: func() string { w.ids++; return fmt.Sprint(w.ids) },
	})
	require.NoError(w.t, w.core.Restore(w.journal))
	w.open, w.asked, w.timers, w.up = nil, map[Req]string{}, map[TimerFired]bool{}, false
	clear(w.running)
	if w.tree.Harness == "acp:agent" {
		clear(w.starts)
	}
	if w.booted != nil {
		w.booted()
	}
	w.step(Restored{})
}

// step steps the core, and crashes before the commit if the draw says so: then
// neither records nor effects of the step ever were.
func (w *model) step(ev Event) {
	out := w.core.Step(1000, ev)
	if len(out.Records) > 0 && rapid.IntRange(0, 40).Draw(w.t, "crash") == 0 {
		w.boot()
		return
	}
	w.journal = append(w.journal, out.Records...)
	for _, e := range out.Effects {
		w.effect(e)
	}
}

func (w *model) effect(e Effect) {
	if w.also != nil {
		w.also(e)
	}
	switch e := e.(type) {
	case Reply:
		if item, ok := w.asked[e.Req]; ok && e.Status == 202 {
			w.accepted[item] = w.sessionOf(item)
		}
		delete(w.asked, e.Req)
	case StartTurn:
		turn := e.Start.Turn
		w.running[turn], w.sessions[turn] = 0, e.Start.Session
		for _, in := range e.Start.Inputs {
			if in.ItemID == "" {
				continue // our own text
			}
			w.starts[in.ItemID]++
			require.Equal(w.t, 1, w.starts[in.ItemID], "item %s is started once", in.ItemID)
			require.NotEmpty(w.t, in.Content, "the text of an item reaches its program")
		}
		for other := range w.running {
			require.False(w.t, other != turn && w.sessions[other] == e.Start.Session, "one turn at a time")
		}
		w.require(wire.RecOpened, turn, "a turn is journaled before it is started")
	case Publish:
		if e.Covers != "" {
			w.publishedEnd(e)
		}
	case SetTimer:
		w.timers[TimerFired{Session: e.Session, Key: e.Key}] = true
	case StopTimer:
		delete(w.timers, TimerFired(e))
	case ReadSnapshot, ReadSpec, Store, Interrupt, CloseHarness:
		w.open = append(w.open, e)
	case Scan:
		for _, o := range e.Sessions {
			w.open = append(w.open, Scan{Tunnel: e.Tunnel, Sessions: []ScanOrder{o}})
		}
	}
}

func (w *model) require(kind wire.RecordKind, turn, why string) {
	require.True(w.t, slices.ContainsFunc(w.journal, func(r wire.Record) bool { return r.Kind == kind && r.Turn == turn }), why)
}

// publishedEnd checks that a terminal response follows its items, and that a
// turn is never told to have ended in two ways.
func (w *model) publishedEnd(e Publish) {
	w.require(wire.RecEnded, e.Covers, "an end is journaled before it is told")
	for _, r := range w.journal {
		if r.Kind == wire.RecOut && r.Turn == e.Covers {
			require.True(w.t, w.acked[r.Out.SourceID], "the end of %s waits for %s", e.Covers, r.Out.SourceID)
		}
	}
	var ev struct {
		Type string `json:"type"`
	}
	require.NoError(w.t, json.Unmarshal(e.Event, &ev))
	if before, ok := w.told[e.Covers]; ok {
		require.Equal(w.t, before, ev.Type)
	}
	w.told[e.Covers] = ev.Type
}

func (w *model) sessionOf(item string) string { return item[:1] }

// act lets one random thing happen.
func (w *model) act() {
	session := rapid.SampledFrom([]string{"S", "T"}).Draw(w.t, "session")
	switch rapid.SampledFrom([]string{
		"message", "message", "again", "answer", "answer", "answer", "answer", "write", "end", "end",
		"interrupt", "stop", "stream", "up", "down", "restart", "seen", "checkpoint", "missed", "timer", "init",
	}).Draw(w.t, "act") {
	case "message":
		w.forward(w.store(session))
	case "again":
		if list := w.items[session]; len(list) > 0 {
			it := rapid.SampledFrom(list).Draw(w.t, "item")
			if it.Role == "user" {
				w.forward(it.ID)
			}
		}
	case "init":
		w.init(session)
	case "missed":
		w.store(session)
	case "answer":
		w.answer(rapid.IntRange(0, 3).Draw(w.t, "fails") == 0)
	case "write":
		if turn := w.anyTurn(); turn != "" {
			n := w.running[turn]
			w.running[turn]++
			w.step(Frame{Session: w.sessions[turn], Turn: turn, N: n, Text: "x"})
		}
	case "end":
		if turn := w.anyTurn(); turn != "" {
			w.endTurn(turn, rapid.SampledFrom([]wire.Outcome{wire.Completed, wire.Failed, wire.Cancelled}).Draw(w.t, "outcome"))
		}
	case "interrupt":
		w.req++
		w.step(Control{Req: w.req, Session: session, Kind: "interrupt"})
	case "stop":
		w.req++
		w.step(Control{Req: w.req, Session: session, Kind: "stop_session"})
	case "stream":
		w.step(StreamOpened{Session: session, Tunnel: w.core.tunnel})
	case "up":
		w.gen++
		w.up = true
		w.step(TunnelUp{Gen: w.gen})
	case "down":
		w.up = false
		w.step(TunnelDown{Gen: w.gen})
	case "restart":
		w.boot()
	case "seen":
		if told := slices.Sorted(maps.Keys(w.told)); len(told) > 0 {
			turn := rapid.SampledFrom(told).Draw(w.t, "turn")
			w.step(Seen{Session: w.sessions[turn], Turn: turn})
		}
	case "checkpoint":
		w.checkpoint()
	case "timer":
		w.fire()
	}
}

// checkpoint replaces the journal by a checkpoint and requires that a core
// that folds it is the same core.
func (w *model) checkpoint() {
	records := w.core.Checkpoint()
	other := New(w.core.cfg)
	require.NoError(w.t, other.Restore(records))
	for id, s := range w.core.sessions {
		if s.empty() {
			continue
		}
		require.JSONEq(w.t, string(encode(s.durable)), string(encode(other.sessions[id].durable)))
	}
}

// fire lets the first timer run out.
func (w *model) fire() {
	var due []TimerFired
	for timer := range w.timers {
		due = append(due, timer)
	}
	slices.SortFunc(due, func(a, b TimerFired) int {
		return strings.Compare(a.Session+string(a.Key), b.Session+string(b.Key))
	})
	if len(due) > 0 {
		delete(w.timers, due[0])
		w.step(due[0])
	}
}

func (w *model) store(session string) string {
	id := fmt.Sprint(session, "u", len(w.items[session]))
	w.items[session] = append(w.items[session], wire.Item{ID: id, Type: "message", Role: "user", Content: encode(id)})
	return id
}

func (w *model) forward(item string) {
	w.req++
	w.asked[w.req] = item
	w.step(Message{Req: w.req, Session: w.sessionOf(item), ItemID: item, AgentID: "a1", Content: encode(item)})
}

// init lets the server bind the session, as it does after a reconnect: a root
// plainly, a child with the order to resume.
func (w *model) init(session string) {
	w.req++
	env := &Envelope{Snapshot: w.snapshot(session)}
	switch rapid.SampledFrom([]string{"plain", "suppress", "resume"}).Draw(w.t, "init") {
	case "suppress":
		env.Suppress = true
	case "resume":
		env.Resume, env.RecoveryID = true, fmt.Sprint("r", rapid.IntRange(1, 3).Draw(w.t, "recovery"))
	}
	w.step(Init{Req: w.req, Session: session, AgentID: "a1", Envelope: env})
}

func (w *model) anyTurn() string {
	turns := slices.Sorted(maps.Keys(w.running))
	if len(turns) == 0 {
		return ""
	}
	return rapid.SampledFrom(turns).Draw(w.t, "turn")
}

func (w *model) endTurn(turn string, how wire.Outcome) {
	n := w.running[turn]
	session := w.sessions[turn]
	delete(w.running, turn)
	w.step(TurnEnded{Session: session, Turn: turn, N: n, End: wire.TurnEnd{Outcome: how}})
}

var errModel = errors.New("the server is unwell")

// answer answers a random open question, but stores of a session in order.
func (w *model) answer(fails bool) {
	if len(w.open) == 0 {
		return
	}
	at := rapid.IntRange(0, len(w.open)-1).Draw(w.t, "question")
	if st, ok := w.open[at].(Store); ok {
		at = slices.IndexFunc(w.open, func(e Effect) bool { s, ok := e.(Store); return ok && s.Session == st.Session })
		if fails {
			return // tried again by the driver
		}
	}
	e := w.open[at]
	w.open = slices.Delete(slices.Clone(w.open), at, at+1)
	var err error
	if fails {
		err = errModel
	}
	switch e := e.(type) {
	case ReadSnapshot:
		w.step(SnapshotRead{Session: e.Session, Gen: e.Gen, Snapshot: w.snapshot(e.Session), Err: err})
	case ReadSpec:
		w.step(SpecRead{Session: e.Session, Gen: e.Gen, Spec: w.tree, Err: err})
	case Store:
		w.acked[e.Out.SourceID] = true
		w.keep(e)
		w.step(Stored{Session: e.Session, Source: e.Out.SourceID})
	case Scan:
		o := e.Sessions[0]
		ev := Scanned{Session: o.Session, Tunnel: e.Tunnel, Gen: o.Gen, After: o.After, SnapshotErr: err, Snapshot: w.snapshot(o.Session)}
		if err == nil {
			from := slices.IndexFunc(w.items[o.Session], func(it wire.Item) bool { return it.ID == o.After }) + 1
			ev.Items = slices.Clone(w.items[o.Session][from:])
		}
		w.step(ev)
	case Interrupt:
		if _, ok := w.running[e.Turn]; ok {
			w.endTurn(e.Turn, wire.Cancelled)
		}
	case CloseHarness:
		w.step(HarnessClosed{Session: e.Session})
	}
}

// keep stores an item of the runner under its source id, once.
func (w *model) keep(e Store) {
	if !slices.ContainsFunc(w.items[e.Session], func(it wire.Item) bool { return it.ID == e.Out.SourceID }) {
		w.items[e.Session] = append(w.items[e.Session], wire.Item{
			ID: e.Out.SourceID, Type: "message", Role: "assistant", ResponseID: e.Out.ResponseID, StreamMessageID: e.Out.MessageID,
		})
	}
}

func (w *model) snapshot(session string) wire.Snapshot {
	if w.snap != nil {
		return w.snap(session)
	}
	return wire.Snapshot{ID: session, AgentID: "a1", RunnerID: "me", Status: "idle"}
}

// settle lets the world become quiet: a connection, all questions answered,
// every program ended.
func (w *model) settle() {
	for range 1000 {
		switch {
		case !w.up:
			w.gen++
			w.up = true
			w.step(TunnelUp{Gen: w.gen})
		case len(w.open) > 0:
			w.answer(false)
		case len(w.running) > 0:
			w.endTurn(w.anyTurn(), wire.Completed)
		case len(w.timers) > 0:
			w.fire()
		default:
			return
		}
	}
	require.Fail(w.t, "the world does not come to rest")
}

// checkPromise counts outcomes over the whole journal.
func (w *model) checkPromise() {
	inputs := map[string][]string{}
	outcomes := map[string]int{}
	for _, r := range w.journal {
		switch r.Kind {
		case wire.RecOpened:
			inputs[r.Turn] = r.Inputs
		case wire.RecEnded:
			if r.End.Outcome != wire.Resumed {
				for _, id := range inputs[r.Turn] {
					outcomes[id]++
				}
			}
			require.NotEmpty(w.t, w.told[r.Turn], "the end of %s was told", r.Turn)
		}
	}
	for item, session := range w.accepted {
		require.Equal(w.t, 1, outcomes[item], "%s of %s has one outcome", item, session)
	}
	for item, n := range outcomes {
		require.LessOrEqual(w.t, n, 1, item)
	}
}
