package core

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/outrunner/outrunner/runner/wire"
)

// TestResults checks, over random orders and crashes, what is promised of a
// child's result: T and U are children of S. One payload per work, but for a
// failure over a completion; each is taken from the inbox once; no 204 for an
// end that is not kept; a wake never runs ahead of its result, and one is out at
// a time; what one operation was told it is told again.
func TestResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &family{model: newModel(t), statuses: map[Req]string{}, readers: map[Req]string{}, told: map[string]string{}}
		w.model.also = w.effect
		w.model.snap = w.snapshot
		w.model.booted = w.forget
		w.model.tree = &wire.Spec{Name: "lead", Harness: "acp:chat", Agents: []*wire.Spec{{Name: "worker", Harness: "acp:shell"}}}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "family") {
				w.act()
			} else {
				w.model.act()
			}
		}
		w.settle()
		w.check()
	})
}

// family is a model in which T and U are children of S.
type family struct {
	*model
	statuses map[Req]string // status requests that wait: child
	readers  map[Req]string // readings that wait: operation
	told     map[string]string
	wakes    int // posts that are open
}

func (w *family) snapshot(session string) wire.Snapshot {
	snap := wire.Snapshot{ID: session, AgentID: "a1", RunnerID: "me", Status: "idle"}
	if session != "S" {
		snap.ParentID, snap.SubAgentName = "S", "worker"
	}
	return snap
}

func (w *family) effect(e Effect) {
	switch e := e.(type) {
	case Reply:
		if child, ok := w.statuses[e.Req]; ok {
			delete(w.statuses, e.Req)
			if e.Status == 204 {
				w.kept(child)
			}
		}
		if op, ok := w.readers[e.Req]; ok {
			delete(w.readers, e.Req)
			w.hear(op, e.Body)
		}
	case PostWake:
		w.wakes++
		require.Equal(w.t, 1, w.wakes, "one wake at a time")
		require.Positive(w.t, w.count(wire.RecResult), "a result is kept before its wake")
		w.open = append(w.open, e)
	case Evaluate, PatchLabels, ReadChildren, ReadText:
		w.open = append(w.open, e)
	}
}

// kept requires that the end of a child that was acknowledged is in the
// journal, or was read.
func (w *family) kept(child string) {
	s := New(w.core.cfg)
	require.NoError(w.t, s.Restore(w.journal))
	c := s.sessions[child]
	require.NotNil(w.t, c)
	require.True(w.t, c.Child.Drained != "" || c.Child.Work != nil && c.Child.Work.Delivered, "the end of %s is kept", child)
}

func (w *family) hear(op string, body json.RawMessage) {
	var answer struct {
		Result struct {
			Output string `json:"output"`
		} `json:"result"`
	}
	require.NoError(w.t, json.Unmarshal(body, &answer))
	if before, ok := w.told[op]; ok {
		require.Equal(w.t, before, answer.Result.Output, "an operation is told the same again")
	}
	w.told[op] = answer.Result.Output
}

func (w *family) count(kind wire.RecordKind) (n int) {
	for _, r := range w.journal {
		if r.Kind == kind {
			n++
		}
	}
	return n
}

func (w *family) act() {
	child := rapid.SampledFrom([]string{"T", "U"}).Draw(w.t, "child")
	switch rapid.SampledFrom([]string{"idle", "failed", "read", "again", "answer", "answer", "restart"}).Draw(w.t, "family act") {
	case "idle":
		w.status(child, "idle")
	case "failed":
		w.status(child, "failed")
	case "read":
		w.ids++
		w.read("op" + string(rune('a'+w.ids%20)))
	case "again":
		w.read("op" + string(rune('a'+rapid.IntRange(0, 19).Draw(w.t, "op"))))
	case "answer":
		w.answer()
	case "restart":
		w.boot()
	}
}

// forget is what a new process makes of requests and posts of the last one.
func (w *family) forget() {
	w.wakes = 0
	clear(w.statuses)
	clear(w.readers)
}
func (w *family) status(child, status string) {
	w.req++
	w.statuses[w.req] = child
	out := child + " says"
	// The parent is here, so that its inbox is.
	w.step(StreamOpened{Session: "S", Tunnel: w.core.tunnel})
	w.step(Status{Req: w.req, Session: child, Status: status, Output: &out})
}

func (w *family) read(op string) {
	w.req++
	w.readers[w.req] = op
	w.step(ToolCall{Req: w.req, Session: "S", Name: "sys_read_inbox", Op: op})
}

// answer answers a random question of the family.
func (w *family) answer() {
	at := slices.IndexFunc(w.open, func(e Effect) bool {
		switch e.(type) {
		case PostWake, Evaluate, PatchLabels, ReadChildren, ReadText:
			return true
		}
		return false
	})
	if at < 0 {
		return
	}
	e := w.open[at]
	w.open = slices.Delete(slices.Clone(w.open), at, at+1)
	var err error
	if rapid.IntRange(0, 4).Draw(w.t, "fails") == 0 {
		err = errModel
	}
	switch e := e.(type) {
	case PostWake:
		w.wakes--
		w.step(WakePosted{Session: e.Session, Err: err})
	case Evaluate:
		w.step(Evaluated{Session: e.Session, Result: e.Result, Action: "POLICY_ACTION_ALLOW", Err: err})
	case PatchLabels:
		w.step(LabelsPatched{Session: e.Session, Labels: e.Labels, Err: err})
	case ReadChildren:
		w.step(ChildrenRead{Session: e.Session, Err: err})
	case ReadText:
		w.step(TextRead{Session: e.Session, Err: err})
	}
}

func (w *family) settle() {
	for range 400 {
		w.answer()
		if len(w.open) == 0 {
			break
		}
		w.model.answer(false)
	}
	w.model.settle()
}

// check counts payloads over the whole journal.
func (w *family) check() {
	seen := map[string][]workState{}
	taken := map[int]int{}
	var byTurn []int // of S: what its open turn took
	for _, r := range w.journal {
		switch r.Kind {
		case wire.RecOpened:
			if r.Session == "S" {
				byTurn = []int{}
			}
		case wire.RecEnded:
			if r.Session == "S" {
				byTurn = nil
			}
		case wire.RecReturned:
			require.NotEmpty(w.t, byTurn, "what nobody took is not returned")
			for _, n := range byTurn {
				taken[n]--
			}
			byTurn = []int{}
		case wire.RecResult:
			var res result
			require.NoError(w.t, json.Unmarshal(r.State, &res))
			seen[res.WorkID] = append(seen[res.WorkID], res.Status)
		case wire.RecDrained:
			var d drained
			require.NoError(w.t, json.Unmarshal(r.State, &d))
			for _, n := range d.Taken {
				taken[n]++
				require.Equal(w.t, 1, taken[n], "a result is taken once, but for what a dead turn took")
				if byTurn != nil {
					byTurn = append(byTurn, n)
				}
			}
		}
	}
	for id, states := range seen {
		require.True(w.t, len(states) == 1 || slices.Equal(states, []workState{workCompleted, workFailed}), "%s: %v", id, states)
	}
	// A parent that had no turn, with results unread, was told of them or will
	// be; one that had may have been told and not have read (I11).
	if s := w.core.sessions["S"]; s != nil && s.atRest() && len(s.Turns) == 0 && len(s.Inbox.Queue) > 0 {
		require.True(w.t, s.wakes.flag || s.wakes.stranded || s.wakes.lastText != "", "%d results wait and nobody says so: %+v", len(s.Inbox.Queue), s.wakes)
	}
}
