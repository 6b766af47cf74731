package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/outrunner/outrunner/runner/wire"
)

// message is the line that begins a turn. Its type comes first, in it and in
// every other line, so that a program without a JSON parser can tell them apart.
type message struct {
	Type          string            `json:"type"`
	Role          string            `json:"role"`
	Model         string            `json:"model"` // the agent's name, as upstream
	Content       []json.RawMessage `json:"content"`
	Instructions  string            `json:"instructions,omitempty"`
	Tools         []json.RawMessage `json:"tools,omitempty"`
	ModelOverride string            `json:"model_override,omitempty"`
	Reasoning     *reasoning        `json:"reasoning,omitempty"`
}

type reasoning struct {
	Effort string `json:"effort"`
}

type userItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// opening builds the line that begins a turn: the history, then the inputs.
func opening(start wire.TurnStart) ([]byte, error) {
	m := message{
		Type: "message", Role: "user", Model: start.Agent, Content: make([]json.RawMessage, 0, len(start.History)+len(start.Inputs)),
		Instructions: start.Prompt, Tools: start.Tools, ModelOverride: start.Model,
	}
	if start.Effort != "" {
		m.Reasoning = &reasoning{Effort: start.Effort}
	}
	m.Content = append(m.Content, start.History...)
	for _, in := range start.Inputs {
		blocks, err := blocksOf(in.Content)
		if err != nil {
			return nil, fmt.Errorf("the message cannot be read: %w", err)
		}
		item, err := line(userItem{Type: "message", Role: "user", Content: blocks})
		if err != nil {
			return nil, fmt.Errorf("the message cannot be read: %w", err)
		}
		m.Content = append(m.Content, item)
	}
	text, err := line(m)
	if err != nil {
		return nil, fmt.Errorf("the conversation cannot be read: %w", err)
	}
	return text, nil
}

// blocksOf makes a list of blocks of a content that may be a plain string.
func blocksOf(content json.RawMessage) (json.RawMessage, error) {
	var text string
	switch {
	case len(content) == 0:
		return json.RawMessage("[]"), nil
	case json.Unmarshal(content, &text) == nil:
		return line([]textBlock{{Type: "input_text", Text: text}})
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(content, &blocks); err != nil {
		return nil, err
	}
	return content, nil
}

// interruptLine asks a program to end its turn.
func interruptLine() []byte { return []byte(`{"type":"interrupt"}` + "\n") }

// line is one JSON value and a line feed. <, > and & stay as they are: nobody
// puts these lines into a web page, and a shell script may look for them.
func line(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
