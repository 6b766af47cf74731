package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// titleRunes is how much of the first message becomes the session's title.
const titleRunes = 60

// acceptMessage stores a user's message and its pending mark in one change:
// when it returns, the message will reach a runner, now or whenever one is
// there. A message with a stable id that the session has is the same message.
func (s *Server) acceptMessage(ctx context.Context, p Principal, session string, ev inputEvent) (*store.Item, error) {
	i, extra, err := readMessage(p, session, ev)
	if err != nil {
		return nil, err
	}
	ses, err := s.db.Read().Session(ctx, session)
	if err != nil {
		return nil, err
	}
	if _, err := s.agent(ctx, ses.AgentID); err != nil {
		return nil, err
	}
	runner := ""
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.Session(ctx, session)
		if err != nil {
			return err
		}
		if i.CreatedBy != "" && (p.Runner == "" || p.Runner != ses.RunnerID) {
			return refuse(http.StatusForbidden, "forbidden", "Only the session's runner may set created_by.")
		}
		if added, err := tx.AddItem(ctx, i); err != nil || !added {
			runner = ses.RunnerID
			return err
		}
		if err := tx.Pend(i, extra); err != nil {
			return err
		}
		if runner, err = s.bind(ctx, tx, ses); err != nil {
			return err
		}
		beginTask(ses, i)
		return tx.SaveSession(ses)
	})
	if err != nil {
		return nil, err
	}
	s.attach(session, runner)
	return i, nil
}

// readMessage checks a message event. Extra is what the forward to the runner
// carries besides the stored item.
func readMessage(p Principal, session string, ev inputEvent) (i *store.Item, extra map[string]json.RawMessage, err error) {
	data, err := object(ev.Data, "data")
	if err != nil {
		return nil, nil, err
	}
	if role := text(data["role"]); role != "user" && !isNull(data["role"]) {
		return nil, nil, badInput("a message event has the role user, not %q", clip(role, 64))
	}
	fields := map[string]json.RawMessage{"role": json.RawMessage(`"user"`), "content": data["content"], "user_authored": json.RawMessage("true")}
	if string(data["is_meta"]) == "true" {
		fields["is_meta"] = data["is_meta"]
		delete(fields, "user_authored")
	}
	if i, err = newItem(session, "message", fields); err != nil {
		return nil, nil, err
	}
	if compact := strings.Join(strings.Fields(string(data["content"])), ""); compact == "[]" || compact == `""` {
		return nil, nil, badInput("a message needs content")
	}
	if !isNull(data["stable_id"]) {
		if i.StableID = bareID(text(data["stable_id"])); !isID(i.StableID) {
			return nil, nil, badInput("stable_id must be 32 hex digits")
		}
	}
	i.ResponseID, i.CreatedBy = "turn_"+store.NewID(), ev.CreatedBy
	extra = make(map[string]json.RawMessage)
	if ev.ModelOverride != "" {
		if extra["model_override"], err = store.Encode(ev.ModelOverride); err != nil {
			return nil, nil, err
		}
	}
	if !isNull(ev.Tools) {
		extra["tools"] = ev.Tools
	}
	if string(data["is_meta"]) == "true" {
		extra["is_meta"] = data["is_meta"]
	}
	return i, extra, nil
}

func messageTitle(i *store.Item) string {
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(i.Data, &m) != nil {
		return ""
	}
	return firstText(m.Content, titleRunes)
}
