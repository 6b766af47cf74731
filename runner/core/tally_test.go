package core

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

// tally counts what the worlds of a run have met: events, answers, faults,
// preconditions of the rows, and how often each invariant was checked.
type tally struct {
	worlds int
	counts map[string]int
}

func newTally() *tally { return &tally{counts: map[string]int{}} }

func (ty *tally) hit(what string) { ty.counts[what]++ }

// sum is the tally of a whole run.
func sum(parts []*tally) *tally {
	all := newTally()
	for _, part := range parts {
		all.worlds += part.worlds
		for what, n := range part.counts {
			all.counts[what] += n
		}
	}
	return all
}

// enough is how often each must be met in 100,000 worlds and more.
const enough = 100

// require fails when something was met too rarely, or is not on the list; with
// -v it shows all. A run of fewer worlds must meet less: in proportion, and of
// that a quarter, since it is left to chance.
func (ty *tally) require(t *testing.T) {
	var report strings.Builder
	for _, what := range sortedKeys(ty.counts) {
		fmt.Fprintf(&report, "%9d %s\n", ty.counts[what], what)
	}
	t.Logf("%d worlds, seed %s\n%s", ty.worlds, flag.Lookup("rapid.seed").Value, report.String())
	least := enough
	if ty.worlds < 100_000 {
		least = enough * ty.worlds / 100_000 / 4
	}
	listed := map[string]bool{}
	for _, what := range strings.Split(strings.TrimSpace(met), "\n") {
		listed[what] = true
		if n := ty.counts[what]; n < least {
			t.Errorf("%q was met %d times in %d worlds", what, n, ty.worlds)
		}
	}
	for _, what := range sortedKeys(ty.counts) {
		if !listed[what] {
			t.Errorf("%q was met and is not on the list", what)
		}
	}
}
