package server

import (
	"context"
	"encoding/json"

	"github.com/outrunner/outrunner/internal/server/store"
)

// relayDelta takes a piece of text. With a message id it is a preview: its item
// comes by itself and is the only one that is stored. Without one it is plain
// text, which is gathered here and stored before each completed call and at the
// response's end (server.md 2.4).
func (s *Server) relayDelta(ctx context.Context, session string, lv *live, raw []byte) error {
	var d delta
	if err := json.Unmarshal(raw, &d); err != nil {
		return badInput("%s is malformed", typeTextDelta)
	}
	d.Type = typeTextDelta
	if d.MessageID != nil && *d.MessageID != "" {
		s.hub.preview(session, d)
		return nil
	}
	d.MessageID = nil
	if lv.plain.Len()+len(d.Delta) > maxPlain {
		if err := s.db.Write(ctx, func(tx *store.Tx) error {
			ses, err := tx.Session(ctx, session)
			if err != nil {
				return err
			}
			return flushPlain(ctx, tx, ses, lv)
		}); err != nil {
			return err
		}
		lv.plain.Reset()
	}
	lv.plain.WriteString(d.Delta)
	s.hub.preview(session, d)
	return nil
}

// flushPlain stores the gathered text as one message. The caller empties the
// builder once the change is committed.
func flushPlain(ctx context.Context, tx *store.Tx, ses *store.Session, lv *live) error {
	if lv.plain.Len() == 0 {
		return nil
	}
	data, err := store.Encode(dict{"role": "assistant", "model": ses.AgentName,
		"content": []dict{{"type": "output_text", "text": lv.plain.String()}}})
	if err != nil {
		return err
	}
	_, err = storeItem(ctx, tx, &store.Item{Session: ses.ID, Type: "message", Status: "completed", Data: data,
		ResponseID: firstOf(lv.response, ses.ResponseID, "turn_"+store.NewID())})
	return err
}

// plainText is a message's text, all blocks together.
func plainText(i *store.Item) string {
	var m struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(i.Data, &m) != nil {
		return ""
	}
	var out string
	for _, b := range m.Content {
		out += b.Text
	}
	return out
}
