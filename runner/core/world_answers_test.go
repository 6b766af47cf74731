package core

import (
	"fmt"
	"slices"

	"github.com/outrunner/outrunner/catchup/plan"
	"github.com/outrunner/outrunner/runner/wire"
)

// answer answers a question that is open: a drawn one, but the stores of a
// session in their order, and a failed store not at all, because the driver
// tries it again.
func (w *world) answer(faulty bool) {
	if len(w.open) == 0 {
		return
	}
	at := w.pick(len(w.open), "question")
	if st, ok := w.open[at].effect.(Store); ok {
		at = slices.IndexFunc(w.open, func(q asked) bool { s, ok := q.effect.(Store); return ok && s.Session == st.Session })
	}
	q := w.open[at]
	w.open = slices.Delete(slices.Clone(w.open), at, at+1)
	w.tally.hit(fmt.Sprintf("answer %T", q.effect))
	switch e := q.effect.(type) {
	case ReadSnapshot:
		snap, err := w.read(e.Session, q, faulty)
		w.step(SnapshotRead{Session: e.Session, Gen: e.Gen, Snapshot: snap, Err: err})
	case ReadSpec:
		ev := SpecRead{Session: e.Session, Gen: e.Gen, Spec: w.server.trees[e.AgentID]}
		if ev.Spec == nil {
			ev.Err = wire.ErrNotFound
		}
		if faulty {
			ev.Err = w.fault("spec", errModel, wire.ErrNotFound, wire.ErrRejected)
		}
		w.step(ev)
	case Store:
		w.stored(e, faulty)
	case Scan:
		w.scan(e, q, faulty)
	case CloseHarness:
		boots := w.boots
		for _, p := range slices.Clone(w.programs) {
			if p.session == e.Session && p.closing && w.boots == boots {
				w.end(p, wire.Cancelled)
			}
		}
		if w.boots != boots {
			return // nobody is left to hear of it
		}
		ev := HarnessClosed{Session: e.Session}
		if faulty {
			ev.Err = w.fault("close", errModel)
		}
		w.step(ev)
	case PostWake:
		w.wake(e, q, faulty)
	default:
		w.answerFamily(e, faulty)
	}
}

// wake takes a notice. Its message may arrive, and its turn be over, before the
// runner has the answer to the post.
func (w *world) wake(e PostWake, q asked, faulty bool) {
	var err error
	lost := false
	if faulty {
		err = w.fault("core.PostWake", errModel, wire.ErrRejected)
		lost = w.pick(2, "the reply is lost") == 1
	}
	if !q.done && w.bygone(e.Session, e.Life) {
		err = wire.ErrNotFound
	} else if !q.done && (err == nil || lost) {
		w.server.queue = append(w.server.queue, forward{session: e.Session, item: w.server.store(e.Session, e.Text)})
		if err == nil && !w.calm && w.pick(3, "the answer is slow") == 2 {
			w.tally.hit("answer core.PostWake is slow")
			q.done = true
			w.open = append(w.open, q)
			return
		}
	}
	w.step(WakePosted{Session: e.Session, Life: e.Life, Err: err})
}

// fault draws what goes wrong.
func (w *world) fault(kind string, errs ...error) error {
	n := w.pick(len(errs), "what goes wrong")
	w.tally.hit(fmt.Sprintf("fault %s: %v", kind, errs[n]))
	return errs[n]
}

