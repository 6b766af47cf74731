package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// relayEvent takes one event of a runner's session stream: what it changes is
// stored and published in one transaction (server.md 1.11, 2.4, 3). An error
// other than store.ErrUnavailable means that the event is of no use.
func (s *Server) relayEvent(ctx context.Context, session string, raw []byte) error {
	fields, err := object(raw, "event")
	if err != nil {
		return err
	}
	typ := text(fields["type"])
	lv := s.lives.get(session)
	lv.mu.Lock()
	defer lv.mu.Unlock()
	if lv.fenced && fenceable(typ) {
		return s.db.Write(ctx, func(tx *store.Tx) error {
			return settleInputs(ctx, tx, session, list(fields["input_item_ids"]))
		})
	}
	switch {
	case typ == typeStatus:
		return s.relayStatus(ctx, session, lv, fields)
	case typ == typeInProgress:
		return s.relayInProgress(ctx, session, lv, fields)
	case isTerminal(typ):
		return s.relayTerminal(ctx, session, lv, typ, fields)
	case typ == typeTextDelta:
		return s.relayDelta(ctx, session, lv, raw)
	case typ == typeItemDone:
		return s.relayItem(ctx, session, lv, fields)
	case typ == typeResponseError:
		return s.relayError(ctx, session, lv, fields)
	case typ == typeCreated:
		return s.relayCreated(ctx, session, fields)
	case typ == typeQuestion:
		return s.relayQuestion(ctx, session, fields)
	case typ == typeAnswered:
		return s.relayAnswered(ctx, session, fields)
	case typ == typeResourceCreated || typ == typeResourceDeleted:
		return s.relayResource(ctx, session, typ, fields)
	}
	switch handle(typ) {
	case pass:
		if raw, err = wholeEvent(typ, raw); err != nil {
			return err
		}
		s.hub.pass(session, typ, raw)
	case keep:
		return s.db.Write(ctx, func(tx *store.Tx) error { return emit(tx, session, typ, fields) })
	case drop:
		if typ != typeHeartbeat {
			s.log.Debug("event of a runner is not for viewers", "session", session, "type", clip(typ, 64))
		}
	}
	return nil
}

// fenceable says whether an interrupt holds back events of this type.
func fenceable(typ string) bool {
	return strings.HasPrefix(typ, "response.") && !isTerminal(typ) && !strings.HasPrefix(typ, "response.elicitation_")
}

func (s *Server) relayStatus(ctx context.Context, session string, lv *live, fields map[string]json.RawMessage) error {
	ch, ok := readStatus(fields)
	if !ok {
		return badInput("session.status has no known value")
	}
	if err := s.db.Write(ctx, func(tx *store.Tx) error { return applyStatus(ctx, tx, session, ch) }); err != nil {
		return err
	}
	if ch.status == statusRunning {
		lv.fenced = false
	}
	return nil
}

func (s *Server) relayInProgress(ctx context.Context, session string, lv *live, fields map[string]json.RawMessage) error {
	var current string
	flushed := false
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.Session(ctx, session)
		if err != nil {
			return err
		}
		r, running, err := beginResponse(ctx, tx, ses, fields)
		if err != nil {
			return err
		}
		if running {
			current = r.ID
		}
		if flushed = lv.response != "" && lv.response != r.ID; flushed { // its end never came
			return flushPlain(ctx, tx, ses, lv)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if flushed {
		lv.plain.Reset()
	}
	if current != "" {
		lv.response = current
	}
	return nil
}

func (s *Server) relayTerminal(ctx context.Context, session string, lv *live, typ string, fields map[string]json.RawMessage) error {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.Session(ctx, session)
		if err != nil {
			return err
		}
		if err := flushPlain(ctx, tx, ses, lv); err != nil {
			return err
		}
		if err := endQuestions(ctx, tx, session); err != nil {
			return err
		}
		return finishResponse(ctx, tx, ses, typ, fields)
	})
	if err != nil {
		return err
	}
	lv.plain.Reset()
	lv.response, lv.fenced = "", false
	return nil
}

// relayItem stores a finished item of the stream. A call that is not completed
// is only shown.
func (s *Server) relayItem(ctx context.Context, session string, lv *live, fields map[string]json.RawMessage) error {
	item, err := object(fields["item"], "item")
	if err != nil {
		return err
	}
	typ := text(item["type"])
	stored := typ == "message" || typ == "function_call_output" || typ == "routing_decision" ||
		typ == "function_call" && text(item["status"]) == "completed"
	if !stored {
		return s.db.Write(ctx, func(tx *store.Tx) error { return emit(tx, session, typeItemDone, fields) })
	}
	i, err := newItem(session, typ, item)
	if err != nil {
		return fmt.Errorf("item of a runner's stream: %w", err)
	}
	same := typ == "message" && text(item["stream_message_id"]) == "" && plainText(i) == lv.plain.String()
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.Session(ctx, session)
		if err != nil {
			return err
		}
		if i.ResponseID, err = responseOf(ctx, tx, ses, lv, i, text(item["response_id"])); err != nil {
			return err
		}
		if typ != "function_call_output" && !same {
			if err := flushPlain(ctx, tx, ses, lv); err != nil {
				return err
			}
		}
		if i.CallID != "" {
			known, err := tx.HasCall(ctx, session, typ, i.ResponseID, i.CallID)
			if err != nil || known {
				return err
			}
		}
		_, err = storeItem(ctx, tx, i)
		return err
	})
	if err == nil && typ != "function_call_output" {
		lv.plain.Reset()
	}
	return err
}

// responseOf names the response of an item: its own, for an output that of its
// call, else the running one, else a new one for it alone.
func responseOf(ctx context.Context, tx *store.Tx, ses *store.Session, lv *live, i *store.Item, given string) (string, error) {
	if i.Type == "function_call_output" {
		call, err := tx.CallItem(ctx, ses.ID, i.CallID)
		if err == nil {
			return call.ResponseID, nil
		}
		if ignoreNotFound(err) != nil {
			return "", err
		}
	}
	return clip(firstOf(given, lv.response, ses.ResponseID, "turn_"+store.NewID()), maxResponseID), nil
}

func (s *Server) relayError(ctx context.Context, session string, lv *live, fields map[string]json.RawMessage) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if lv.response != "" {
			te := fields["error"]
			if isNull(te) {
				var err error
				if te, err = store.Encode(fields); err != nil {
					return err
				}
			}
			if err := storeError(ctx, tx, session, lv.response, firstOf(text(fields["source"]), "execution"), taskError(te)); err != nil {
				return err
			}
		}
		return emit(tx, session, typeResponseError, fields)
	})
}
