package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/outrunner/outrunner/internal/server/store"
)

// onSlashCommand has the session's runner say what a skill means, and sends that
// as a message. What the user typed is shown; the text behind it is not.
func (s *Server) onSlashCommand(ctx context.Context, p Principal, session string, ev inputEvent) (dict, error) {
	data, err := object(ev.Data, "data")
	if err != nil {
		return nil, err
	}
	name, arguments := text(data["name"]), text(data["arguments"])
	if kind := text(data["kind"]); kind != "skill" || name == "" {
		return nil, badInput("a slash_command has the kind skill and a name, not %q and %q", clip(kind, 64), clip(name, 64))
	}
	meaning, err := s.resolveSkill(ctx, session, name, arguments)
	if err != nil {
		return nil, err
	}
	shown, err := newItem(session, "slash_command", data)
	if err != nil {
		return nil, err
	}
	shown.ResponseID, shown.CreatedBy = "turn_"+store.NewID(), ev.CreatedBy
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.AddItem(ctx, shown)
		return err
	})
	if err != nil {
		return nil, err
	}
	if ev.Data, err = store.Encode(dict{"role": "user", "content": meaning, "is_meta": true}); err != nil {
		return nil, err
	}
	return s.onMessage(ctx, p, session, ev)
}

// resolveSkill asks the runner for the text of a skill.
func (s *Server) resolveSkill(ctx context.Context, session, name, arguments string) (string, error) {
	ses, err := s.db.Read().Session(ctx, session)
	if err != nil {
		return "", err
	}
	pr := s.presences.get(ses.RunnerID)
	if pr == nil {
		return "", refuse(http.StatusServiceUnavailable, "runner_unavailable", "No runner is there to say what the skill means; send the session a message first, or try again.")
	}
	body, err := store.Encode(dict{"name": name, "arguments": arguments})
	if err != nil {
		return "", err
	}
	status, answer, err := pr.ask(ctx, runnerURL(session, "/skills/resolve"), body, s.cfg.Timing.Control, maxRunnerAnswer)
	if err != nil {
		return "", refuse(http.StatusServiceUnavailable, "runner_unavailable", "The runner did not say what the skill means; try again: %v", err)
	}
	var skill struct {
		Text      string   `json:"meta_text"`
		Available []string `json:"available"`
	}
	switch err := json.Unmarshal(answer, &skill); {
	case status == http.StatusNotFound && err == nil:
		return "", badInput("There is no skill named %q here; there are %q.", clip(name, 64), skill.Available)
	case status == http.StatusOK && err == nil && skill.Text != "":
		return skill.Text, nil
	}
	return "", refuse(http.StatusInternalServerError, "internal_error", "The runner could not say what the skill means: it answered %d.", status)
}
