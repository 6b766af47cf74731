package server

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/outrunner/outrunner/internal/server/store"
)

// required are the item types that the server stores and the fields that each
// must have (server.md 2.4).
var required = map[string][]string{
	"message":              {"role", "content"},
	"function_call":        {"name", "arguments", "call_id"},
	"function_call_output": {"call_id", "output"},
	"reasoning":            {"summary"},
	"error":                {"code", "message"},
	"resource_event":       {"event_type", "resource_id"},
	"compaction":           {"summary"},
	"routing_decision":     {"model"},
	"slash_command":        {"kind", "name"},
	"terminal_command":     {"kind"},
	"native_tool":          {"item"},
}

// common are the keys of an item that are not its type's.
var common = []string{"id", "response_id", "type", "status", "created_at", "created_by"}

// labelled are the types that say which agent made an item.
var labelled = map[string]bool{"message": true, "function_call": true, "reasoning": true, "slash_command": true, "compaction": true}

// newItem checks an item that a runner or a client sends, and makes it ready to
// be stored. Of the fields it keeps those of the type; the label "agent" of the
// input form becomes "model", as it is shown.
func newItem(session, typ string, fields map[string]json.RawMessage) (*store.Item, error) {
	needs, ok := required[typ]
	if !ok {
		return nil, badInput("unknown item type %q", clip(typ, 64))
	}
	data := make(map[string]json.RawMessage, len(fields))
	for k, v := range fields {
		data[k] = v
	}
	for _, k := range common {
		delete(data, k)
	}
	if v, ok := data["agent"]; ok && typ != "routing_decision" { // whose agent is a field of its own
		if _, has := data["model"]; !has && labelled[typ] {
			data["model"] = v
		}
		delete(data, "agent")
	}
	for _, k := range needs {
		if isNull(data[k]) {
			return nil, badInput("an item of type %s needs %q", typ, k)
		}
	}
	if typ == "message" {
		content, err := contentBlocks(data["content"])
		if err != nil {
			return nil, err
		}
		data["content"] = content
	}
	raw, err := store.Encode(data)
	if err != nil {
		return nil, badInput("an item of type %s is not valid JSON", typ)
	}
	return &store.Item{Session: session, Type: typ, Status: "completed", Data: raw, CallID: text(data["call_id"])}, nil
}

// contentBlocks checks a message's content: a list of blocks, or a string,
// which stands for one block of text.
func contentBlocks(raw json.RawMessage) (json.RawMessage, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil && !isNull(raw) {
		return store.Encode([]dict{{"type": "input_text", "text": s}})
	}
	var blocks []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &blocks); err != nil || blocks == nil {
		return nil, badInput("content must be a list of blocks")
	}
	for _, b := range blocks {
		if text(b["type"]) == "" {
			return nil, badInput("each content block needs a type")
		}
	}
	return raw, nil
}

// firstText is the first text of a message's content, in one line, for a title.
func firstText(content json.RawMessage, runes int) string {
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	for _, b := range blocks {
		if line := strings.Join(strings.Fields(b.Text), " "); line != "" {
			if utf8.RuneCountInString(line) > runes {
				return string([]rune(line)[:runes])
			}
			return line
		}
	}
	return ""
}

// text is a JSON string's value, "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// list is a JSON list of strings, nil for anything else.
func list(raw json.RawMessage) []string {
	var l []string
	if json.Unmarshal(raw, &l) != nil {
		return nil
	}
	return l
}
