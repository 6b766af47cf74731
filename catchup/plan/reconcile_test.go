package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// TestRows has one case per row of table A, named for it. Each case begins at
// quiet, a known and fully read session at rest, and changes what the row reads.
func TestRows(t *testing.T) {
	quiet := func() Inputs {
		return Inputs{IdentityKnown: true, V: View{Read: true}, J: Journal{Known: true, Turn: EndedTurn}}
	}
	outcome := &wire.TurnEnd{Outcome: wire.Failed}
	one := wire.Traits{OneMessagePerTurn: true}
	resume := wire.Traits{Resume: true}
	queue := []string{"u1", "u2"}
	do := func(row int, d Do) Step { return Step{Row: row, Do: d} }

	for name, c := range map[string]struct {
		change func(*Inputs)
		want   []Step
	}{
		"1 identity unknown starts nothing": {
			func(in *Inputs) { in.IdentityKnown, in.J.Queued = false, queue },
			[]Step{do(1, Wait)},
		},
		"2 gone drops the open turn": {
			func(in *Inputs) { in.V.Gone, in.J.Turn, in.J.Queued = true, OpenTurn, queue },
			[]Step{do(2, Drop)},
		},
		"2 another runner's session is left alone": {
			func(in *Inputs) { in.V.Foreign, in.J.Queued = true, queue }, nil,
		},
		"2 archived runs what was accepted and nothing else": {
			func(in *Inputs) { in.V.Archived, in.V.Unfinished, in.J.Queued, in.Traits = true, true, queue, one },
			[]Step{{Row: 10, Do: Start, Items: []string{"u1"}}},
		},
		"3 a live turn keeps running": {
			func(in *Inputs) { in.L, in.J.Turn, in.J.Queued = TurnLive, OpenTurn, queue },
			[]Step{do(3, Running)},
		},
		"3 a live turn uses up a resume": {
			func(in *Inputs) { in.L, in.J.Turn, in.I = TurnLive, OpenTurn, Init{Kind: ResumeInit} },
			[]Step{do(3, Running), do(3, UseUp)},
		},
		"4 a live pane takes what is queued when it is idle": {
			func(in *Inputs) { in.L, in.PaneIdle, in.J.Queued = PaneLive, true, queue },
			[]Step{do(4, Reassert), {Row: 4, Do: SendToPane, Items: queue}},
		},
		"4 a busy pane takes nothing": {
			func(in *Inputs) { in.L, in.J.Queued = PaneLive, queue },
			[]Step{do(4, Reassert)},
		},
		"5 waits for a complete read": {
			func(in *Inputs) { in.V.Read, in.J.Turn, in.J.Queued = false, OpenTurn, queue },
			[]Step{do(5, Wait)},
		},
		"5 an outcome on the server ends the turn and goes on": {
			func(in *Inputs) { in.V.Outcome, in.J.Turn, in.J.Queued, in.Traits = outcome, OpenTurn, queue, one },
			[]Step{{Row: 5, Do: EndAs, End: outcome}, {Row: 10, Do: Start, Items: []string{"u1"}}},
		},
		"6 a dead turn that cannot resume fails and goes on": {
			func(in *Inputs) { in.J.Turn, in.J.Queued, in.Traits = OpenTurn, queue, one },
			[]Step{do(6, EndRestarted), {Row: 10, Do: Start, Items: []string{"u1"}}},
		},
		"6 a dead turn that cannot resume uses up the resume": {
			func(in *Inputs) { in.J.Turn, in.I = OpenTurn, Init{Kind: ResumeInit} },
			[]Step{do(6, EndRestarted), do(6, UseUp), do(11, Reassert)},
		},
		"6 a dead turn resumes once when the server asks": {
			func(in *Inputs) { in.J.Turn, in.I, in.Traits = OpenTurn, Init{Kind: ResumeInit}, resume },
			[]Step{do(6, EndResumed), do(6, StartResume), do(6, UseUp)},
		},
		"6 a dead turn that can resume waits for the first init": {
			func(in *Inputs) { in.J.Turn, in.InitMayCome, in.Traits = OpenTurn, true, resume },
			[]Step{do(6, Wait)},
		},
		"6 a dead turn without output starts again": {
			func(in *Inputs) { in.J.Turn, in.Traits = OpenTurn, resume },
			[]Step{do(6, StartAgain)},
		},
		"6 a dead turn with output does not start again": {
			func(in *Inputs) { in.J.Turn, in.J.Output, in.Traits = OpenTurn, true, resume },
			[]Step{do(6, EndRestarted), do(11, Reassert)},
		},
		"7 suppress starts nothing in this call": {
			func(in *Inputs) { in.I, in.J.Queued = Init{Kind: SuppressInit}, queue }, nil,
		},
		"8 waits for a complete read": {
			func(in *Inputs) { in.V.Read, in.J.Queued = false, queue },
			[]Step{do(8, Wait)},
		},
		"8 a resume of a session the journal knows ended re-asserts": {
			func(in *Inputs) { in.I = Init{Kind: ResumeInit} },
			[]Step{do(8, UseUp), do(8, Reassert)},
		},
		"8 a resume of an unknown session settles it": {
			func(in *Inputs) { in.I, in.J, in.V.Unfinished = Init{Kind: ResumeInit}, Journal{}, true },
			[]Step{do(8, UseUp), do(8, SettleFailed)},
		},
		"8 a resume of an unknown session resumes it where it can": {
			func(in *Inputs) { in.I, in.J, in.Traits = Init{Kind: ResumeInit}, Journal{}, resume },
			[]Step{do(8, UseUp), do(8, StartResume)},
		},
		"8 a used recovery id does nothing again": {
			func(in *Inputs) { in.I, in.J = Init{Kind: ResumeInit, Used: true}, Journal{Known: true} },
			[]Step{do(11, Reassert)},
		},
		"9 a plain init recovers an unknown session where it can": {
			func(in *Inputs) {
				in.J, in.V.Unfinished, in.I, in.Traits = Journal{}, true, Init{Kind: PlainInit}, resume
			},
			[]Step{do(9, StartRecovery)},
		},
		"9 else an unknown unfinished session is settled and its input closed": {
			func(in *Inputs) { in.J, in.V.Unfinished = Journal{Queued: queue}, true },
			[]Step{do(9, SettleFailed), do(9, CloseInputs)},
		},
		"9 without an init it is settled, also where it could resume": {
			func(in *Inputs) { in.J, in.V.Unfinished, in.Traits = Journal{}, true, resume },
			[]Step{do(9, SettleFailed), do(9, CloseInputs)},
		},
		"9 an archived session is not settled anew": {
			func(in *Inputs) { in.J, in.V.Unfinished, in.V.Archived = Journal{}, true, true },
			[]Step{do(11, Reassert)},
		},
		"10 one message a turn": {
			func(in *Inputs) { in.J.Queued, in.Traits = queue, one },
			[]Step{{Row: 10, Do: Start, Items: []string{"u1"}}},
		},
		"10 all that wait in one turn": {
			func(in *Inputs) { in.J.Queued = queue },
			[]Step{{Row: 10, Do: Start, Items: queue}},
		},
		"11 nothing to do re-asserts": {
			func(*Inputs) {}, []Step{do(11, Reassert)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := quiet()
			c.change(&in)
			require.Equal(t, c.want, Reconcile(in))
		})
	}
}

