package core

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// The bounds of a session's outbox in bytes of item data: above the first the
// pump waits, so that the program does; below the second it goes on.
const (
	outboxFull = 4 << 20
	outboxRoom = 1 << 20
)

// start opens a turn over the items. Its record precedes its spawn; a turn
// whose agent or harness cannot be used ends in the same step.
func (c *Core) start(s *session, items []string) {
	if s.quiet() {
		c.begin(s, items, nil)
	}
}

// begin opens a turn over the items, for a text of our own if there is one.
func (c *Core) begin(s *session, items []string, made json.RawMessage) {
	spec, harness, err := c.resolve(s)
	if err != nil {
		c.failItems(s, items, err)
		return
	}
	c.open(s, spec.Name, items, made)
	s.live = true
	s.warm = harness
	s.steering = steering{as: s.Identity.settings()}
	s.turnBegan()
	c.publishStatus(s)
	c.publishInProgress(s, s.Open)
	c.effect(StartTurn{Start: wire.TurnStart{
		Session: s.id, Turn: s.Open.ID, Response: s.Open.Response,
		Harness: harness, Agent: spec.Name, AgentID: s.Identity.AgentID, Prompt: spec.Prompt, SpecDir: spec.Dir,
		Model: first(s.Identity.Model, spec.Model), Effort: s.Identity.Effort,
		Workspace: s.Identity.Workspace, Inputs: s.Open.harnessInputs(), Tools: append(c.toolSchemas(spec), s.Open.Tools...),
		Native: s.nativeOf(harness),
	}})
}

// quiet tells whether the slot is free and every earlier turn's terminal
// response is out: a stream never shows two turns at once.
func (s *session) quiet() bool {
	if s.Open != nil {
		return false
	}
	for _, t := range s.Ended {
		if !s.terminal[t.ID] {
			return false
		}
	}
	return true
}

func (c *Core) open(s *session, agent string, items []string, made json.RawMessage) {
	c.record(wire.Record{
		Kind: wire.RecOpened, Session: s.id, Turn: "turn_" + c.cfg.NewID(), Response: "resp_" + c.cfg.NewID(),
		Inputs: items, Source: agent, Content: made,
	})
}

// failItems gives items their one outcome without running anything.
func (c *Core) failItems(s *session, items []string, err *wire.TurnError) {
	c.endItems(s, items, wire.TurnEnd{Outcome: wire.Failed, Error: err})
}

func (c *Core) endItems(s *session, items []string, end wire.TurnEnd) {
	name := ""
	if s.spec != nil {
		name = s.spec.Name
	}
	c.open(s, name, items, nil)
	c.record(wire.Record{Kind: wire.RecEnded, Session: s.id, Turn: s.Open.ID, End: &end})
	c.finishTurns(s)
}

// onFrame journals a closed piece of the turn and lets the server store it.
func (c *Core) onFrame(f Frame) {
	s := c.sessions[f.Session]
	switch out, ok := pieceOf(s.Open, f); {
	case f.Ask != nil:
		c.askHuman(s, f.Ask)
	case f.Native != "":
		c.noteNative(s, f.Native)
	case f.Consumed != "":
		c.took(s, f.Consumed)
	case f.Policy != nil:
		c.judge(s, f.Policy)
	case f.Item != nil && c.asked(s, f):
	case ok:
		c.store(s, out)
	case f.Item != nil:
		if !s.Open.Output { // what it does now must not be done twice
			c.record(wire.Record{Kind: wire.RecCalled, Session: s.id, Turn: f.Turn})
		}
		c.publish(s, itemDone(f.Item))
	}
	if s.outboxBytes() > outboxFull {
		s.held = true
		return
	}
	c.effect(Advance{Session: s.id, Turn: f.Turn})
}

func (c *Core) store(s *session, out wire.Outgoing) {
	c.record(wire.Record{Kind: wire.RecOut, Session: s.id, Turn: turnOf(out), Out: &out})
	s.note(out)
	c.effect(Store{Session: s.id, Out: out})
}

func (c *Core) onStored(ev Stored) {
	s := c.sessions[ev.Session]
	if ev.Err != nil {
		c.log(s, Warn, "the server refused an item for good; it is dropped", ev.Err)
	}
	c.record(wire.Record{Kind: wire.RecStored, Session: s.id, Source: ev.Source})
	if s.held && s.outboxBytes() < outboxRoom {
		s.held = false
		c.effect(Advance{Session: s.id, Turn: s.Open.ID})
	}
	c.advance(s)
}

