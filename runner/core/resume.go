package core

import (
	"encoding/json"
	"slices"

	"github.com/outrunner/outrunner/catchup/plan"
	"github.com/outrunner/outrunner/runner/wire"
)

// A harness that declares resume goes on after a death of the runner: in the
// conversation that its program keeps (native), with the same inputs if it had
// said nothing, else on a text that tells it what happened (design, table A,
// rows 6, 8 and 9). The new turn answers the messages of the old one, so each
// still has one outcome; the old response ends incomplete, and answers none.

// resumeWait is how long a dead turn that can be resumed waits for the first
// init of a connection, which may ask for that, in milliseconds.
const resumeWait = 15_000

// resumeText is what the program is told.
var resumeText = encode([]map[string]string{{
	"type": "input_text",
	"text": "The runner was restarted while you were at work, and your last turn was cut off. " +
		"Look at what has been done already, then go on from there.",
}})

// native is the conversation that a harness keeps for a session's agent.
type native struct {
	Harness string `json:"harness"`
	ID      string `json:"id"`
	Agent   string `json:"agent,omitempty"` // its id; "" in what older runners wrote
}

// noteNative keeps the id under which the open turn's program can go on.
func (c *Core) noteNative(s *session, id string) {
	if n := (native{s.warm, id, s.steering.as.agent}); s.Native == nil || *s.Native != n {
		c.record(wire.Record{Kind: wire.RecNative, Session: s.id, State: encode(n)})
	}
}

// nativeOf is that id, for the harness that said it and the agent that it was
// said of: what another agent has heard is none of this one's conversation.
func (s *session) nativeOf(harness string) string {
	n := s.Native
	if n == nil || n.Harness != harness || n.Agent != "" && n.Agent != s.Identity.AgentID {
		return ""
	}
	return n.ID
}

// resume starts a turn on the resume text, for the messages of the open turn if
// there is one.
func (c *Core) resume(s *session) {
	var inputs []string
	if s.Open != nil {
		inputs = s.Open.inputIDs()
		c.endTurn(s, wire.TurnEnd{Outcome: wire.Resumed})
		c.finishTurns(s)
	}
	c.begin(s, inputs, resumeText)
}

// again starts the dead turn's own inputs once more.
func (c *Core) again(s *session) {
	inputs, text, tools := s.Open.Inputs, s.Open.Made, s.Open.Tools
	c.endTurn(s, wire.TurnEnd{Outcome: wire.Resumed})
	c.finishTurns(s)
	var ids []string
	for _, in := range inputs {
		ids = append(ids, in.ItemID)
		if text == nil || in.Content != nil {
			c.record(wire.Record{
				Kind: wire.RecItem, Session: s.id, Item: in.ItemID, ItemState: wire.ItemQueued, Content: in.Content, State: encodeTools(tools),
			})
		}
	}
	c.begin(s, ids, text)
}

// resumes tells whether the steps start a turn that goes on where another was
// cut off. They wait for what that one has to be stored: a stream never shows
// two turns at once.
func resumes(steps []plan.Step) bool {
	return slices.ContainsFunc(steps, func(step plan.Step) bool {
		return step.Do == plan.StartResume || step.Do == plan.StartAgain || step.Do == plan.StartRecovery
	})
}

// awaitInit lets a dead turn wait for an init, for a while.
func (c *Core) awaitInit(s *session) {
	if !s.init.awaited {
		s.init.awaited = true
		c.effect(SetTimer{Session: s.id, Key: TimerResume, After: resumeWait})
	}
}

// initMayCome tells whether the first init of this connection may still come.
func (s *session) initMayCome(tunnel uint64) bool {
	return s.init.kind == plan.NoInit && s.init.came != tunnel && s.init.late != tunnel
}

// harnessInputs is what the program of a turn is given to answer.
func (t *turn) harnessInputs() []wire.Input {
	if t.Made == nil {
		return slices.Clone(t.Inputs)
	}
	// Of the messages it knows those that the turn before began with.
	inputs := []wire.Input{{Content: t.Made}}
	for _, in := range t.Inputs {
		if in.Content != nil {
			inputs = append(inputs, in)
		}
	}
	return inputs
}

func (s *session) applyNative(state json.RawMessage) error {
	s.Native = nil
	return json.Unmarshal(state, &s.Native)
}