// TestAuthority has one case per clause of table B. The items are u1, an
// answer, u2, u3 unless a case says otherwise.
func TestAuthority(t *testing.T) {
	user := func(id string) wire.Item {
		return wire.Item{ID: id, Type: "message", Role: "user", Content: []byte(`"do ` + id + `"`)}
	}
	answer := wire.Item{ID: "a1", Type: "message", Role: "assistant", ResponseID: "r1"}
	items := []wire.Item{user("u1"), answer, user("u2"), user("u3")}
	no := func(string) bool { return false }
	is := func(ids ...string) func(string) bool {
		return func(id string) bool {
			for _, i := range ids {
				if i == id {
					return true
				}
			}
			return false
		}
	}
	base := Merge{Named: no, Queued: no, Ours: func(wire.Item) bool { return false }}

	for name, c := range map[string]struct {
		change func(*Merge)
		items  []wire.Item
		want   []string
	}{
		"unknown and found by a scan: history":       {func(*Merge) {}, items, nil},
		"unknown and a plain init: the trailing run": {func(m *Merge) { m.Plain = true }, items, []string{"u2", "u3"}},
		"known and beyond the cursor":                {func(m *Merge) { m.Known, m.Beyond = true, 3 }, items, []string{"u3"}},
		"known and before the cursor":                {func(m *Merge) { m.Known, m.Beyond = true, 4 }, items, nil},
		"queued here":                                {func(m *Merge) { m.Queued = is("u2") }, items, []string{"u2"}},
		"pending on our server":                      {func(m *Merge) { m.Pending = []string{"u3"} }, items, []string{"u3"}},
		"a turn names it": {
			func(m *Merge) { m.Known, m.Named = true, is("u2") }, items, []string{"u3"},
		},
		"a foreign answer closes what stands before it": {func(m *Merge) { m.Queued = is("u1") }, items, nil},
		"an answer of ours does not": {
			func(m *Merge) { m.Queued, m.Ours = is("u1"), func(wire.Item) bool { return true } }, items, []string{"u1"},
		},
		"what a compaction has summed up is history": {
			func(m *Merge) { m.Known = true },
			[]wire.Item{user("u1"), {ID: "k", Type: "compaction"}, user("u2")}, []string{"u2"},
		},
		"also for a plain init": {
			func(m *Merge) { m.Plain = true },
			[]wire.Item{user("u1"), {ID: "k", Type: "compaction"}, user("u2")}, []string{"u2"},
		},
		"an item without a role is a user's": {
			func(m *Merge) { m.Known = true }, []wire.Item{{ID: "u1", Type: "message"}}, []string{"u1"},
		},
		"but not what was accepted": {
			func(m *Merge) { m.Queued = is("u1") },
			[]wire.Item{user("u1"), {ID: "k", Type: "compaction"}}, []string{"u1"},
		},
		"a foreign error closes, too": {
			func(m *Merge) { m.Known = true }, []wire.Item{user("u1"), {ID: "e", Type: "error"}}, nil,
		},
		"native: neither the cursor nor the trailing run": {
			func(m *Merge) { m.Native, m.Known, m.Plain = true, true, true }, items, nil,
		},
		"native: the pending list does": {
			func(m *Merge) { m.Native, m.Pending = true, []string{"u2"} }, items, []string{"u2"},
		},
		"the interrupted marker and meta texts are never work": {
			func(m *Merge) { m.Known = true },
			[]wire.Item{
				{ID: "m", Type: "message", Role: "user", Content: []byte(`[{"type":"input_text","text":"[System: interrupted]\nmore"}]`)},
				{ID: "n", Type: "message", Role: "user", IsMeta: true, Content: []byte(`"x"`)},
				user("u9"),
			},
			[]string{"u9"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := base
			c.change(&m)
			require.Equal(t, c.want, Authority(m, c.items))
		})
	}
}
