package wire

import (
	"encoding/json"
	"strings"
)

// Text returns the text of a message's content: the texts of its blocks, a
// line each, or the string itself where the content is a plain JSON string.
// Blocks without text (images, files) and content that is neither add nothing.
func Text(content json.RawMessage) string {
	var plain string
	if json.Unmarshal(content, &plain) == nil {
		return plain
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	texts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
