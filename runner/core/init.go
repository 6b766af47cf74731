package core

import (
	"slices"

	"github.com/outrunner/outrunner/catchup/plan"
	"github.com/outrunner/outrunner/runner/wire"
)

// initWait is how long an init waits for identity and spec, in milliseconds.
// The server gives it 10 s; item reads run beside it.
const initWait = 5000

// initState is the init that is being answered, and what it asked for.
type initState struct {
	kind       plan.InitKind
	recoveryID string
	reqs       []Req
	versioned  map[Req]bool
	// strange: the journal did not know the session before its first merge.
	strange bool
	// The connections on which an init came, and on which a dead turn has
	// waited for one long enough.
	came, late uint64
	awaited    bool // it waits now
}

// onInit binds a session to this runner (sessions.md 2.1). It may come before,
// after, twice, or never; equal ones join.
func (c *Core) onInit(ev Init) {
	s := c.session(ev.Session)
	if s.closing != nil {
		c.replyError(ev.Req, 409, "conflict", "The session is being deleted or reset.")
		return
	}
	c.name(s)
	s.view.gone, s.view.foreign = false, false
	if ev.Envelope != nil {
		c.noteServer(ev.Envelope.ServerVersion)
		c.mergeSnapshot(s, ev.Envelope.Snapshot)
	} else if ev.AgentID != s.Identity.AgentID {
		id := s.Identity
		if id.AgentID != "" {
			s.dropCaches()
			id.Override = ""
		}
		id.AgentID, id.Known = ev.AgentID, false
		c.identify(s, id)
	}
	c.noteInit(s, ev)
	s.init.came = c.tunnel
	if len(s.init.reqs) == 0 {
		c.effect(SetTimer{Session: s.id, Key: TimerInit, After: initWait})
	}
	s.init.reqs = append(s.init.reqs, ev.Req)
	if s.init.versioned == nil {
		s.init.versioned = map[Req]bool{}
	}
	s.init.versioned[ev.Req] = ev.Envelope != nil
	if s.init.kind == plan.PlainInit || s.init.kind == plan.ResumeInit || !s.view.read {
		s.scanned = 0 // this init is decided on a listing of its own
	}
	c.recoverChildren(s)
	c.requestScan(s)
	c.answerInit(s)
	c.advance(s)
}

// noteInit keeps the strongest of the inits that are open: resume, then plain,
// then suppress. Suppress wins over resume in one and the same call.
func (c *Core) noteInit(s *session, ev Init) {
	kind := plan.PlainInit
	if ev.Envelope != nil {
		switch {
		case ev.Envelope.Suppress:
			kind = plan.SuppressInit
		case ev.Envelope.Resume && ev.Envelope.RecoveryID != "":
			kind = plan.ResumeInit
		}
		if id := ev.Envelope.RecoveryID; kind == plan.SuppressInit && id != "" && !s.usedRecovery(id) {
			c.record(wire.Record{Kind: wire.RecRecoveryID, Session: s.id, Source: id})
		}
	}
	if s.init.kind == plan.NoInit || s.init.kind == plan.SuppressInit || kind == plan.ResumeInit {
		s.init.kind = kind
	}
	if kind == plan.ResumeInit {
		s.init.recoveryID = ev.Envelope.RecoveryID
	}
}

// answerInit answers the inits that wait, once identity and spec are known.
func (c *Core) answerInit(s *session) {
	if len(s.init.reqs) == 0 || !c.identified(s) {
		return
	}
	_, harness, err := c.resolve(s)
	switch {
	case err == nil || err.Code == wire.CodeHarnessUnknown:
		// A harness that is not configured here fails its turns, with a
		// sentence; the session itself is sound.
		if err == nil {
			s.warm = harness
			c.leaveToProgram(s)
		}
		reqs := s.init.reqs
		c.endInit(s)
		for _, req := range reqs {
			c.reply(req, 201, c.initBody(s, s.init.versioned[req]))
		}
		s.init.versioned = nil
	case err.Code == "session_agent_missing":
		c.refuseInit(s, 400, "no_agent_spec", err.Message)
	case err.Code == wire.CodeSubAgentNotFound:
		c.refuseInit(s, 400, wire.CodeSubAgentNotFound, err.Message)
	default:
		c.refuseInit(s, 503, "spec_resolver_failed", err.Message)
	}
}

// leaveToProgram takes back what the listing of a plain init has found to be
// work before it was known that the session runs in a program that reads its own
// input.
func (c *Core) leaveToProgram(s *session) {
	if !c.native(s) || s.init.kind != plan.PlainInit || !s.init.strange {
		return
	}
	for _, q := range slices.Clone(s.Queued) {
		if q.Scanned && !slices.Contains(s.view.pending, q.ID) {
			c.record(wire.Record{Kind: wire.RecItem, Session: s.id, Item: q.ID, ItemState: wire.ItemHistory})
		}
	}
}

func (c *Core) refuseInit(s *session, status int, code, detail string) {
	reqs := s.init.reqs
	if len(reqs) == 0 {
		return
	}
	c.endInit(s)
	s.init.versioned = nil
	for _, req := range reqs {
		c.replyError(req, status, code, detail)
	}
}

func (c *Core) endInit(s *session) {
	s.init.reqs = nil
	c.effect(StopTimer{Session: s.id, Key: TimerInit})
}