// onTurnEnded is the end of a live turn, and the only way to a free slot for one.
func (c *Core) onTurnEnded(ev TurnEnded) {
	s := c.sessions[ev.Session]
	if note := ending(ev); note != "" {
		c.store(s, textItem(s.Open, ev.N, note))
	}
	if s.cut && ev.End.Outcome == wire.Cancelled {
		c.mark(s)
	}
	c.endTurn(s, ev.End)
	c.advance(s)
}

// ending is the text of a turn that produced none: the stored conversation
// says so rather than showing nothing. A failed turn has its error.
func ending(ev TurnEnded) string {
	switch {
	case ev.N > 0 || ev.End.Outcome == wire.Failed:
		return ""
	case ev.End.Note != "":
		return ev.End.Note
	case ev.End.Outcome == wire.Cancelled:
		return "(interrupted before any output)"
	}
	return saidNothing
}

// saidNothing is what the conversation says of a turn that said nothing. It is
// not told to the parent of a child as if it had been said.
const saidNothing = "(no output)"

// endTurn frees the slot: here, exactly once, whatever failed.
func (c *Core) endTurn(s *session, end wire.TurnEnd) {
	end = normalized(end)
	c.record(wire.Record{Kind: wire.RecEnded, Session: s.id, Turn: s.Open.ID, End: &end})
	s.live, s.held, s.view.outcome = false, false, nil
	s.steering, s.calls, s.dangling, s.cut = steering{}, nil, nil, false
	if ids := slices.DeleteFunc(s.stopped, func(id string) bool { return !s.isQueued(id) }); len(ids) > 0 {
		c.endItems(s, ids, wire.TurnEnd{Outcome: wire.Cancelled})
	}
	s.stopped = nil
	c.releaseWaiters(s)
	c.closeProgress(s)
}

// finishTurns publishes the end of each ended turn whose items the server has
// acknowledged, in order; then, and only then, the status.
func (c *Core) finishTurns(s *session) {
	for n, t := range s.Ended {
		if s.outboxHas(t.ID) {
			return
		}
		if s.terminal[t.ID] {
			continue
		}
		s.terminal[t.ID] = true
		c.publishEnd(s, t)
		if t.End.Outcome == wire.Resumed {
			continue
		}
		// A status between two turns would flicker; only a failure is worth it.
		more := n < len(s.Ended)-1 || len(s.Queued) > 0
		if !more || t.End.Outcome == wire.Failed {
			if !c.selfTold(s, t) {
				c.publishStatus(s)
			}
			c.reportTurn(s, t)
		}
		if !more {
			c.turnRested(s)
		}
	}
}

func (c *Core) onSeen(ev Seen) {
	s := c.sessions[ev.Session]
	for _, t := range s.Ended {
		if t.ID == ev.Turn && s.terminal[t.ID] {
			c.record(wire.Record{Kind: wire.RecSeen, Session: s.id, Turn: t.ID})
			delete(s.terminal, t.ID)
			delete(s.told, t.ID)
			return
		}
	}
}

// pieceOf turns a frame into the item that the server must store, if it is one.
func pieceOf(t *turn, f Frame) (wire.Outgoing, bool) {
	if f.Item == nil {
		return textItem(t, f.N, f.Text), true
	}
	var item map[string]json.RawMessage
	var typ, status string
	if json.Unmarshal(f.Item, &item) != nil || json.Unmarshal(item["type"], &typ) != nil {
		return wire.Outgoing{}, false
	}
	if raw, ok := item["status"]; ok && json.Unmarshal(raw, &status) != nil {
		return wire.Outgoing{}, false
	}
	if typ != "function_call_output" && (typ != "function_call" || status != "completed") {
		return wire.Outgoing{}, false
	}
	delete(item, "id")
	delete(item, "type")
	delete(item, "status")
	if typ == "function_call" && item["agent"] == nil {
		item["agent"] = encode(t.Agent)
	}
	out := outgoing(t, f.N, typ)
	out.ItemData = encode(item)
	return out, true
}

func textItem(t *turn, n int, text string) wire.Outgoing {
	out := outgoing(t, n, "message")
	out.MessageID = out.SourceID
	out.ItemData = encode(map[string]any{
		"role": "assistant", "agent": t.Agent,
		"content": []any{map[string]string{"type": "output_text", "text": text}},
	})
	return out
}

func outgoing(t *turn, n int, itemType string) wire.Outgoing {
	return wire.Outgoing{SourceID: t.ID + ":" + strconv.Itoa(n), ResponseID: t.Response, ItemType: itemType}
}

func turnOf(out wire.Outgoing) string {
	turn, _, _ := strings.Cut(out.SourceID, ":")
	return turn
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
