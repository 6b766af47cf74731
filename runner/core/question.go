package core

import (
	"encoding/json"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// A program may ask a human before it goes on (sessions.md 9). What it asks is
// journaled with its turn: the question is told again on every stream until it
// is settled, and one that the turn's end, or the runner's, leaves open is told
// as unanswered, so that no viewer keeps a card that nothing answers. Where it
// asks to use a tool, the server's policies are heard first; what they refuse,
// and what they cannot be asked about, no human is asked.

// JudgeUse asks for UseJudged: may the program of a turn use a tool?
type JudgeUse struct {
	Session  string
	Turn     string
	Question string
	Use      wire.ToolUse
}

// UseJudged answers JudgeUse.
type UseJudged struct {
	Session  string
	Turn     string
	Question string
	Action   string // POLICY_ACTION_...
	Reason   string
	Err      error
}

// Answer is a human's answer, the event "approval".
type Answer struct {
	Req      Req
	Session  string
	Question string
	Action   string // accept, decline or cancel
	Content  json.RawMessage
}

func (JudgeUse) effect() {}
func (UseJudged) event() {}
func (Answer) event()    {}

// question is one that the program of a turn asked.
type question struct {
	ID    string          `json:"id"`
	Event json.RawMessage `json:"event"`          // as it is published
	Done  string          `json:"done,omitempty"` // the action that settled it
	judge bool            // the policies have not answered yet
}

type elicitationRequest struct {
	Type string `json:"type"`
	*wire.Elicitation
}

type elicitationResolved struct {
	Type   string `json:"type"`
	ID     string `json:"elicitation_id"`
	Action string `json:"action,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// askHuman takes a question of the open turn's program. One whose id was used before
// is the same question.
func (c *Core) askHuman(s *session, q *wire.Elicitation) {
	if s.Open.question(q.ID) != nil {
		return
	}
	event := encode(elicitationRequest{wire.ElicitationRequest, q})
	c.record(wire.Record{Kind: wire.RecAsked, Session: s.id, Turn: s.Open.ID, Source: q.ID, State: event})
	if q.Tool == nil {
		c.publish(s, event)
		return
	}
	s.Open.question(q.ID).judge = true
	c.effect(JudgeUse{Session: s.id, Turn: s.Open.ID, Question: q.ID, Use: *q.Tool})
}

func (c *Core) onUseJudged(ev UseJudged) {
	s := c.sessions[ev.Session]
	q := s.Open.question(ev.Question)
	if q == nil || q.Done != "" {
		return
	}
	q.judge = false
	switch {
	case ev.Err != nil:
		c.log(s, Warn, "the policies could not be asked about a tool; its use is refused", ev.Err)
		c.settleQuestion(s, q, wire.Decline, nil)
	case ev.Action == "POLICY_ACTION_DENY":
		c.settleQuestion(s, q, wire.Decline, nil)
	default:
		c.publish(s, q.Event)
	}
	c.steer(s)
}

// onAnswer passes a human's answer on. The answer to what nobody asks any more
// is taken, and its card removed.
func (c *Core) onAnswer(ev Answer) {
	s := c.session(ev.Session)
	c.name(s)
	c.reply(ev.Req, 204, nil)
	var q *question
	if s.live {
		q = s.Open.question(ev.Question)
	}
	switch {
	case q == nil:
		c.publish(s, elicitationResolved{Type: resolvedType, ID: ev.Question, Reason: unanswered})
	case q.Done != "":
		c.publish(s, q.resolved())
	case q.judge:
		// Nobody was shown the question yet, so this is no answer to it.
	default:
		c.settleQuestion(s, q, ev.Action, ev.Content)
		c.publish(s, q.resolved())
		c.steer(s)
	}
}

// settleQuestion ends a question and tells the program.
func (c *Core) settleQuestion(s *session, q *question, action string, content json.RawMessage) {
	c.record(wire.Record{Kind: wire.RecSettled, Session: s.id, Turn: s.Open.ID, Source: q.ID, State: encode(action)})
	c.effect(SendToTurn{Session: s.id, Turn: s.Open.ID, Msg: wire.ToHarness{
		Type: wire.Approval, ElicitationID: q.ID, Action: action, Content: content,
	}})
}

const (
	resolvedType = "response.elicitation_resolved"
	unanswered   = "unanswered"
)

// tellQuestions tells a new reader of the open turn's questions.
func (c *Core) tellQuestions(s *session, t *turn) {
	for _, q := range t.Questions {
		switch {
		case q.judge:
		case q.Done != "":
			c.publish(s, q.resolved())
		case s.live:
			c.publish(s, q.Event)
		}
	}
}

// closeQuestions tells what became of an ended turn's questions.
func (c *Core) closeQuestions(s *session, t *turn) {
	for _, q := range t.Questions {
		c.publish(s, q.resolved())
	}
}

func (q *question) resolved() elicitationResolved {
	ev := elicitationResolved{Type: resolvedType, ID: q.ID, Action: q.Done}
	if q.Done == "" {
		ev.Reason = unanswered
	}
	return ev
}

func (t *turn) question(id string) *question {
	if at := slices.IndexFunc(t.Questions, func(q *question) bool { return q.ID == id }); at >= 0 {
		return t.Questions[at]
	}
	return nil
}

// turnNamed is the open or an unseen turn.
func (s *session) turnNamed(id string) *turn {
	if s.Open != nil && s.Open.ID == id {
		return s.Open
	}
	for _, t := range s.Ended {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// keptQuestions bounds the questions that a turn is remembered to have asked.
const keptQuestions = 128

func (s *session) applyAsked(r wire.Record) {
	t := s.turnNamed(r.Turn)
	if t == nil {
		return
	}
	if len(t.Questions) >= keptQuestions {
		t.Questions = slices.DeleteFunc(t.Questions, func(q *question) bool { return q.Done != "" })
	}
	t.Questions = append(t.Questions, &question{ID: r.Source, Event: r.State})
}

func (s *session) applySettled(r wire.Record) error {
	t := s.turnNamed(r.Turn)
	if t == nil {
		return nil
	}
	if q := t.question(r.Source); q != nil {
		return json.Unmarshal(r.State, &q.Done)
	}
	return nil
}
