package server

import (
	"context"
	"encoding/json"
	"time"

	"github.com/outrunner/outrunner/internal/server/store"
)

// news is an event by which a program beside the turn, mostly one that watches
// a terminal, tells the viewers of something: what it becomes on the stream and
// the key of its data that must be there. Fleeting news is not a row.
type news struct {
	typ, key string
	fleeting bool
}

var externalNews = map[string]news{
	"external_output_reasoning_delta":          {"response.reasoning_text.delta", "delta", true},
	"external_tool_output_delta":               {"response.function_call_output.delta", "delta", true},
	"external_session_usage":                   {"session.usage", "", false},
	"external_model_change":                    {"session.model", "model", false},
	"external_reasoning_effort_change":         {"session.reasoning_effort", "reasoning_effort", false},
	"external_permission_mode_change":          {"session.permission_mode", "permission_mode", false},
	"external_session_todos":                   {"session.todos", "todos", false},
	"external_mcp_startup":                     {"session.mcp_startup", "servers", false},
	"external_session_interrupted":             {typeInterrupted, "", false},
	"external_btw_sidechat":                    {"session.btw_sidechat", "question", false},
	"external_codex_collaboration_mode_change": {"session.collaboration_mode", "mode", false},
}

// newsHandlers are the handlers of the external news.
func (s *Server) newsHandlers() map[string]eventHandler {
	out := map[string]eventHandler{"external_compaction_status": s.onCompactionStatus, "external_assistant_message": s.onAssistantMessage,
		"external_session_title": s.onExternalTitle, "compaction": s.onCompaction}
	for name, n := range externalNews {
		out[name] = func(ctx context.Context, _ Principal, session string, ev inputEvent) (dict, error) {
			data, err := object(ev.Data, "data")
			if err != nil {
				return nil, err
			}
			if n.key != "" && data[n.key] == nil {
				return nil, badInput("%s needs data.%s", name, n.key)
			}
			return dict{"queued": false}, s.tell(ctx, session, n, data)
		}
	}
	return out
}

// tell publishes news.
func (s *Server) tell(ctx context.Context, session string, n news, data map[string]json.RawMessage) error {
	event := make(dict, len(data)+2)
	for k, v := range data {
		event[k] = v
	}
	event["conversation_id"] = session
	if n.typ == typeInterrupted {
		event = dict{"data": dict{"requested_at": time.Now().Unix(), "response_id": rawOrNull(data["response_id"])}}
	}
	if !n.fleeting {
		return s.db.Write(ctx, func(tx *store.Tx) error { return emit(tx, session, n.typ, event) })
	}
	raw, err := store.Encode(event)
	if err != nil {
		return err
	}
	if raw, err = wholeEvent(n.typ, raw); err != nil {
		return err
	}
	s.hub.pass(session, n.typ, raw)
	return nil
}

// onCompactionStatus tells how far the shortening of a context is.
func (s *Server) onCompactionStatus(ctx context.Context, _ Principal, session string, ev inputEvent) (dict, error) {
	data, err := object(ev.Data, "data")
	if err != nil {
		return nil, err
	}
	status := text(data["status"])
	switch status {
	case "in_progress":
		if data["started_at"], err = store.Encode(time.Now().Unix()); err != nil {
			return nil, err
		}
	case "completed", "failed":
	default:
		return nil, badInput("external_compaction_status: the status is in_progress, completed or failed, not %q", clip(status, 64))
	}
	return dict{"queued": false}, s.tell(ctx, session, news{typ: "response.compaction." + status}, data)
}

// onAssistantMessage stores an answer that was given beside the turn.
func (s *Server) onAssistantMessage(ctx context.Context, p Principal, session string, ev inputEvent) (dict, error) {
	data, err := object(ev.Data, "data")
	if err != nil {
		return nil, err
	}
	if text(data["text"]) == "" || text(data["agent"]) == "" {
		return nil, badInput("external_assistant_message needs data.agent and data.text")
	}
	whole, err := store.Encode(dict{"item_type": "message", "response_id": text(data["response_id"]), "item_data": dict{
		"role": "assistant", "agent": data["agent"], "content": []dict{{"type": "output_text", "text": data["text"]}}}})
	if err != nil {
		return nil, err
	}
	return s.onExternalItem(ctx, p, session, inputEvent{Data: whole})
}

// onCompaction stores that a history was made shorter. It is no event for
// viewers: on a stream it would end those of the API's own clients.
func (s *Server) onCompaction(ctx context.Context, _ Principal, session string, ev inputEvent) (dict, error) {
	data, err := object(ev.Data, "data")
	if err != nil {
		return nil, err
	}
	i, err := newItem(session, "compaction", data)
	if err != nil {
		return nil, err
	}
	i.ResponseID = "compact_" + store.NewID()
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.AddItem(ctx, i)
		return err
	})
	return dict{"queued": true}, err
}

// onExternalTitle takes the name that a program gave the session.
func (s *Server) onExternalTitle(ctx context.Context, _ Principal, session string, ev inputEvent) (dict, error) {
	data, err := object(ev.Data, "data")
	if err != nil {
		return nil, err
	}
	title := text(data["title"])
	if title == "" {
		return nil, badInput("external_session_title needs data.title")
	}
	return dict{"queued": false}, s.rename(ctx, session, title)
}
