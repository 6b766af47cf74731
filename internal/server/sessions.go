package server

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/outrunner/outrunner/internal/server/store"
)

// snapshotItems is how many items a snapshot shows: the newest.
const snapshotItems = 100

// answerSnapshot answers a session as it is now (server.md 2.2).
func (s *Server) answerSnapshot(w http.ResponseWriter, ctx context.Context, status int, id string, withItems bool) error {
	db := s.db.Read()
	ses, err := db.Session(ctx, id)
	if err != nil {
		return err
	}
	a, err := s.agent(ctx, ses.AgentID)
	var gone *apiError
	if err != nil && !errors.As(err, &gone) { // a session without its agent can still be read
		return err
	}
	var items []*store.Item
	if withItems {
		if items, err = db.LastItems(ctx, id, snapshotItems); err != nil {
			return err
		}
	}
	pending, err := db.Pending(ctx, id)
	if err != nil {
		return err
	}
	if gone != nil {
		a = nil
	}
	body, err := s.snapshot(ses, a, items, pending)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	answer(w, s.log, status, body)
	return nil
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	return s.answerSnapshot(w, r.Context(), http.StatusOK, id, flag(r, "include_items", true))
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) error {
	p, err := readPage(r, 20, false)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	query := store.SessionQuery{Owner: principal(r).Owner, AgentID: bareID(q.Get("agent_id")), AgentName: q.Get("agent_name"),
		Kind: firstOf(q.Get("kind"), "default"), Search: q.Get("search_query"), Archived: flag(r, "include_archived", false),
		OnlyArchived: q.Get("visibility") == "archived", ByUpdate: q.Get("sort_by") == "updated_at",
		Ascending: p.ascending, After: p.after, Before: p.before, Limit: p.limit}
	rows, more, err := s.db.Read().Sessions(r.Context(), query)
	if err != nil {
		return err
	}
	out := make([]any, 0, len(rows))
	for _, ses := range rows {
		out = append(out, listRow(ses))
	}
	first, last := "", ""
	if len(rows) > 0 {
		first, last = rows[0].ID, rows[len(rows)-1].ID
	}
	answer(w, s.log, http.StatusOK, envelope(out, first, last, more))
	return nil
}

// deleteSession stops what runs, forgets the session and everything below it,
// and tells the runner.
func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	tree, err := s.db.Read().Tree(ctx, id)
	if err != nil {
		return err
	}
	if len(tree) == 0 {
		return sessionNotFound()
	}
	for _, ses := range tree {
		if inTurn(ses.Status) {
			if status, here, err := s.control(ctx, ses.ID, dict{"type": "stop_session"}); here && !delivered(status, err) {
				s.log.Warn("the runner did not take a stop", "session", ses.ID, "status", status, "error", err)
			}
		}
	}
	if err := s.db.Write(ctx, func(tx *store.Tx) error { return tx.DeleteSession(ctx, id) }); err != nil {
		return err
	}
	for _, ses := range tree {
		s.detach(ses.ID)
		s.hub.gone(ses.ID)
		s.lives.forget(ses.ID)
	}
	s.tellForgotten(ctx, tree)
	answer(w, s.log, http.StatusOK, dict{"id": id, "object": "conversation.deleted", "deleted": true})
	return nil
}

// tellForgotten tells the runners of deleted sessions, children first. A runner
// that does not answer is not asked again: it finds out at its next scan.
func (s *Server) tellForgotten(ctx context.Context, tree []*store.Session) {
	mute := make(map[string]bool)
	for _, ses := range slices.Backward(tree) {
		pr := s.presences.get(ses.RunnerID)
		if pr == nil || mute[ses.RunnerID] {
			continue
		}
		status, err := pr.delete(ctx, ses.ID, s.cfg.Timing.Control)
		mute[ses.RunnerID] = err != nil
		if !delivered(status, err) && status != http.StatusNotFound {
			s.log.Warn("the runner did not forget a session", "session", ses.ID, "status", status, "error", err)
		}
	}
}

func (s *Server) getLabels(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	ses, err := s.db.Read().Session(r.Context(), id)
	if err != nil {
		return err
	}
	answer(w, s.log, http.StatusOK, dict{"id": id, "labels": ses.Labels})
	return nil
}
