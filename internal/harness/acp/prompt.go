package acp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"

	"github.com/outrunner/outrunner/runner/wire"
)

// promptOf is what the agent is asked. An agent that has not had a prompt yet is
// told the definition's instructions and the conversation so far before.
func (r *Run) promptOf(s *peer) ([]acp.ContentBlock, error) {
	blocks, err := blocksOf(r.start.Inputs, s.greeting.AgentCapabilities.PromptCapabilities)
	if err != nil || s.told {
		return blocks, err
	}
	var before []string
	if r.start.Prompt != "" && !r.opts.KeepSystemPrompt {
		before = append(before, r.start.Prompt)
	}
	if story := storyOf(r.start.History); story != "" {
		before = append(before, story)
	}
	if len(before) == 0 {
		return blocks, nil
	}
	first := strings.Join(before, "\n\n")
	if blocks[0].Text != nil {
		blocks[0].Text.Text = strings.TrimSuffix(first+"\n\n"+blocks[0].Text.Text, "\n\n")
		return blocks, nil
	}
	return append([]acp.ContentBlock{acp.TextBlock(first)}, blocks...), nil
}

// part is one block of a message (harness.md 2.3).
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url"`
	FileData string `json:"file_data"`
	FileName string `json:"filename"`
	FileID   string `json:"file_id"`
}

// partsOf reads a content, which may be a plain string.
func partsOf(content json.RawMessage) ([]part, error) {
	var text string
	if len(content) == 0 {
		return nil, nil
	}
	if json.Unmarshal(content, &text) == nil {
		return []part{{Type: "input_text", Text: text}}, nil
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(content, &raws); err != nil {
		return nil, err
	}
	var parts []part
	for _, raw := range raws {
		var p part
		if json.Unmarshal(raw, &p) == nil { // of another form: not for agents
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// blocksOf makes a prompt of messages. There is at least one block.
func blocksOf(inputs []wire.Input, can capabilities) ([]acp.ContentBlock, error) {
	var text []string
	var others []acp.ContentBlock
	for _, in := range inputs {
		parts, err := partsOf(in.Content)
		if err != nil {
			return nil, fmt.Errorf("the message cannot be read: %w", err)
		}
		for _, p := range parts {
			said, block := p.block(can)
			if said != "" {
				text = append(text, said)
			}
			if block != nil {
				others = append(others, *block)
			}
		}
	}
	if len(text) > 0 || len(others) == 0 {
		others = append([]acp.ContentBlock{acp.TextBlock(strings.Join(text, "\n"))}, others...)
	}
	return others, nil
}

// block is a part as text, or as a block of its own if the agent takes such.
func (p part) block(can capabilities) (string, *acp.ContentBlock) {
	name := p.name()
	switch p.Type {
	case "input_text", "output_text", "text":
		return p.Text, nil
	case "input_image":
		source := p.ImageURL
		if source == "" {
			source = p.FileData
		}
		kind, data, ok := dataURI(source)
		if ok && can.Image && strings.HasPrefix(kind, "image/") {
			block := acp.ImageBlock(base64.StdEncoding.EncodeToString(data), kind)
			return "", &block
		}
		return fmt.Sprintf("[An image was attached, %s, which you cannot see.]", name), nil
	case "input_file":
		kind, data, ok := dataURI(p.FileData)
		switch readable := ok && utf8.Valid(data); {
		case ok && can.EmbeddedContext:
			block := acp.ResourceBlock(resource(name, kind, data, readable))
			return "", &block
		case readable:
			return fmt.Sprintf("[The file %s was attached:]\n%s\n[End of %s.]", name, data, name), nil
		}
		return fmt.Sprintf("[A file was attached, %s, which you cannot see.]", name), nil
	}
	return "", nil
}

func (p part) name() string {
	for _, name := range []string{p.FileName, p.FileID} {
		if name != "" {
			return name
		}
	}
	return "without a name"
}

func resource(name, kind string, data []byte, readable bool) acp.EmbeddedResourceResource {
	uri := "attachment:///" + url.PathEscape(name)
	if readable {
		return acp.EmbeddedResourceResource{TextResourceContents: &acp.TextResourceContents{Uri: uri, MimeType: &kind, Text: string(data)}}
	}
	return acp.EmbeddedResourceResource{BlobResourceContents: &acp.BlobResourceContents{
		Uri: uri, MimeType: &kind, Blob: base64.StdEncoding.EncodeToString(data),
	}}
}

// dataURI reads data:<type>;base64,<data>.
func dataURI(uri string) (kind string, data []byte, ok bool) {
	rest, isData := strings.CutPrefix(uri, "data:")
	head, body, found := strings.Cut(rest, ",")
	if !isData || !found {
		return "", nil, false
	}
	kind, _, _ = strings.Cut(head, ";")
	if kind == "" {
		kind = "text/plain"
	}
	if strings.HasSuffix(head, ";base64") {
		data, err := base64.StdEncoding.DecodeString(body)
		return kind, data, err == nil
	}
	text, err := url.PathUnescape(body)
	return kind, []byte(text), err == nil
}