// read answers a read of a snapshot: as it is now, as it was when it was asked,
// not at all, as absent, or with an object that says nothing.
func (w *world) read(session string, q asked, faulty bool) (wire.Snapshot, error) {
	s := w.server.sessions[session]
	if s == nil || s.gone {
		return wire.Snapshot{}, wire.ErrNotFound
	}
	if !faulty {
		if q.seen.ID != "" && !w.calm && w.pick(3, "an old answer") == 2 {
			w.tally.hit("answer that was true when it was asked for")
			return q.seen, nil
		}
		return w.server.snapshot(session), nil
	}
	switch w.pick(5, "what goes wrong") {
	case 3:
		w.tally.hit("fault snapshot: 404")
		w.lied[session] = true
		return wire.Snapshot{}, wire.ErrNotFound
	case 4:
		w.tally.hit("fault snapshot: an empty object")
		w.lied[session] = true
		return wire.Snapshot{ID: session}, nil
	case 2:
		w.tally.hit("fault snapshot: of another session")
		return wire.Snapshot{}, fmt.Errorf("the server answered with session other")
	}
	w.tally.hit("fault snapshot: 500")
	return wire.Snapshot{}, errModel
}

func (w *world) scan(e Scan, q asked, faulty bool) {
	o := e.Sessions[0]
	ev := Scanned{Session: o.Session, Tunnel: e.Tunnel, Gen: o.Gen, After: o.After}
	where := w.pick(2, "the fault is in")
	ev.Snapshot, ev.SnapshotErr = w.read(o.Session, q, faulty && where == 0)
	s := w.server.sessions[o.Session]
	if s != nil && ev.SnapshotErr == nil {
		from := s.position(o.After) + 1
		ev.Items = slices.Clone(s.items[from:])
		if faulty && where == 1 {
			if w.pick(3, "what goes wrong") == 2 && o.After != "" {
				w.tally.hit("fault items: stale cursor")
				ev.Restarted, ev.Items = true, slices.Clone(s.items)
			} else {
				ev.Items, ev.ItemsErr = nil, w.fault("items", errModel)
			}
		}
	}
	live := w.core.sessions[o.Session]
	suppressed := live != nil && live.init.kind == plan.SuppressInit // that holds for the first one only
	boots := w.boots
	w.step(ev)
	if w.boots == boots && !suppressed && ev.SnapshotErr == nil && ev.ItemsErr == nil && !w.calm && w.rarely(6, "the same again") {
		w.tally.hit("answer Scanned twice")
		w.twice = true
		w.step(ev)
		w.twice = false
	}
}

// stored acknowledges an item; a lost reply is sent again by the driver.
func (w *world) stored(e Store, faulty bool) {
	if faulty && w.pick(3, "what goes wrong") < 2 {
		if w.pick(2, "the reply is lost") == 1 {
			w.tally.hit("fault store: lost reply")
			w.server.keep(e.Session, e.Out)
		} else {
			w.tally.hit("fault store: 500")
		}
		w.open = slices.Insert(w.open, 0, asked{effect: e})
		return
	}
	ev := Stored{Session: e.Session, Source: e.Out.SourceID}
	if faulty {
		ev.Err = w.fault("store", wire.ErrRejected, wire.ErrNotFound)
	} else {
		w.server.keep(e.Session, e.Out)
	}
	w.acked[e.Out.SourceID] = true
	w.step(ev)
}

