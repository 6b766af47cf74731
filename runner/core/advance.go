package core

import (
	"errors"

	"github.com/outrunner/outrunner/catchup/plan"
	"github.com/outrunner/outrunner/runner/wire"
)

// patientScans is how many scans in a row may fail before accepted items stop
// waiting for a complete read of the session.
const patientScans = 3

// advance asks what a session needs now, and does it. Every handler that
// changed something ends here; calling it when nothing changed does nothing.
func (c *Core) advance(s *session) {
	c.finishTurns(s)
	if s.closing != nil || c.retired || !s.hasWork() {
		return
	}
	in := plan.Inputs{
		IdentityKnown: s.view.gone || s.view.foreign || c.identified(s),
		J: plan.Journal{
			Known:  s.known() && !s.init.strange || len(s.Queued) > 0,
			Queued: s.queuedIDs(),
		},
		V: plan.View{
			Read: s.view.read, Gone: s.view.gone, Foreign: s.view.foreign, Archived: s.view.archived,
			Unfinished: s.view.unfinished, Outcome: s.view.outcome,
		},
		I: plan.Init{Kind: s.init.kind, Used: s.usedRecovery(s.init.recoveryID)},

		InitMayCome: s.initMayCome(c.tunnel),
	}
	switch {
	case s.Open != nil:
		in.J.Turn, in.J.Output = plan.OpenTurn, s.Open.Output
	case len(s.Turns) > 0:
		in.J.Turn = plan.EndedTurn
	}
	if s.live {
		in.L = plan.TurnLive
	}
	if s.retries >= patientScans && s.Open == nil {
		in.V.Read = true
	}
	if s.spec != nil || s.specErr != nil {
		_, harness, _ := c.resolve(s)
		in.Traits, _ = c.cfg.Traits(harness)
	}
	c.carryOut(s, plan.Reconcile(in))
}

// hasWork tells whether there is anything to decide beyond the status, which
// is re-asserted whenever a stream opens.
func (s *session) hasWork() bool {
	return len(s.Queued) > 0 || s.Open != nil || s.init.kind != plan.NoInit || s.init.strange && s.view.unfinished
}

func (c *Core) carryOut(s *session, steps []plan.Step) {
	if resumes(steps) && len(s.Outbox) > 0 {
		return
	}
	decided, again := s.view.read, false
	for _, step := range steps {
		switch step.Do {
		case plan.Wait:
			decided = false
			if step.Row == 6 {
				c.awaitInit(s)
			}
		case plan.Running:
			c.steer(s)
		case plan.Reassert:
			// The status of the stream is kept current by whoever changes it.
		case plan.Drop:
			c.drop(s)
		case plan.EndAs:
			c.endTurn(s, *step.End)
			again = true
		case plan.EndRestarted:
			c.endTurn(s, restarted(s.Open))
			again = true
		case plan.EndResumed:
			// The turn that resumes it ends it.
		case plan.StartAgain:
			c.again(s)
		case plan.StartResume, plan.StartRecovery:
			c.resume(s)
		case plan.SettleFailed:
			c.failItems(s, nil, restarted(nil).Error)
		case plan.CloseInputs:
			for _, id := range s.queuedIDs() {
				c.record(wire.Record{Kind: wire.RecItem, Session: s.id, Item: id, ItemState: wire.ItemHistory})
			}
		case plan.Start:
			if !again {
				c.start(s, step.Items)
			}
		case plan.UseUp:
			if !s.usedRecovery(s.init.recoveryID) {
				c.record(wire.Record{Kind: wire.RecRecoveryID, Session: s.id, Source: s.init.recoveryID})
			}
		case plan.SendToPane:
			// Only native sessions have panes, and no harness here is native.
		}
	}
	if again {
		// What waits is decided on what the end left: a stop may have
		// cancelled it.
		c.advance(s)
		return
	}
	if decided {
		suppressed := s.init.kind == plan.SuppressInit
		s.init.kind, s.init.recoveryID, s.init.strange = plan.NoInit, "", false
		if suppressed {
			// The init started nothing; what was accepted meanwhile may.
			c.advance(s)
		}
	}
}

// restarted is the end of a turn that this runner's own death cut off.
func restarted(t *turn) wire.TurnEnd {
	msg := "The runner was restarted while this turn ran; its command was not run again."
	if t != nil && !t.Output {
		msg = "The runner was restarted before this turn produced output; its command may have begun and was not run again."
	}
	return wire.TurnEnd{Outcome: wire.Failed, Error: &wire.TurnError{
		Code: wire.CodeRunnerRestarted, Message: msg,
		Remediation: "Check what the command has done, then send the message again if it should run once more.",
	}}
}

// drop forgets the open turn of a session that is not ours any more: its new
// owner speaks for it.
func (c *Core) drop(s *session) {
	t := s.Open
	if s.live {
		s.live, s.held = false, false
		c.effect(CloseHarness{Session: s.id})
	}
	c.record(wire.Record{Kind: wire.RecEnded, Session: s.id, Turn: t.ID, End: &wire.TurnEnd{Outcome: wire.Cancelled}})
	for _, e := range s.Outbox {
		if e.Turn == t.ID {
			c.record(wire.Record{Kind: wire.RecStored, Session: s.id, Source: e.Out.SourceID})
		}
	}
	c.record(wire.Record{Kind: wire.RecSeen, Session: s.id, Turn: t.ID})
	c.log(s, Warn, "the session is not ours any more; its open turn was dropped", nil)
}

