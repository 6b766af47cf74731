package server

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

const (
	// maxEvents is the most events of one request (server.md 2.6).
	maxEvents = 100
	// maxEventsBody bounds the body of a request with events, in bytes.
	maxEventsBody = 10 << 20
	// maxSourceID bounds a source id, in bytes.
	maxSourceID = 256
)

// inputEvent is one event that a client or a runner posts.
type inputEvent struct {
	Type          string          `json:"type"`
	Data          json.RawMessage `json:"data"`
	ModelOverride string          `json:"model_override"`
	Tools         json.RawMessage `json:"tools"`
	CreatedBy     string          `json:"created_by"`
}

// eventHandler does what one event asks and answers its ack.
type eventHandler func(ctx context.Context, p Principal, session string, ev inputEvent) (dict, error)

// eventHandlers are the events that the server takes.
func (s *Server) eventHandlers() map[string]eventHandler {
	all := map[string]eventHandler{
		"message":                    s.onMessage,
		"slash_command":              s.onSlashCommand,
		"interrupt":                  s.onInterrupt,
		"stop_session":               s.onStop,
		"retry_session":              s.onRetry,
		"approval":                   s.onApproval,
		"external_conversation_item": s.onExternalItem,
		"external_output_text_delta": s.onExternalDelta,
		"external_session_status":    s.onExternalStatus,

		"mcp_elicitation":               s.onElicitation,
		"external_elicitation_resolved": s.onExternalResolved,
		"compact":                       s.onCompact,
		"function_call_output":          s.onToolResult,
	}
	maps.Copy(all, s.newsHandlers())
	return all
}

// postEvents is POST /v1/sessions/{id}/events: one event, or a list that is
// done in order, each on its own.
func (s *Server) postEvents(w http.ResponseWriter, r *http.Request) error {
	session, err := s.sessionID(r)
	if err != nil {
		return err
	}
	raw, err := readJSON(w, r, maxEventsBody)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(raw, []byte("[")) {
		ack, err := s.event(r, session, raw)
		if err != nil {
			return err
		}
		answer(w, s.log, http.StatusAccepted, ack)
		return nil
	}
	var events []json.RawMessage
	if err := json.Unmarshal(raw, &events); err != nil {
		return badInput("the body must be an event or a list of events")
	}
	if len(events) == 0 || len(events) > maxEvents {
		return badInput("a list must have 1 to %d events, not %d", maxEvents, len(events))
	}
	acks := make([]dict, 0, len(events))
	for _, e := range events {
		ack, err := s.event(r, session, e)
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	answer(w, s.log, http.StatusAccepted, acks)
	return nil
}

func (s *Server) event(r *http.Request, session string, raw []byte) (dict, error) {
	if _, err := object(raw, "an event"); err != nil {
		return nil, err
	}
	var ev inputEvent
	if err := json.Unmarshal(raw, &ev); err != nil {
		return nil, badInput("an event is malformed: %v", err)
	}
	do := s.events[ev.Type]
	if do == nil {
		known := make([]string, 0, len(s.events))
		for name := range s.events {
			known = append(known, name)
		}
		slices.Sort(known)
		return nil, badInput("unknown event type %q; the server takes: %s", clip(ev.Type, 64), strings.Join(known, ", "))
	}
	if _, err := s.db.Read().Session(r.Context(), session); err != nil {
		return nil, err
	}
	return do(r.Context(), principal(r), session, ev)
}

func (s *Server) onMessage(ctx context.Context, p Principal, session string, ev inputEvent) (dict, error) {
	i, err := s.acceptMessage(ctx, p, session, ev)
	if err != nil {
		return nil, err
	}
	return dict{"queued": true, "item_id": i.ID}, nil
}

// onExternalItem stores what a runner produced. The first of equal source ids
// counts; a repeat answers its id and publishes nothing.
func (s *Server) onExternalItem(ctx context.Context, _ Principal, session string, ev inputEvent) (dict, error) {
	var in struct {
		ItemType   string          `json:"item_type"`
		ItemData   json.RawMessage `json:"item_data"`
		ResponseID string          `json:"response_id"`
		SourceID   string          `json:"source_id"`
		MessageID  string          `json:"message_id"`
		Inputs     []string        `json:"input_item_ids"`
	}
	if err := json.Unmarshal(ev.Data, &in); err != nil {
		return nil, badInput("external_conversation_item: malformed data: %v", err)
	}
	if len(in.SourceID) > maxSourceID || len(in.ResponseID) > maxResponseID {
		return nil, badInput("source_id has at most %d and response_id at most %d bytes", maxSourceID, maxResponseID)
	}
	fields, err := object(in.ItemData, "item_data")
	if err != nil {
		return nil, err
	}
	if in.MessageID != "" && in.ItemType == "message" && text(fields["role"]) == "assistant" {
		if fields["stream_message_id"], err = store.Encode(in.MessageID); err != nil {
			return nil, err
		}
	}
	i, err := newItem(session, in.ItemType, fields)
	if err != nil {
		return nil, err
	}
	i.SourceID, i.ResponseID = in.SourceID, in.ResponseID
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.Session(ctx, session)
		if err != nil {
			return err
		}
		if i.ResponseID == "" {
			if i.ResponseID, err = responseOf(ctx, tx, ses, &live{}, i, ""); err != nil {
				return err
			}
		}
		if err := settleInputs(ctx, tx, session, in.Inputs); err != nil {
			return err
		}
		_, err = storeItem(ctx, tx, i)
		return err
	})
	if err != nil {
		return nil, err
	}
	return dict{"queued": false, "item_id": i.ID}, nil
}

func (s *Server) onExternalDelta(_ context.Context, _ Principal, session string, ev inputEvent) (dict, error) {
	var d delta
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return nil, badInput("external_output_text_delta: malformed data: %v", err)
	}
	d.Type = typeTextDelta
	s.hub.preview(session, d)
	return dict{"queued": false}, nil
}
