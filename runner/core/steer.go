package core

import (
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// A message that comes during a turn joins it where its harness takes messages
// then (live injection, sessions.md 5.3): the program is sent it, and when it
// says that it took it the turn answers it. Until then the message stays in the
// queue; one that the turn did not take is a turn of its own, so none is lost,
// and a program that took one and does not say so is given it twice.
//
// What joins must not change what the turn is: a message that came with another
// agent, model, effort or tools waits for its own turn, and so does all behind
// it, for messages keep their order. None goes past a human who is being asked
// (sessions.md 14, trap 19), or into a turn that is being stopped.

// steering is what the open turn was sent.
type steering struct {
	as   settings          // that it was started with
	sent map[string]string // injection id by item
}

// settings are what a message may bring besides its text.
type settings struct{ agent, revision, override, model, effort string }

func (id identity) settings() settings {
	return settings{id.AgentID, id.Revision, id.Override, id.Model, id.Effort}
}

// steer sends the open turn what waits, as far as it may join.
func (c *Core) steer(s *session) {
	if !s.live || s.closing != nil || s.cut || s.Open.asks() {
		return
	}
	if traits, _ := c.cfg.Traits(s.warm); !traits.Steer || s.steering.as != s.Identity.settings() {
		return
	}
	for _, q := range s.Queued {
		if len(q.Tools) > 0 {
			return
		}
		if s.steering.sent[q.ID] != "" {
			continue
		}
		if s.steering.sent == nil {
			s.steering.sent = map[string]string{}
		}
		id := "inj_" + c.cfg.NewID()
		s.steering.sent[q.ID] = id
		c.effect(SendToTurn{Session: s.id, Turn: s.Open.ID, Msg: wire.ToHarness{Type: wire.Steer, InjectionID: id, Content: q.Content}})
	}
}

// took makes a message one that the open turn answers.
func (c *Core) took(s *session, injection string) {
	for _, q := range s.Queued {
		if s.steering.sent[q.ID] == injection {
			c.record(wire.Record{Kind: wire.RecTook, Session: s.id, Turn: s.Open.ID, Item: q.ID})
			c.publishInProgress(s, s.Open)
			return
		}
	}
}

func (s *session) applyTook(r wire.Record) {
	at := slices.IndexFunc(s.Queued, func(q queued) bool { return q.ID == r.Item })
	if at < 0 || s.Open == nil || s.Open.ID != r.Turn {
		return
	}
	s.Open.Inputs = append(s.Open.Inputs, wire.Input{ItemID: r.Item, Content: s.Queued[at].Content})
	s.Queued = slices.Delete(s.Queued, at, at+1)
}

// asks tells whether a human is being asked, or about to be.
func (t *turn) asks() bool {
	return slices.ContainsFunc(t.Questions, func(q *question) bool { return q.Done == "" })
}
