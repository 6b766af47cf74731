package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/outrunner/outrunner/internal/server/store"
)

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	return s.answerSnapshot(w, r.Context(), http.StatusOK, id, readView(r))
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) error {
	p, err := readPage(r, 20, false)
	if err != nil {
		return err
	}
	query, err := sessionQuery(r, p)
	if err != nil {
		return err
	}
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

// sessionQuery reads what a list of sessions is to have. One user owns them
// all: mine are all active ones, and nobody shares any.
func sessionQuery(r *http.Request, p page) (store.SessionQuery, error) {
	q := r.URL.Query()
	for name, words := range map[string][]string{"visibility": {"all", "mine", "shared", "archived"},
		"kind": {"default", "sub_agent", "any"}, "sort_by": {"created_at", "updated_at"}} {
		if err := oneOf(q, name, words...); err != nil {
			return store.SessionQuery{}, err
		}
	}
	visibility := firstOf(q.Get("visibility"), "all")
	owner := principal(r).Owner
	if visibility == "shared" {
		owner = "" // nobody
	}
	return store.SessionQuery{Owner: owner, AgentID: bareID(q.Get("agent_id")), AgentName: q.Get("agent_name"),
		Kind: firstOf(q.Get("kind"), "default"), Search: q.Get("search_query"),
		Archived: visibility == "all" && flag(r, "include_archived", false), OnlyArchived: visibility == "archived",
		Project: q.Get("project"), Pinned: flag(r, "pinned", false), ByUpdate: q.Get("sort_by") == "updated_at",
		Ascending: p.ascending, After: p.after, Before: p.before, Limit: p.limit}, nil
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
		if err := s.blobs.forget(ses.ID); err != nil { // the next start sweeps
			s.log.Warn("the files of a deleted session could not be removed", "session", ses.ID, "error", err)
		}
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
