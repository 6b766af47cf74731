package core

import (
	"encoding/json"

	"github.com/outrunner/outrunner/runner/wire"
)

// A program may have the server's policies judge what it is about to do
// (sessions.md 5.8). Where no verdict can be had, what acts is refused and what
// only looks back is let through.

// JudgePhase asks for PhaseJudged.
type JudgePhase struct {
	Session string
	Turn    string
	ID      string
	Phase   string
	Data    json.RawMessage
}

// PhaseJudged answers JudgePhase.
type PhaseJudged struct {
	Session string
	Turn    string
	ID      string
	Phase   string
	Verdict wire.Verdict
	Err     error
}

func (JudgePhase) effect() {}
func (PhaseJudged) event() {}

// judge takes a question of the open turn's program to the policies.
func (c *Core) judge(s *session, q *wire.PolicyRequest) {
	c.effect(JudgePhase{Session: s.id, Turn: s.Open.ID, ID: q.ID, Phase: q.Phase, Data: q.Data})
}

func (c *Core) onPhaseJudged(ev PhaseJudged) {
	s := c.sessions[ev.Session]
	v := ev.Verdict
	if ev.Err != nil {
		v = wire.Verdict{Action: failAction(ev.Phase), Reason: "the policies could not be asked"}
		c.log(s, Warn, "the policies could not be asked; the answer is "+v.Action, ev.Err)
	}
	c.effect(SendToTurn{Session: s.id, Turn: ev.Turn, Msg: wire.ToHarness{
		Type: wire.PolicyVerdict, EvaluationID: ev.ID, Action: v.Action, Reason: v.Reason, Data: v.Data,
	}})
}

// failAction is the verdict on a phase that could not be judged.
func failAction(phase string) string {
	switch phase {
	case "PHASE_LLM_REQUEST", "PHASE_LLM_RESPONSE", "PHASE_TOOL_RESULT":
		return wire.PolicyAllow
	}
	return wire.PolicyDeny
}
