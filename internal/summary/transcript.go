package summary

import (
	"encoding/json"
	"strings"
)

// item is an entry of a conversation as the Responses API has it.
type item struct {
	Type      string          `json:"type"` // "" is a message
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"` // text, or blocks
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"` // text, or blocks
}

// block is a part of a message.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Filename string `json:"filename"`
}

// transcript writes a conversation as one text. What is no text is named; what
// it does not know is left out.
func transcript(items []json.RawMessage) (string, error) {
	var parts []string
	for n, raw := range items {
		var it item
		if err := json.Unmarshal(raw, &it); err != nil {
			return "", refuse("message %d is no item of a conversation: %v", n, err)
		}
		if part := it.String(); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "", refuse("there is nothing to sum up: the messages have no text")
	}
	return "The record:\n\n" + strings.Join(parts, "\n\n") + "\n\nEnd of the record. Write the notes now.", nil
}

// String is empty for an item without words.
func (it item) String() string {
	switch it.Type {
	case "", "message":
		if text := words(it.Content); text != "" {
			return "[" + first(it.Role, "user") + "]\n" + text
		}
	case "function_call":
		return "[assistant uses the tool " + it.Name + "]\n" + it.Arguments
	case "function_call_output":
		if text := words(it.Output); text != "" {
			return "[result]\n" + text
		}
	}
	return ""
}

// words is the text of a message's content.
func words(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []block
	if json.Unmarshal(content, &blocks) != nil {
		return strings.TrimSpace(string(content)) // of another form, and still more than nothing
	}
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Text != "":
			parts = append(parts, b.Text)
		case b.Type == "input_image":
			parts = append(parts, "(an image)")
		case b.Type == "input_file":
			parts = append(parts, strings.TrimSpace("(a file "+b.Filename)+")")
		}
	}
	return strings.Join(parts, "\n")
}
