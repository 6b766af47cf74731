package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// Placeholder stands in a command for the text of the message.
const Placeholder = "{message}"

var (
	errNoText = errors.New("the message has no text")
	errNUL    = errors.New("the message contains a NUL character")
)

// message is the text of all inputs, in order, joined by newlines. Blocks that
// are not text (images, files) are left out: a command has no eyes.
func message(inputs []wire.Input) (string, error) {
	var texts []string
	for _, in := range inputs {
		t, err := inputText(in.Content)
		if err != nil {
			return "", fmt.Errorf("the message cannot be read: %w", err)
		}
		texts = append(texts, t...)
	}
	text := strings.Join(texts, "\n")
	switch {
	case strings.TrimSpace(text) == "":
		return "", errNoText
	case strings.ContainsRune(text, 0):
		return "", errNUL // an argument would end there, silently
	}
	return text, nil
}

// inputText reads a content: a JSON string, or a list of blocks.
func inputText(content json.RawMessage) ([]string, error) {
	if len(content) == 0 {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []string{text}, nil
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(content, &blocks); err != nil {
		return nil, err
	}
	var texts []string
	for _, b := range blocks {
		if b.Type == "input_text" || b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return texts, nil
}

// commandLine puts the text into the arguments, or returns it as standard
// input when none has the placeholder; otherwise stdin is nil.
func commandLine(command []string, text string) (argv []string, stdin []byte) {
	argv = []string{command[0]}
	used := false
	for _, arg := range command[1:] {
		used = used || strings.Contains(arg, Placeholder)
		argv = append(argv, strings.ReplaceAll(arg, Placeholder, text))
	}
	if used {
		return argv, nil
	}
	return argv, []byte(text)
}
