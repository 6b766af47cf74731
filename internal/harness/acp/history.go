package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// maxStory bounds the conversation that an agent is told, in bytes; the
	// oldest of it is left out.
	maxStory = 256 << 10
	// maxTold bounds what it is told of one tool's output, or of its arguments.
	maxTold = 4 << 10
)

// storyOf tells the conversation so far as text, "" when there was none.
func storyOf(history []json.RawMessage) string {
	var lines []string
	size, cut := 0, false
	for i := len(history) - 1; i >= 0; i-- {
		line := chapter(history[i])
		if line == "" {
			continue
		}
		if size += len(line); size > maxStory {
			cut = true
			break
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return ""
	}
	var story strings.Builder
	story.WriteString("This is the conversation until now:\n")
	if cut {
		story.WriteString("\n(Its beginning is left out.)\n")
	}
	for i := len(lines) - 1; i >= 0; i-- {
		story.WriteString("\n" + lines[i] + "\n")
	}
	story.WriteString("\nNow answer this message:")
	return story.String()
}

// chapter is one item of it.
func chapter(raw json.RawMessage) string {
	var item struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"`
		Output    string          `json:"output"`
		Message   string          `json:"message"`
	}
	if json.Unmarshal(raw, &item) != nil {
		return ""
	}
	switch item.Type {
	case "message":
		parts, err := partsOf(item.Content)
		if err != nil {
			return ""
		}
		var text []string
		for _, p := range parts {
			if said, _ := p.block(capabilities{}); said != "" {
				text = append(text, said)
			}
		}
		if len(text) == 0 {
			return ""
		}
		return item.Role + ": " + strings.Join(text, "\n")
	case "function_call":
		return fmt.Sprintf("(assistant used %s %s)", item.Name, shorten(item.Arguments, maxTold))
	case "function_call_output":
		return fmt.Sprintf("(and got: %s)", shorten(item.Output, maxTold))
	case "error":
		return fmt.Sprintf("(that failed: %s)", item.Message)
	}
	return ""
}

// shorten cuts a text to a number of bytes, never inside a character.
func shorten(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size] + "…"
}