// answerFamily answers the questions of parents and children.
func (w *world) answerFamily(e Effect, faulty bool) {
	var err error
	lost := false // the server did it, and its answer did not arrive
	if faulty {
		err = w.fault(fmt.Sprintf("%T", e), errModel)
		lost = w.pick(2, "the reply is lost") == 1
	}
	sv := w.server
	switch e := e.(type) {
	case Evaluate:
		ev := Evaluated{Session: e.Session, Life: e.Life, Result: e.Result, Err: err}
		verdicts := []string{"ALLOW", "UNSPECIFIED", "DENY", "ASK", "ALLOW"}
		n := w.pick(len(verdicts), "verdict")
		ev.Action = "POLICY_ACTION_" + verdicts[n]
		if n == 4 {
			ev.Data = encode(w.token())
		}
		w.step(ev)
	case PatchLabels:
		if s := sv.sessions[e.Session]; s != nil && (err == nil || lost) {
			s.label(e.Labels)
			s.begun[e.Labels[labelDispatch]] = true // it went into a turn, or nobody waits for it
		}
		w.step(LabelsPatched{Session: e.Session, Labels: e.Labels, Err: err})
	case ReadChildren:
		ev := ChildrenRead{Session: e.Session, Err: err}
		if err == nil {
			ev.Children = sv.kids(e.Session)
		}
		w.step(ev)
	case ReadText:
		ev := TextRead{Session: e.Session, Err: err}
		if err == nil {
			ev.Text, ev.Found = sv.text(e.Session, e.After)
		}
		w.step(ev)
	case CallTool:
		w.step(ToolAnswered{Session: e.Session, Turn: e.Turn, CallID: e.CallID, Output: "done", Err: err})
	case JudgeUse:
		verdict := choose(w, []string{"ALLOW", "DENY", "ASK"}, "verdict")
		w.step(UseJudged{Session: e.Session, Turn: e.Turn, Question: e.Question, Action: "POLICY_ACTION_" + verdict, Err: err})
	case JudgePhase:
		ev := PhaseJudged{Session: e.Session, Turn: e.Turn, ID: e.ID, Phase: e.Phase, Err: err}
		if err == nil {
			ev.Verdict.Action = "POLICY_ACTION_" + choose(w, []string{"ALLOW", "DENY"}, "verdict")
		}
		w.step(ev)
	case UseTerminal:
		ev := TerminalUsed{Session: e.Session, Key: e.Key, Output: "a terminal"}
		if err != nil {
			ev.Output = "Error: " + err.Error()
		}
		w.step(ev)
	case LookUp:
		w.step(LookedUp{Req: e.Req, Output: "here", Err: err})
	default:
		w.answerSend(e, err, lost)
	}
}

// answerSend answers the questions of a tool call that starts or stops work.
func (w *world) answerSend(e Effect, err error, lost bool) {
	sv := w.server
	switch e := e.(type) {
	case FindChild:
		ev := ChildFound{Session: e.Session, Key: e.Key, Err: err}
		if err == nil {
			ev.Child, ev.Found = sv.find(e)
		}
		w.step(ev)
	case ListSiblings:
		ev := SiblingsListed{Session: e.Session, Key: e.Key, Err: err}
		if err == nil {
			ev.Children = sv.kids(e.Session)
		}
		w.step(ev)
	case CreateChild:
		ev := ChildCreated{Session: e.Session, Key: e.Key, Err: err}
		if err == nil {
			ev.Child, ev.Err = sv.create(e.Child)
		}
		w.step(ev)
	case StampChild:
		if err == nil || lost {
			sv.sessions[e.Child].label(e.Labels)
		}
		w.step(ChildStamped{Session: e.Session, Key: e.Key, Err: err})
	case PostTask:
		s := sv.sessions[e.Child]
		if s.gone && err == nil {
			err = wire.ErrNotFound
		}
		if !s.gone && (err == nil || lost) {
			s.begun[s.labels[labelDispatch]] = true
			sv.queue = append(sv.queue, forward{session: e.Child, item: sv.store(e.Child, e.Text)})
		}
		w.step(TaskPosted{Session: e.Session, Key: e.Key, Err: err})
	case SpawnSession:
		ev := SessionSpawned{Session: e.Session, Key: e.Key, Err: err}
		if err == nil {
			ev.Child, ev.Err = sv.create(e.Child)
			if e.Message != "" {
				sv.queue = append(sv.queue, forward{session: ev.Child, item: sv.store(ev.Child, e.Message)})
			}
		}
		w.step(ev)
	case PostControl:
		if err == nil || lost {
			sv.queue = append(sv.queue, forward{session: e.Child, control: e.Type})
		}
		w.step(ControlPosted{Session: e.Session, Child: e.Child, Type: e.Type, Soft: e.Soft, Req: e.Req, Err: err})
	default:
		w.t.Fatalf("nobody answers %T", e)
	}
}
