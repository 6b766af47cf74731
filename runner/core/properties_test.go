package core

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// worlds is how many random worlds a run tries. CI's own run is of 100,000
// (make properties).
var worlds = flag.Int("worlds", 1400, "how many random worlds the properties try")

// TestInvariants lets random worlds run, of several mixes, and checks all
// invariants in each of them; a failure names the invariant first. At the end it
// requires that the worlds met all that they are made of.
func TestInvariants(t *testing.T) {
	counts := make([]*tally, len(mixes))
	t.Run("worlds", func(t *testing.T) {
		for n, m := range mixes {
			counts[n] = newTally()
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) { anyWorld(t, m, counts[n]) })
			})
		}
	})
	if !t.Failed() {
		sum(counts).require(t)
	}
}

func anyWorld(t *rapid.T, m mix, counts *tally) {
	counts.worlds++
	w := newWorld(t, m, counts)
	defer w.unfinished()
	t.Repeat(map[string]func(*rapid.T){"act": func(*rapid.T) { w.act() }})
	w.settle()
	w.done = true
}

// unfinished shows the dialogue of a world that did not come to its end.
func (w *world) unfinished() {
	if !w.done {
		w.t.Logf("as a script:\n\n# %s\n%s", w.mix.name, dialogue{w})
	}
}

// dialogue is rendered only if somebody reads it: most worlds that fail are on
// the way to a smaller one.
type dialogue struct{ *world }

func (d dialogue) String() string { return d.tell() }

// TestWorldsAreScripts: what a world tells of itself, played as a script, is what
// happened. So the dialogue of one that fails can be put under testdata.
func TestWorldsAreScripts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, mixes[rapid.IntRange(0, len(mixes)-1).Draw(rt, "mix")], newTally())
		rt.Repeat(map[string]func(*rapid.T){"act": func(*rapid.T) { w.act() }})
		w.settle()
		require.Equal(rt, w.tell(), scenario{text: w.tell()}.play(t))
	})
}

// TestOrderOfReads is the first half of I2 by itself: in whatever order a session
// is made known to a runner, it runs the same harness in the end.
func TestOrderOfReads(t *testing.T) {
	counts := newTally()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, mix{name: "reads", cast: []string{"C"}}, counts)
		w.calm = true
		w.server.sessions["C"].override = ""
		for _, name := range rapid.Permutation([]string{"init", "ended", "stream", "get", "up", "message", "list tools"}).Draw(t, "order") {
			switch {
			case name == "ended":
				w.request("status", "C", "", func(r Req) Event { return Status{Req: r, Session: "C", Status: "idle"} })
			case !w.requested(name):
				w.perform(name)
			}
			for range w.pick(3, "answers") {
				w.answer(false)
			}
		}
		w.drain()
		if w.harnesses["C"] != "acp:worker" {
			t.Fatalf("I2: C runs %q in the end", w.harnesses["C"])
		}
	})
}
