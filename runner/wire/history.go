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
