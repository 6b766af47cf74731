package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// I10: a payload is queued before its wake, the notice counts what waits, and a
// parent has one wake out at a time.
//
// I11: a parent at rest with results unread was told of them, or is being told,
// or the last attempt failed, or the same words were delivered before.
//
// I12: a reading conserves results: each is shown for good or kept, once; what a
// policy refused, or could not judge, is never shown. What a turn has read that
// was cut off by the runner's death is there once more, marked.
//
// An operation that was answered is answered the same again ("again").
type wakeChecks struct {
	clock    int
	waking   map[string]int            // parent -> when the open post was made
	toldAt   map[string]int            // parent -> when a wake was posted that arrived
	turnAt   map[string]int            // parent -> when its last turn began
	stopped  map[string]bool           // parent -> its last turn was cancelled
	failed   map[string]bool           // the last post failed
	queuedAt map[string]map[int]int    // parent -> result -> when
	verdicts map[string]map[int]string // parent -> result -> the policy's word, with its data
	taken    map[string]map[int]bool
	byTurn   map[string][]result // parent whose turn is open -> what was read since it opened
	answers  map[string]string   // parent + operation -> what it was told
}

func newWakeChecks() wakeChecks {
	return wakeChecks{
		waking: map[string]int{}, toldAt: map[string]int{}, turnAt: map[string]int{}, stopped: map[string]bool{}, failed: map[string]bool{},
		queuedAt: map[string]map[int]int{}, verdicts: map[string]map[int]string{}, taken: map[string]map[int]bool{}, byTurn: map[string][]result{}, answers: map[string]string{},
	}
}

// turnsOfParents notes which turn reads: it may be cut off.
func (w *world) turnsOfParents(r wire.Record) {
	if r.Kind == wire.RecOpened {
		w.byTurn[r.Session] = []result{}
	} else {
		delete(w.byTurn, r.Session)
	}
}

// returned puts back what a turn has read that was cut off.
func (w *world) returned(ev Event, parent string) {
	_, first := ev.(Restored)
	back := w.byTurn[parent]
	w.must(first && len(back) > 0, "I12", "what nobody took from %s is there again in %T", parent, ev)
	for n := range back {
		back[n].Shown = true
		delete(w.taken[parent], back[n].N)
		w.queuedAt[parent][back[n].N] = w.clock
	}
	w.inbox[parent] = append(back, w.inbox[parent]...)
	w.byTurn[parent] = []result{}
}

func (w *world) wakeBooted() {
	clear(w.waking)
	clear(w.verdicts)
}

func (w *world) wakeBefore(ev Event) {
	w.clock++
	switch ev := ev.(type) {
	case WakePosted:
		if w.bygone(ev.Session, ev.Life) {
			break
		}
		if ev.Err == nil {
			w.toldAt[ev.Session] = max(w.toldAt[ev.Session], w.waking[ev.Session])
		}
		w.failed[ev.Session] = ev.Err != nil
		delete(w.waking, ev.Session)
	case Evaluated:
		if w.bygone(ev.Session, ev.Life) {
			break
		}
		if w.verdicts[ev.Session] == nil {
			w.verdicts[ev.Session] = map[int]string{}
		}
		word := strings.TrimPrefix(ev.Action, "POLICY_ACTION_")
		if len(ev.Data) > 0 {
			var data string
			w.decode(ev.Data, &data)
			word = "DATA " + data
		}
		if ev.Err != nil {
			word = "ERR"
		}
		w.verdicts[ev.Session][ev.Result] = word
	}
}

// bygone tells whether a session was deleted since it was asked for an answer.
func (w *world) bygone(session string, life uint64) bool {
	s := w.core.sessions[session]
	return s == nil || s.life() != life
}

func (w *world) queued(parent string, res result) {
	if w.queuedAt[parent] == nil {
		w.queuedAt[parent] = map[int]int{}
	}
	w.queuedAt[parent][res.N] = w.clock
}

func (w *world) wakes(e PostWake) {
	n := len(w.inbox[e.Session])
	w.must(n > 0, "I10", "%s is woken, and nothing waits", e.Session)
	var counted int
	_, tail, _ := strings.Cut(e.Text, " — ")
	_, err := fmt.Sscanf(tail, "%d result", &counted)
	w.must(err == nil && counted >= 1 && counted <= n, "I10", "%d wait, and the notice says %s", n, e.Text)
	_, out := w.waking[e.Session]
	w.must(!out, "I10", "a second wake of %s is out", e.Session)
	w.waking[e.Session] = w.clock
	for _, res := range w.inbox[e.Session] {
		w.must(res.Child != e.Session, "I10", "%s is woken by itself", e.Session)
	}
}

func (w *world) judging(e Evaluate) { delete(w.verdicts[e.Session], e.Result) }

