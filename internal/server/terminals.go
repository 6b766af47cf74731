package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// nativeTerminals are the names under which the programs of native harnesses
// run, each with the key nativeKey (terminals.md 1.6). No agent declares them.
var nativeTerminals = []string{"claude", "codex", "opencode", "pi", "cursor", "kiro", "goose", "qwen", "antigravity", "kimi", "hermes", "devin"}

const nativeKey = "main"

// createTerminal is POST …/resources/terminals. The runner starts a terminal, or
// answers with the one that runs under that name and key; the news of it is the
// server's to tell (terminals.md 1.4).
func (s *Server) createTerminal(w http.ResponseWriter, r *http.Request) error {
	ses, err := s.pathSession(r)
	if err != nil {
		return err
	}
	raw, err := readJSON(w, r, maxBody)
	if err != nil {
		return err
	}
	fields, err := object(raw, "the body")
	if err != nil {
		return err
	}
	if err := s.mayCreate(r.Context(), ses, fields); err != nil {
		return err
	}
	if ses, err = s.bound(r.Context(), ses); err != nil {
		return err
	}
	made, err := s.callRunner(r.Context(), ses, resourceCall{method: http.MethodPost, path: "/resources/terminals", body: raw})
	if err != nil {
		return err
	}
	res, err := readResource(made)
	if err != nil {
		return detail(http.StatusBadGateway, "The runner returned a malformed response.")
	}
	kept := string(fields["persist_resource_event"]) != "false"
	if err := s.db.Write(r.Context(), func(tx *store.Tx) error { return resourceCame(r.Context(), tx, ses.ID, res, kept) }); err != nil {
		return err
	}
	answer(w, s.log, http.StatusOK, made)
	return nil
}

// mayCreate is the gate: what runs is what the agent declares, or the program of
// a native harness.
func (s *Server) mayCreate(ctx context.Context, ses *store.Session, fields map[string]json.RawMessage) error {
	name, key := text(fields["terminal"]), text(fields["session_key"])
	if name == "" || key == "" {
		return badInput("'terminal' and 'session_key' are required")
	}
	if strings.ContainsFunc(name+key, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return badInput("the name and the key of a terminal have no control characters")
	}
	wrapped := string(fields["ensure_native_terminal"]) == "true" || text(fields["bridge_inject_dir"]) != ""
	if wrapped && key == nativeKey && slices.Contains(nativeTerminals, name) {
		return nil
	}
	a, err := s.agent(ctx, ses.AgentID)
	if err != nil {
		return err
	}
	declared := terminalNames(a.specOf(ses))
	if !slices.Contains(declared, name) {
		return badInput("the agent %q declares no terminal %q; it has: %s", a.Name, clip(name, 64), firstOf(strings.Join(declared, ", "), "none"))
	}
	return nil
}

// bound gives a session that has no runner the one that can be chosen, as its
// first message would.
func (s *Server) bound(ctx context.Context, ses *store.Session) (*store.Session, error) {
	if ses.RunnerID != "" {
		return ses, nil
	}
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		var err error
		if ses, err = tx.Session(ctx, ses.ID); err != nil {
			return err
		}
		runner, err := s.bind(ctx, tx, ses)
		if err != nil || runner == "" {
			return err
		}
		return tx.SaveSession(ses)
	})
	if err == nil && ses.RunnerID != "" {
		s.attach(ses.ID, ses.RunnerID)
	}
	return ses, err
}

// deleteTerminal is DELETE …/resources/terminals/{id}.
func (s *Server) deleteTerminal(w http.ResponseWriter, r *http.Request) error {
	ses, err := s.pathSession(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	raw, err := s.callRunner(r.Context(), ses, resourceCall{method: http.MethodDelete, path: "/resources/terminals/" + id})
	if err != nil && !isNotFound(err) {
		return err
	}
	// One that the runner does not have any more may still be shown.
	if werr := s.db.Write(r.Context(), func(tx *store.Tx) error { return resourceWent(r.Context(), tx, ses.ID, id, "terminal", true) }); werr != nil {
		return werr
	}
	if err != nil {
		return err
	}
	answer(w, s.log, http.StatusOK, raw)
	return nil
}

// transferTerminal is POST …/resources/terminals/{id}/transfer: another session
// of the same runner gets the terminal, and its viewers stay (terminals.md 1.5).
func (s *Server) transferTerminal(w http.ResponseWriter, r *http.Request) error {
	ses, err := s.pathSession(r)
	if err != nil {
		return err
	}
	fields, err := readObject(w, r, maxBody)
	if err != nil {
		return err
	}
	ctx := r.Context()
	target, err := s.db.Read().Session(ctx, bareID(text(fields["target_session_id"])))
	if err != nil {
		return err
	}
	if target.RunnerID != ses.RunnerID {
		return badInput("the session %s is not on the runner that has the terminal", target.ID)
	}
	id := r.PathValue("id")
	body, err := store.Encode(dict{"target_session_id": target.ID})
	if err != nil {
		return err
	}
	moved, err := s.callRunner(ctx, ses, resourceCall{method: http.MethodPost, path: "/resources/terminals/" + id + "/transfer", body: body})
	if err != nil {
		return err
	}
	res, err := readResource(moved)
	if err != nil {
		return detail(http.StatusBadGateway, "The runner returned a malformed response.")
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if err := resourceWent(ctx, tx, ses.ID, id, "terminal", true); err != nil {
			return err
		}
		return resourceCame(ctx, tx, target.ID, res, true)
	})
	if err != nil {
		return err
	}
	answer(w, s.log, http.StatusOK, moved)
	return nil
}

// cleanResources is DELETE …/resources: the runner ends all terminals of a
// session. Files of the workspace, and those that the server has, stay.
func (s *Server) cleanResources(w http.ResponseWriter, r *http.Request) error {
	ses, err := s.pathSession(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	had, err := s.runnerResources(ctx, ses, "/terminals")
	if err != nil && !isNotFound(err) {
		return err
	}
	raw, err := s.callRunner(ctx, ses, resourceCall{method: http.MethodDelete, path: "/resources"})
	if err != nil {
		return err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		for _, res := range had {
			if err := resourceWent(ctx, tx, ses.ID, res.id, res.kind, true); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	answer(w, s.log, http.StatusOK, raw)
	return nil
}

// terminalFrames are the session's terminals as a stream begins with them
// (server.md 3). A runner that does not say so in time has none to show: what
// it tells later comes as it happens.
func (s *Server) terminalFrames(ctx context.Context, ses *store.Session) []frame {
	if ses.RunnerID == "" || s.presences.get(ses.RunnerID) == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timing.Terminals)
	defer cancel()
	all, err := s.runnerResources(ctx, ses, "/terminals")
	if err != nil {
		s.log.Debug("the terminals of a session are not known", "session", ses.ID, "error", err)
		return nil
	}
	var out []frame
	for _, res := range all {
		raw, err := store.Encode(dict{"resource": res.raw})
		if err == nil {
			raw, err = wholeEvent(typeResourceCreated, raw)
		}
		if err == nil {
			out = append(out, frame{typ: typeResourceCreated, data: raw})
		}
	}
	return out
}