// identified makes sure that what decides the harness is known, asking for
// what is not. An agent that the server has settled as unusable is known too.
func (c *Core) identified(s *session) bool {
	if !s.Identity.settled() {
		c.askSnapshot(s)
		return false
	}
	if s.spec == nil && s.specErr == nil {
		c.askSpec(s)
		return false
	}
	return true
}

func (c *Core) askSnapshot(s *session) {
	if s.ask("snapshot") {
		c.effect(ReadSnapshot{Session: s.id, Gen: s.gen})
	}
}

func (c *Core) askSpec(s *session) {
	if s.ask("spec") {
		c.effect(ReadSpec{Session: s.id, Gen: s.gen, AgentID: s.Identity.AgentID, Revision: s.Identity.Revision})
	}
}

// ask opens a question; a second asker joins the open one.
func (s *session) ask(question string) bool {
	if s.asked[question] {
		return false
	}
	s.asked[question] = true
	return true
}

// resolve is the one place where an identity becomes a harness: the override,
// else the name in the tree, else the top level (design 5).
func (c *Core) resolve(s *session) (spec *wire.Spec, harness string, err *wire.TurnError) {
	if s.specErr != nil {
		return nil, "", s.specErr
	}
	spec = s.spec
	if name := s.Identity.SubAgent; name != "" {
		if spec = s.spec.Find(name); spec == nil {
			return nil, "", &wire.TurnError{
				Code:        wire.CodeSubAgentNotFound,
				Message:     "The agent " + quote(s.spec.Name) + " has no sub-agent named " + quote(name) + ".",
				Remediation: "Add it to the agent's files, or create the session with a name that is there.",
			}
		}
	}
	harness = wire.Canon(spec.Harness)
	if s.Identity.Override != "" {
		harness = wire.Canon(s.Identity.Override)
	}
	if _, ok := c.cfg.Traits(harness); !ok {
		return spec, harness, &wire.TurnError{
			Code:        wire.CodeHarnessUnknown,
			Message:     "This runner has no program for the harness " + quote(harness) + ".",
			Remediation: "Add " + quote(harness) + " under harnesses: in the runner's config file and restart it.",
		}
	}
	return spec, harness, nil
}

func (c *Core) onSnapshotRead(ev SnapshotRead) {
	s := c.sessions[ev.Session]
	delete(s.asked, "snapshot")
	defer c.giveVerdict(s)
	if errors.Is(ev.Err, wire.ErrNotFound) {
		s.view.gone = true
		c.endLease(s)
	}
	if ev.Err != nil {
		c.resumeOps(s.id, !s.view.gone)
		c.identityFailed(s, ev.Err)
		return
	}
	s.view.gone = false
	c.mergeSnapshot(s, ev.Snapshot)
	c.resumeOps(s.id, false)
	c.resumeSends(s)
	c.wakeStranded(s)
	c.answerInit(s)
	c.advance(s)
}

func (c *Core) onSpecRead(ev SpecRead) {
	s := c.sessions[ev.Session]
	delete(s.asked, "spec")
	defer c.giveVerdict(s)
	switch {
	case ev.Err == nil:
		s.spec = ev.Spec
		defer c.wakeStranded(s)
	case errors.Is(ev.Err, wire.ErrNotFound):
		s.specErr = &wire.TurnError{
			Code:        "session_agent_missing",
			Message:     "The agent of this session is not on the server any more.",
			Remediation: "Create a new session with an agent that is there.",
		}
	case errors.Is(ev.Err, wire.ErrRejected):
		s.specErr = &wire.TurnError{
			Code: "spec_resolver_failed", Message: "The agent cannot be used: " + ev.Err.Error(),
			Remediation: "Mend the agent's files.",
		}
	default:
		c.identityFailed(s, ev.Err)
		return
	}
	defer c.resumeSends(s) // an agent that cannot be used is an answer, too
	c.answerInit(s)
	c.advance(s)
}

// identityFailed ends what cannot wait for an identity: messages that were
// answered 202 fail; an init is refused; what a scan found stays queued and is
// tried again.
func (c *Core) identityFailed(s *session, err error) {
	c.log(s, Warn, "cannot tell which agent the session runs", err)
	c.deferVerdict(s)
	c.refuseInit(s, 503, "spec_resolver_failed", "The server could not say which agent this session runs.")
	c.failSends(s, err)
	var accepted []string
	for _, q := range s.Queued {
		if !q.Scanned {
			accepted = append(accepted, q.ID)
		}
	}
	if len(accepted) > 0 && s.Open == nil {
		c.failItems(s, accepted, &wire.TurnError{
			Code:        wire.CodeIdentityUnknown,
			Message:     "The server could not say which agent this session runs: " + err.Error(),
			Remediation: "Send the message again when the server is well.",
		})
	}
	c.rescanLater(s)
}
