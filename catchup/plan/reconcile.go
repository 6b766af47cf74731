package plan

import "github.com/outrunner/outrunner/runner/wire"

// Do is what a step asks for.
type Do int

// The steps.
const (
	// Wait: something that a row needs is not known yet; ask again when it is.
	Wait Do = iota
	// Drop the open turn and tell nobody: the session is not ours any more.
	Drop
	// Running: a turn lives; re-assert it and let new items queue.
	Running
	// Reassert the status that the journal knows: idle, waiting, or failed.
	Reassert
	// EndAs ends the open turn as the server has stored it (End).
	EndAs
	// EndRestarted ends the open turn failed with runner_restarted.
	EndRestarted
	// EndResumed ends the open turn as resumed by the one that follows.
	EndResumed
	// StartAgain starts the open turn's own inputs again as a new turn.
	StartAgain
	// StartResume starts one turn on the resume text.
	StartResume
	// StartRecovery starts one turn on the unanswered input of an unknown session.
	StartRecovery
	// SettleFailed tells the server that what it believes to run does not.
	SettleFailed
	// CloseInputs makes the trailing user items history.
	CloseInputs
	// Start a turn on Items.
	Start
	// SendToPane hands Items to the live pane.
	SendToPane
	// UseUp marks the init's recovery id as used.
	UseUp
)

// Step is one thing to do, with the row of the table that asked for it.
type Step struct {
	Row   int
	Do    Do
	Items []string
	End   *wire.TurnEnd
}

// Reconcile decides what a session needs now. The steps are to be applied in
// order. It is table A of the design, first match wins; a row that says "go on
// to 7" adds its steps and goes on there.
func Reconcile(in Inputs) []Step {
	var r rows
	j, v, i := in.J, in.V, in.I
	resuming := i.Kind == ResumeInit && !i.Used

	// 1
	if !in.IdentityKnown {
		return r.add(1, Wait).steps
	}
	// 2
	if v.Gone || v.Foreign {
		if j.Turn == OpenTurn && in.L != PaneLive {
			r.add(2, Drop)
		}
		return r.steps
	}
	// 3
	if in.L == TurnLive {
		return r.add(3, Running).useUp(3, resuming).steps
	}
	// 4
	if in.L == PaneLive {
		r.add(4, Reassert).useUp(4, resuming)
		if in.PaneIdle && len(j.Queued) > 0 {
			r.items(4, SendToPane, j.Queued)
		}
		return r.steps
	}
	if j.Turn == OpenTurn {
		switch {
		case !v.Read:
			return r.add(5, Wait).steps
		// 5
		case v.Outcome != nil:
			r.end(5, EndAs, v.Outcome)
			j.Turn = EndedTurn
		// 6
		case in.Traits.Resume && resuming:
			return r.add(6, EndResumed).add(6, StartResume).useUp(6, true).steps
		case in.Traits.Resume && in.InitMayCome:
			return r.add(6, Wait).steps
		case in.Traits.Resume && !j.Output:
			return r.add(6, StartAgain).steps
		default:
			r.add(6, EndRestarted).useUp(6, resuming)
			j.Turn, resuming = EndedTurn, false
		}
	}
	// 7
	if i.Kind == SuppressInit {
		return r.steps
	}
	if !v.Read {
		return r.add(8, Wait).steps
	}
	// An archived session gets rows 3 to 6 and what the journal has accepted.
	if v.Archived {
		return r.startQueued(in.Traits, j.Queued).steps
	}
	// 8
	if resuming {
		r.useUp(8, true)
		switch {
		case len(j.Queued) > 0: // accepted here: what the session is to do now
			r.startQueued(in.Traits, j.Queued)
		case j.Known && j.Turn == EndedTurn:
			r.add(8, Reassert)
		case in.Traits.Resume:
			r.add(8, StartResume)
		default:
			r.add(8, SettleFailed)
		}
		return r.steps
	}
	// 9
	if !j.Known && v.Unfinished {
		if i.Kind == PlainInit && in.Traits.Resume {
			return r.add(9, StartRecovery).steps
		}
		return r.add(9, SettleFailed).add(9, CloseInputs).steps
	}
	// 10
	if len(j.Queued) > 0 {
		return r.startQueued(in.Traits, j.Queued).steps
	}
	// 11
	return r.add(11, Reassert).steps
}

// rows gathers steps.
type rows struct{ steps []Step }

func (r *rows) add(row int, do Do) *rows {
	r.steps = append(r.steps, Step{Row: row, Do: do})
	return r
}

func (r *rows) end(row int, do Do, end *wire.TurnEnd) *rows {
	r.steps = append(r.steps, Step{Row: row, Do: do, End: end})
	return r
}

func (r *rows) items(row int, do Do, items []string) *rows {
	r.steps = append(r.steps, Step{Row: row, Do: do, Items: items})
	return r
}

func (r *rows) useUp(row int, yes bool) *rows {
	if yes {
		r.add(row, UseUp)
	}
	return r
}

// startQueued is row 10: the oldest item alone where the harness takes one
// message a turn, else all of them in one turn.
func (r *rows) startQueued(t wire.Traits, queued []string) *rows {
	switch {
	case len(queued) == 0:
		return r.add(11, Reassert)
	case t.OneMessagePerTurn:
		return r.items(10, Start, queued[:1])
	default:
		return r.items(10, Start, queued)
	}
}
