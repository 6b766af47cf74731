//go:build unix

package embedded

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

func decode(text []byte, out any) error { return json.Unmarshal(text, out) }

// completed waits until the server knows it of both children; the parent may
// know sooner.
func (w *world) completed() {
	w.t.Helper()
	testkit.Until(w.t, testkit.Patience, func() bool {
		kids := w.children()
		return kids["worker"].Status == "completed" && kids["critic"].Status == "completed"
	}, testkit.Is("the children have not completed"))
}

// A parent's program gives tasks to two sub-agents with programs of their own:
// each is answered by its own, and the parent is woken and reads each result
// once.
func TestSubAgentsWithTheirOwnPrograms(t *testing.T) {
	w := newWorld(t)
	w.Send(w.root, "GO")
	for _, agent := range []string{"worker", "critic"} {
		testkit.Until(t, testkit.Patience, func() bool { return w.told(agent+" has done it") > 0 }, testkit.Is("the result of "+agent+" is not read"))
	}
	w.completed()
	kids := w.children()
	require.Len(t, kids, 2)
	require.ElementsMatch(t, []string{"worker " + kids["worker"].ID, "critic " + kids["critic"].ID}, w.noted("ran"))
	for agent := range kids {
		require.Equal(t, 1, w.told(agent+" has done it"))
		testkit.Until(t, testkit.Patience, func() bool {
			labels := w.children()[agent].Labels
			return labels["omnigent.subagent.dispatch_id"] != "" && labels["omnigent.subagent.dispatch_id"] == labels["omnigent.subagent.delivered_id"]
		}, testkit.Is("the receipt of "+agent+" is not written"))
	}
}

// The runner is killed while its children work, and comes back, with its journal
// or without: each child's turn has failed, the parent is told once, and nothing
// is run a second time.
func TestARunnerKilledOverItsChildren(t *testing.T) {
	for name, prepare := range map[string]func(*world){
		"and back": func(*world) {},
		"and its journal lost": func(w *world) {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if err := os.Remove(w.runner.Journal() + suffix); err != nil {
					require.ErrorIs(w.t, err, os.ErrNotExist)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Send(w.root, "GO-HOLD")
			testkit.Until(t, testkit.Patience, func() bool {
				s, err := w.Session(w.root)
				kids := w.children()
				return err == nil && s.Status == "waiting" && len(w.noted("ran")) == 2 &&
					kids["worker"].Status == "in_progress" && kids["critic"].Status == "in_progress"
			}, testkit.Is("the children do not run"))
			w.runner.Kill()
			testkit.Until(t, testkit.Patience, func() bool { return !w.Online() }, testkit.Is("the runner is still online"))
			prepare(w)
			w.runner.Start()
			w.WaitOnline()
			testkit.Until(t, testkit.Patience, func() bool {
				kids := w.children()
				return kids["worker"].Status == "failed" && kids["critic"].Status == "failed"
			}, testkit.Is("the children are not settled"))
			testkit.Until(t, testkit.Patience, func() bool { return w.told("failed — worker:")+w.told("failed — critic:") >= 2 },
				testkit.Is("the parent has not read the results"))
			// The title of a task that no journal knows may be its agent's name.
			require.Equal(t, 1, w.told("failed — worker:"))
			require.Equal(t, 1, w.told("failed — critic:"))
			require.Len(t, w.noted("ran"), 2, "nothing is run again")
		})
	}
}

// The server is killed while the children work, and comes back: the runner is
// told to go on with turns that it never stopped, and each ends once.
func TestAServerKilledOverItsChildren(t *testing.T) {
	w := newWorld(t)
	w.Send(w.root, "GO-GATE")
	testkit.Until(t, testkit.Patience, func() bool { return len(w.noted("ran")) == 2 }, testkit.Is("the children do not run"))
	before := w.children()
	w.Kill()
	w.Start()
	w.WaitOnline()
	for _, agent := range []string{"worker", "critic"} {
		w.open(agent)
	}
	for _, agent := range []string{"worker", "critic"} {
		testkit.Until(t, testkit.Patience, func() bool { return w.told(agent+" has done it") > 0 }, testkit.Is("the result of "+agent+" is not read"))
	}
	w.completed()
	for agent, kid := range w.children() {
		require.Equal(t, before[agent].ID, kid.ID)
		require.Equal(t, 1, w.told(agent+" has done it"))
	}
	require.Len(t, w.noted("ran"), 2)
}
