package acp

import (
	"bytes"
	"encoding/json"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/runner/wire"
)

// output is what the agent has told in a turn.
type output struct {
	events int    // lines that are messages
	noise  int    // lines that are not
	quote  string // the first of these
	text   bool   // some text was told
	news   string // the id of a new session that was not announced yet

	context int     // tokens in the agent's context, 0 when it has not said
	cost    float64 // of the turn, in dollars
	costs   bool    // and this is known
}

// The kinds of session/update that mean something here.
const (
	messageChunk  = "agent_message_chunk"
	thoughtChunk  = "agent_thought_chunk"
	toolCall      = "tool_call"
	toolUpdate    = "tool_call_update"
	usageUpdate   = "usage_update"
	optionsUpdate = "config_option_update"
)

// skip counts a line that is no message.
func (r *Run) skip(line []byte, why error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	r.noise++
	if r.noise == 1 {
		r.quote = keep.Excerpt(line)
		r.Log.Warn("an agent wrote a line that is no message; it and others are skipped", "line", r.quote, "err", why)
	}
}

// update takes an update of the session. Before the prompt the agent tells what
// was, when it loads a session; that is no news. Its options always are.
func (r *Run) update(s *peer, params json.RawMessage) {
	var n struct {
		SessionID string          `json:"sessionId"`
		Update    json.RawMessage `json:"update"`
	}
	var u struct {
		Kind    string          `json:"sessionUpdate"`
		Content json.RawMessage `json:"content"`
		Options json.RawMessage `json:"configOptions"`
	}
	if json.Unmarshal(params, &n) != nil || json.Unmarshal(n.Update, &u) != nil {
		return
	}
	if u.Kind == optionsUpdate {
		s.learnOptions(u.Options)
	}
	if u.Kind == usageUpdate {
		r.spending(s, n.Update)
	}
	if !r.said() || n.SessionID != s.sessionID() {
		return
	}
	r.announce()
	switch u.Kind {
	case messageChunk:
		if text := chunk(u.Content); text != "" {
			r.text = true
			r.tell(wire.HarnessEvent{Type: wire.TextDelta, Delta: text})
		}
	case thoughtChunk:
		if text := chunk(u.Content); text != "" {
			r.tell(wire.HarnessEvent{Type: wire.ReasoningDelta, Delta: text})
		}
	case toolCall, toolUpdate:
		r.tool(n.Update)
	}
}

// announce tells the id of a new session, once. It is told when the agent shows
// that it is at work: a session without a prompt in it is nothing to go back to.
func (r *Run) announce() {
	if r.news != "" {
		r.tell(wire.HarnessEvent{Type: wire.NativeSession, Native: r.news})
		r.news = ""
	}
}

// chunk is the text of a content block, "" when it has none.
func chunk(raw json.RawMessage) string {
	var block struct {
		Text string `json:"text"`
		Type string `json:"type"`
		URI  string `json:"uri"`
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &block) != nil {
		return ""
	}
	if block.Type == "resource_link" && block.Text == "" && block.URI != "" {
		return "[" + keep.WithoutNUL(block.Name) + "](" + keep.WithoutNUL(block.URI) + ")"
	}
	return keep.WithoutNUL(block.Text)
}
