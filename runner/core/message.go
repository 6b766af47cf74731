package core

import (
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// onMessage accepts a message. The 202 is a promise of exactly one outcome, so
// it goes out behind the record of the item. Init, scan and forward of one id
// meet in the same entry: one turn.
func (c *Core) onMessage(m Message) {
	s := c.session(m.Session)
	if s.closing != nil && s.closing.kind == closeDelete {
		c.replyError(m.Req, 409, "conflict", "The session is being deleted.")
		return
	}
	c.name(s)
	// The server sends it here, so the session is ours and is there.
	s.view.gone, s.view.foreign = false, false
	c.noteBody(s, m)
	id := m.ItemID
	if id == "" {
		id = m.StableID
	}
	if id == "" {
		id = "local_" + c.cfg.NewID()
	}
	if s.isNamed(id) {
		c.replyAccepted(m.Req, "accepted", "The message was taken before; it is not run twice.")
		return
	}
	busy := s.Open != nil || len(s.Queued) > 0
	if !s.known() {
		// Everything before the first forward is history, and nothing of ours
		// can predate it, so nothing waits for a scan.
		s.view.read = true
		if m.ItemID != "" {
			c.record(wire.Record{Kind: wire.RecCursor, Session: s.id, Cursor: m.ItemID})
		}
	}
	if at := slices.IndexFunc(s.Queued, func(q queued) bool { return q.ID == id }); at < 0 || s.Queued[at].Scanned {
		c.record(wire.Record{Kind: wire.RecItem, Session: s.id, Item: id, ItemState: wire.ItemQueued, Content: m.Content, State: encodeTools(m.Tools)})
	}
	if busy {
		c.replyAccepted(m.Req, "buffered", "Message buffered; active turn will process it.")
	} else {
		c.replyAccepted(m.Req, "accepted", "Turn started.")
	}
	c.requestScan(s)
	c.advance(s)
}

// noteBody takes what the message says of the session's identity. Another
// agent or another revision of it drops the caches (sessions.md 5.4).
func (c *Core) noteBody(s *session, m Message) {
	id := s.Identity
	if m.AgentID != "" && m.AgentID != id.AgentID {
		if id.AgentID != "" {
			s.dropCaches()
			id.Override, id.Known = "", false
		}
		id.AgentID = m.AgentID
	}
	if m.Revision != "" && m.Revision != id.Revision {
		if id.Revision != "" {
			s.dropCaches()
		}
		id.Revision = m.Revision
	}
	if m.Override != "" && m.Override != "auto" {
		id.Override = m.Override
	}
	if m.Model != "" {
		id.Model = m.Model
	}
	if m.Effort != "" {
		id.Effort = m.Effort
	}
	c.identify(s, id)
}

// identify records a changed identity.
func (c *Core) identify(s *session, id identity) {
	if id != s.Identity {
		c.record(wire.Record{Kind: wire.RecIdentity, Session: s.id, State: encode(id)})
	}
}

// dropCaches forgets what was read of the agent. Answers to older questions
// fall out by their generation.
func (s *session) dropCaches() {
	s.gen++
	s.spec, s.specErr = nil, nil
	clear(s.asked)
}

// mergeSnapshot takes the server's word for who the session is.
func (c *Core) mergeSnapshot(s *session, snap wire.Snapshot) {
	id := s.Identity
	if snap.AgentID != "" && snap.AgentID != id.AgentID {
		if id.AgentID != "" {
			s.dropCaches()
			id.Override = ""
		}
		id.AgentID = snap.AgentID
	}
	id.Known, s.shown = true, true
	// A name or a parent, once told, holds until the session is deleted: an
	// init that lacks them takes nothing back.
	id.SubAgent, id.ParentID = first(id.SubAgent, snap.SubAgentName), first(snap.ParentID, id.ParentID)
	id.Workspace = snap.Workspace
	id.AgentName, id.Title = first(snap.AgentName, id.AgentName), first(snap.Title, id.Title)
	id.Wrapper, id.Dispatch, id.Receipt = snap.Labels[labelWrapper], snap.Labels[labelDispatch], snap.Labels[labelDelivered]
	if snap.CreatedAt != 0 {
		id.CreatedAt = snap.CreatedAt
	}
	if snap.HarnessOverride != "" && snap.HarnessOverride != "auto" {
		id.Override = snap.HarnessOverride
	}
	id.Model = snap.ModelOverride
	if snap.ReasoningEffort != "" {
		id.Effort = snap.ReasoningEffort
	}
	c.identify(s, id)
}

func (s *session) queuedIDs() []string {
	ids := make([]string, 0, len(s.Queued))
	for _, q := range s.Queued {
		ids = append(ids, q.ID)
	}
	return ids
}

func (s *session) usedRecovery(id string) bool {
	return id != "" && slices.Contains(s.Recovery, id)
}
