package acp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/runner/wire"
)

const (
	// maxCallID bounds the id of a tool call; a longer one is told by its hash.
	maxCallID = 256
	// maxName bounds a tool's name.
	maxName = 128
	// maxResult bounds the output of a tool call, in bytes (harness.md 2.4).
	maxResult = 1 << 20
)

// tool is one use of a tool by the agent.
type tool struct {
	callID, name string
	args         json.RawMessage // an object; nil while unknown
	content      json.RawMessage
	rawOutput    json.RawMessage
	ended        bool
}

// toolMessage is a tool_call, a tool_call_update, or the toolCall of a question.
type toolMessage struct {
	ID        string          `json:"toolCallId"`
	Name      string          `json:"name"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"`
	RawInput  json.RawMessage `json:"rawInput"`
	RawOutput json.RawMessage `json:"rawOutput"`
	Content   json.RawMessage `json:"content"`
	Meta      struct {
		Claude struct {
			Tool string `json:"toolName"`
		} `json:"claudeCode"`
		Goose struct {
			Tool string `json:"toolName"`
			Call struct {
				Tool string `json:"toolName"`
			} `json:"toolCall"`
		} `json:"goose"`
	} `json:"_meta"`
}

// name is a tool's name, as rules can know it. A title often is a sentence, or
// the whole command ("echo x > f"), so it comes last unless it looks like a name.
func (m toolMessage) name() string {
	named := ""
	if isName(m.Title) {
		named = m.Title
	}
	kind := m.Kind
	if kind == "other" {
		kind = ""
	}
	for _, name := range []string{m.Name, m.Meta.Claude.Tool, m.Meta.Goose.Call.Tool, m.Meta.Goose.Tool, named, kind, m.Title} {
		if name != "" {
			return keep.WithoutNUL(shorten(name, maxName))
		}
	}
	return "tool"
}

func isName(text string) bool {
	return text != "" && len(text) <= maxName && !strings.ContainsFunc(text, func(c rune) bool {
		return c != '_' && c != '-' && c != '.' && c != ':' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// argsOf is the input of a tool as an object, nil when there is none yet.
func argsOf(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null" || string(raw) == "{}":
		return nil
	case raw[0] == '{':
		return raw
	}
	wrapped, err := json.Marshal(map[string]json.RawMessage{"input": raw})
	if err != nil {
		return nil
	}
	return wrapped
}

// tool takes what the agent tells about a tool call. A card appears when it is
// first heard of, and once more, with its output, when it has ended.
func (r *Run) tool(raw json.RawMessage) {
	var m toolMessage
	// A part of another form is left out, the rest counts.
	_ = json.Unmarshal(raw, &m)
	if m.ID == "" {
		return
	}
	r.mu.Lock()
	t := r.tools[m.ID]
	fresh := t == nil
	if fresh {
		t = &tool{callID: callID(m.ID), name: m.name()}
		r.tools[m.ID] = t
		r.order = append(r.order, t)
		r.running++
	}
	t.learn(m)
	ends := !t.ended && (m.Status == "completed" || m.Status == "failed")
	if ends {
		t.ended = true
		r.running--
	}
	r.mu.Unlock()
	if fresh {
		r.tell(t.call("in_progress"))
	}
	if ends {
		r.finishTool(t, m.Status == "failed")
	}
}

func (t *tool) learn(m toolMessage) {
	if args := argsOf(m.RawInput); args != nil && !t.ended {
		t.args = args
	}
	if set(m.Content) {
		t.content = m.Content
	}
	if set(m.RawOutput) {
		t.rawOutput = m.RawOutput
	}
}

func set(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (r *Run) finishTool(t *tool, failed bool) {
	result := resultOf(t.content, t.rawOutput)
	if failed && result == "" {
		result = "It failed."
	}
	r.tell(t.call("completed"))
	r.tell(t.result(result))
	t.content, t.rawOutput = nil, nil
}

// closeTools ends the cards of tools that the agent has left open, so that none
// is shown as running for ever.
func (r *Run) closeTools() {
	r.mu.Lock()
	open := slices.DeleteFunc(slices.Clone(r.order), func(t *tool) bool { return t.ended })
	r.running = 0
	for _, t := range open {
		t.ended = true
	}
	r.mu.Unlock()
	for _, t := range open {
		result := resultOf(t.content, t.rawOutput)
		r.tell(t.call("completed"))
		r.tell(t.result(strings.TrimSpace(result + "\n[The turn ended before this did.]")))
	}
}

// known is what the agent has told of a tool call before.
func (r *Run) known(id string) (name string, args json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.tools[id]; t != nil {
		return t.name, t.args
	}
	return "", nil
}

func (t *tool) call(status string) wire.HarnessEvent {
	var args bytes.Buffer
	if t.args == nil || json.Compact(&args, t.args) != nil {
		args.Reset()
		args.WriteString("{}")
	}
	return itemDone(map[string]any{
		"type": "function_call", "status": status, "name": t.name, "arguments": keep.WithoutNUL(args.String()), "call_id": t.callID,
	})
}

func (t *tool) result(text string) wire.HarnessEvent {
	return itemDone(map[string]any{
		"type": "function_call_output", "status": "completed", "call_id": t.callID, "output": keep.WithoutNUL(text),
	})
}

func itemDone(item map[string]any) wire.HarnessEvent {
	raw, err := json.Marshal(item)
	if err != nil {
		raw = json.RawMessage(`{}`) // it has only strings
	}
	return wire.HarnessEvent{Type: wire.ItemDone, Item: raw}
}

func callID(id string) string {
	if len(id) <= maxCallID {
		return keep.WithoutNUL(id)
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:])
}

// resultOf is the output of a tool as text: its content, or else what it is made
// of.
func resultOf(content, raw json.RawMessage) string {
	var blocks []struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
		Path    string          `json:"path"`
		OldText string          `json:"oldText"`
		NewText string          `json:"newText"`
	}
	_ = json.Unmarshal(content, &blocks) // of another form: there is none
	var texts []string
	for _, b := range blocks {
		switch b.Type {
		case "content":
			if text := chunk(b.Content); text != "" {
				texts = append(texts, text)
			}
		case "diff":
			texts = append(texts, diff(b.Path, b.OldText, b.NewText))
		}
	}
	text := strings.Join(texts, "\n")
	if text == "" && set(raw) {
		text = rawText(raw)
	}
	if len(text) > maxResult {
		text = shorten(text, maxResult-64) + "\n[The rest is left out.]"
	}
	return text
}

// diff tells a change of a file.
func diff(path, before, after string) string {
	var b strings.Builder
	b.WriteString(path + "\n")
	for _, side := range []struct{ mark, text string }{{"-", before}, {"+", after}} {
		if side.text != "" {
			b.WriteString(side.mark + strings.ReplaceAll(strings.TrimSuffix(side.text, "\n"), "\n", "\n"+side.mark) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// rawText is a text, or the text that an object has, or its JSON.
func rawText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		for _, key := range []string{"output", "error", "text"} {
			if json.Unmarshal(object[key], &text) == nil && text != "" {
				return text
			}
		}
	}
	return string(raw)
}