// drains checks a reading of the inbox, or the answer of another operation,
// which takes nothing.
func (w *world) drains(parent string, d drained) {
	if d.Op != "" {
		key := parent + " " + d.Op
		w.must(w.answers[key] == "", "I12", "the operation %s is answered twice", d.Op)
		w.answers[key] = d.Text
	}
	for _, res := range w.inbox[parent] {
		taken := slices.Contains(d.Taken, res.N)
		unique := strings.HasPrefix(res.Output, "«") && !w.saidTwice(parent, res)
		shown := strings.Contains(d.Text, res.Output)
		word := w.verdicts[parent][res.N]
		data, replaced := strings.CutPrefix(word, "DATA ")
		switch {
		case !taken:
			w.must(!unique || !shown, "I12", "%s shows %q and keeps it", parent, res.Output)
			continue
		case res.Shown && !strings.Contains(d.Text, shownBefore(res)):
			w.must(false, "I12", "%s takes %q again, and is not told so", parent, res.Output)
		case res.Status == workCancelled:
			w.must(shown, "I12", "%s takes the cancelled %q and does not show it", parent, res.Output)
		case word == "ERR" || word == "":
			w.must(false, "I12", "%s takes %q, of which no policy has judged", parent, res.Output)
		case replaced:
			w.must(!unique || !shown && strings.Contains(d.Text, data), "I12", "%s is not shown %q for %q", parent, data, res.Output)
		case word == "DENY" || word == "ASK":
			w.must(!unique || !shown, "I12", "%s is shown %q, which is refused", parent, res.Output)
		default:
			w.must(shown, "I12", "%s takes %q and does not show it", parent, res.Output)
		}
		if w.taken[parent] == nil {
			w.taken[parent] = map[int]bool{}
		}
		w.must(!w.taken[parent][res.N], "I12", "%s takes %d twice", parent, res.N)
		w.taken[parent][res.N] = true
		if res.Shown {
			w.tally.hit("row what was read by a turn that was cut off is read again")
		}
		if took, open := w.byTurn[parent]; open {
			w.byTurn[parent] = append(took, res)
		}
		if _, there := w.kids[res.Child]; there && !res.Guess {
			w.retired[res.WorkID] = true
		}
	}
	for _, n := range d.Taken {
		there := slices.ContainsFunc(w.inbox[parent], func(res result) bool { return res.N == n })
		w.must(there, "I12", "%s takes %d, which is not there", parent, n)
	}
}

// saidTwice tells whether two ends of one task, of which the later one counts,
// wait with the same text.
func (w *world) saidTwice(parent string, res result) bool {
	return slices.ContainsFunc(w.inbox[parent], func(other result) bool { return other.N != res.N && other.Output == res.Output })
}

// shownBefore is what marks a result that is shown again.
func shownBefore(res result) string {
	return fmt.Sprintf("sub-agent task %s %s (shown before)", res.Child, res.Status)
}

// heard checks what a reader is answered.
func (w *world) heard(q *request, e Reply) {
	call := q.ev.(ToolCall)
	var body struct {
		Result *struct {
			Output string `json:"output"`
		} `json:"result"`
	}
	if json.Unmarshal(e.Body, &body) != nil || body.Result == nil || call.Op == "" {
		return
	}
	told, known := w.answers[call.Session+" "+call.Op]
	w.must(known && told == body.Result.Output, "I12", "%s is told %q, and the journal says %q", call.Op, body.Result.Output, told)
}

// everyoneWasTold is I11; the world is at rest.
func (w *world) everyoneWasTold() {
	for _, parent := range slices.Sorted(maps.Keys(w.inbox)) {
		s, truth := w.core.sessions[parent], w.server.sessions[parent]
		if s == nil || !s.atRest() || s.spec == nil || truth.gone || truth.foreign || w.lied[parent] {
			continue
		}
		_, harness, err := w.core.resolve(s)
		if traits, _ := w.core.cfg.Traits(harness); err == nil && traits.OneMessagePerTurn {
			continue // it runs its input as a command
		}
		for _, res := range w.inbox[parent] {
			at := w.queuedAt[parent][res.N]
			_, out := w.waking[parent]
			// A turn that was told and has read nothing is told once more, unless a
			// person stopped it; then the conversation says so.
			latest := w.core.latestResult(s)
			mourned := latest != nil && s.wakes.mourned == latest.ID
			told := w.toldAt[parent] > w.turnAt[parent] || w.stopped[parent] && w.turnAt[parent] >= at || mourned
			same := latest != nil && strings.Contains(s.wakes.lastText, fmt.Sprintf("%s/%s finished (%s) — %d result", latest.Agent, latest.Title, latest.State, len(s.Inbox.Queue)))
			w.must(out || told || w.failed[parent] || same, "I11", "%q waits in %s, and nobody says so: %+v", res.Output, parent, s.wakes)
		}
	}
}
