package server

import (
	"encoding/json"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// maxDraft bounds the unfinished text of one message; a longer one is not
// offered to viewers that come in the middle.
const maxDraft = 256 << 10

// maxDrafts bounds the unfinished messages of one session.
const maxDrafts = 16

// delta is a response.output_text.delta as viewers get it.
type delta struct {
	Type      string  `json:"type"`
	Delta     string  `json:"delta"`
	MessageID *string `json:"message_id"`
	Index     *int64  `json:"index"`
	Final     *bool   `json:"final"`
	Sequence  *int64  `json:"sequence_number"` // always null
}

// drafts is the text that viewers saw of messages which are not stored yet, in
// the order in which they began. A viewer that joins gets each as one delta
// with the index of the last piece; a message of which a piece is missing is
// not offered, since nothing could tell the viewer so.
type drafts struct{ list []*draft }

type draft struct {
	message string // "" = text without a message id
	text    strings.Builder
	index   *int64 // of the last piece
	broken  bool
}

func (d *drafts) empty() bool { return len(d.list) == 0 }

func (d *drafts) find(message string) *draft {
	for _, m := range d.list {
		if m.message == message {
			return m
		}
	}
	return nil
}

func (d *drafts) add(p delta) {
	id := ""
	if p.MessageID != nil {
		id = *p.MessageID
	}
	m := d.find(id)
	if m == nil {
		if len(d.list) >= maxDrafts {
			d.list = d.list[1:]
		}
		m = &draft{message: id, broken: p.Index != nil && *p.Index != 0}
		d.list = append(d.list, m)
	} else if p.Index != nil {
		switch {
		case *p.Index == 0: // it starts again
			m.text.Reset()
			m.broken = false
		case m.index == nil || *p.Index != *m.index+1:
			m.broken = true
		}
	}
	m.index = p.Index
	if m.broken || m.text.Len()+len(p.Delta) > maxDraft {
		m.broken = true
		m.text.Reset()
		return
	}
	m.text.WriteString(p.Delta)
}

// settle forgets the text that an event has made durable, or ended.
func (d *drafts) settle(typ string, data []byte) {
	if isTerminal(typ) {
		d.list = nil
		return
	}
	if typ != typeItemDone {
		return
	}
	var done struct {
		Item struct {
			Type            string `json:"type"`
			StreamMessageID string `json:"stream_message_id"`
		} `json:"item"`
	}
	if json.Unmarshal(data, &done) != nil || done.Item.Type != "message" {
		return
	}
	for i, m := range d.list {
		if m.message == done.Item.StreamMessageID {
			d.list = append(d.list[:i:i], d.list[i+1:]...)
			return
		}
	}
}

// frames is the unfinished text for a viewer that joins.
func (d *drafts) frames() []frame {
	var out []frame
	for _, m := range d.list {
		if m.broken || m.text.Len() == 0 {
			continue
		}
		p := delta{Type: typeTextDelta, Delta: m.text.String(), Index: m.index}
		if m.message != "" {
			p.MessageID = &m.message
		}
		b, err := store.Encode(p)
		if err != nil {
			continue // a struct of strings and ints always encodes
		}
		out = append(out, frame{typ: typeTextDelta, data: b})
	}
	return out
}
