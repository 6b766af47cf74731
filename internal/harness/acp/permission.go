package acp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/runner/wire"
)

const (
	// maxAsks bounds the questions that wait at once.
	maxAsks = 32
	// maxPreview bounds what a question shows of a tool's arguments, in bytes.
	maxPreview = 1000
	// maxLabel bounds the text of one choice, in bytes.
	maxLabel = 200
)

// option is one answer that the agent offers.
type option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// ask is a question to a human.
type ask struct {
	options []option
	reply   chan wire.ToHarness // has room for the one answer
}

// permission asks whether the agent may use a tool.
func (s *peer) permission(ctx context.Context, params json.RawMessage) (any, *acp.RequestError) {
	var q struct {
		SessionID string          `json:"sessionId"`
		ToolCall  json.RawMessage `json:"toolCall"`
		Options   []option        `json:"options"`
	}
	var m toolMessage
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, acp.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	_ = json.Unmarshal(q.ToolCall, &m) // a part of another form is left out
	r := s.turn()
	if r == nil || q.SessionID != s.sessionID() {
		return outcomeOf(option{}), nil
	}
	id := newAskID()
	a := &ask{options: q.Options, reply: make(chan wire.ToHarness, 1)}
	if !r.enter(id, a) {
		return outcomeOf(option{}), nil
	}
	defer r.forget(id)
	r.tell(wire.HarnessEvent{Type: wire.ElicitationRequest, Ask: r.question(id, m, q.Options)})
	select {
	case answer := <-a.reply:
		return outcomeOf(choose(a.options, answer)), nil
	case <-ctx.Done(): // the agent has taken its question back, or is gone
		return outcomeOf(option{}), nil
	}
}

// enter makes a question wait, unless nobody is asked any more, or too many wait.
func (r *Run) enter(id string, a *ask) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing || !r.prompting || len(r.asks) == maxAsks {
		return false
	}
	r.asks[id] = a
	return true
}

func (r *Run) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.asks, id)
}

// answer answers a question, once.
func (r *Run) answer(msg wire.ToHarness) {
	r.Pulse.Nudge() // the agent was not silent, it waited
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.asks[msg.ElicitationID]; a != nil {
		delete(r.asks, msg.ElicitationID)
		a.reply <- msg
	}
}

// dropAsks ends all questions, and asks no more: the turn is over, or about to.
func (r *Run) dropAsks() {
	r.Pulse.Nudge()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
	for id, a := range r.asks {
		delete(r.asks, id)
		a.reply <- wire.ToHarness{Type: wire.Approval, Action: wire.Cancel}
	}
}

// question is what a human is asked.
func (r *Run) question(id string, m toolMessage, options []option) *wire.Elicitation {
	name, args := r.known(m.ID)
	if name == "" {
		name = m.name()
	}
	if own := argsOf(m.RawInput); own != nil {
		args = own
	}
	var compact bytes.Buffer
	if args == nil || json.Compact(&compact, args) != nil {
		compact.Reset()
		compact.WriteString("{}")
	}
	form := map[string]any{
		"mode":            "form",
		"message":         fmt.Sprintf("%s wants to use **%s**", r.name(), name),
		"phase":           "tool_call",
		"policy_name":     "acp_permission",
		"content_preview": keep.WithoutNUL(fmt.Sprintf("%s(%s)", name, shorten(compact.String(), maxPreview))),
	}
	if labels := choices(options); labels != nil {
		form["requestedSchema"] = map[string]any{
			"type": "object", "required": []string{"answer"},
			"properties": map[string]any{"answer": map[string]any{"type": "string", "enum": labels}},
		}
	}
	params, err := json.Marshal(form)
	if err != nil {
		params = json.RawMessage(`{"mode":"form","message":"An agent wants to use a tool."}`) // it has only strings
	}
	return &wire.Elicitation{
		ID: id, Method: "elicitation/create", Params: params,
		Tool: &wire.ToolUse{Name: name, Args: compact.Bytes()},
	}
}

// choices are the labels of options that are more than yes or no. They must
// tell the options apart, and one must be a no, since they take the place of
// the two.
func choices(options []option) (labels []string) {
	plain, refusal := true, false
	seen := map[string]bool{}
	for _, o := range options {
		plain = plain && (o.Kind == "allow_once" || o.Kind == "reject_once") && !seen[o.Kind]
		seen[o.Kind] = true
	}
	clear(seen)
	for _, o := range options {
		label := o.label()
		if label == "" || seen[label] {
			return nil
		}
		seen[label] = true
		refusal = refusal || strings.HasPrefix(o.Kind, "reject")
		labels = append(labels, label)
	}
	if plain || !refusal || len(labels) < 2 || len(labels) > maxAsks {
		return nil
	}
	return labels
}

func (o option) label() string {
	return strings.TrimSpace(keep.WithoutNUL(shorten(o.Name, maxLabel)))
}

// choose is the option that an answer means, none when the agent has none for
// it. An option that holds for more than this one use is only ever taken when a
// human has chosen it by name.
func choose(options []option, answer wire.ToHarness) option {
	var content struct {
		Answer *string `json:"answer"`
	}
	_ = json.Unmarshal(answer.Content, &content) // none, or none of ours
	kind := "reject_once"
	if answer.Action == wire.Accept {
		if content.Answer == nil {
			kind = "allow_once"
		} else {
			for _, o := range options {
				if o.label() == strings.TrimSpace(*content.Answer) {
					return o
				}
			}
		}
	} else if answer.Action != wire.Decline {
		return option{}
	}
	for _, o := range options {
		if o.Kind == kind {
			return o
		}
	}
	return option{}
}

// outcomeOf tells the agent what was chosen; none is cancelled.
func outcomeOf(o option) map[string]any {
	if o.ID == "" {
		return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
	}
	return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.ID}}
}

func newAskID() string {
	var id [16]byte
	rand.Read(id[:])
	return "elicit_" + hex.EncodeToString(id[:])
}
