package wire

import "encoding/json"

// HistoryItem is an item as a program's input has it (sessions.md 7.2), or nil
// when it is none: only messages, calls, their outputs and errors are.
func HistoryItem(it Item) json.RawMessage {
	var out any
	switch it.Type {
	case "message":
		role := it.Role
		if role == "" {
			role = "user"
		}
		content := it.Content
		if len(content) == 0 {
			content = json.RawMessage("[]")
		}
		out = map[string]any{"type": "message", "role": role, "content": content}
	case "function_call":
		out = map[string]any{"type": it.Type, "call_id": it.CallID, "name": it.Name, "arguments": it.Arguments}
	case "function_call_output":
		out = map[string]any{"type": it.Type, "call_id": it.CallID, "output": it.Output}
	case "error":
		out = map[string]any{"type": it.Type, "source": "execution", "code": it.Code, "message": it.Message}
	default:
		return nil
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil // the content is not JSON: it never was an item
	}
	return raw
}

// summaryRequest is the question to which a compaction's summary is the answer.
const summaryRequest = "Sum up our conversation so far, so that you can go on from the summary alone."

// CompactedHistory is what a program is given in the place of everything before
// a compaction (sessions.md 7.2): the messages that whoever made it has kept, or
// its summary as the answer to a question; nil for any other item.
func CompactedHistory(it Item) []json.RawMessage {
	if it.Type != "compaction" {
		return nil
	}
	var kept []json.RawMessage
	if json.Unmarshal(it.Compacted, &kept) == nil && len(kept) > 0 {
		return kept
	}
	block := func(typ, text string) json.RawMessage {
		raw, err := json.Marshal([]map[string]string{{"type": typ, "text": text}})
		if err != nil {
			return json.RawMessage("[]") // it has only strings
		}
		return raw
	}
	return []json.RawMessage{
		HistoryItem(Item{Type: "message", Role: "user", Content: block("input_text", summaryRequest)}),
		HistoryItem(Item{Type: "message", Role: "assistant", Content: block("output_text", it.Summary)}),
	}
}
