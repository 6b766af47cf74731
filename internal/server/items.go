package server

import (
	"net/http"

	"github.com/outrunner/outrunner/internal/server/store"
)

// listItems is GET /v1/sessions/{id}/items: a page in the flat form.
func (s *Server) listItems(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	p, err := readPage(r, 100, true)
	if err != nil {
		return err
	}
	if _, err := s.db.Read().Session(r.Context(), id); err != nil {
		return err
	}
	items, more, err := s.db.Read().Items(r.Context(), store.ItemQuery{Session: id, Type: r.URL.Query().Get("type"),
		Descending: !p.ascending, After: p.after, Before: p.before, Limit: p.limit})
	if err != nil {
		return err
	}
	rows, first, last := []any{}, "", ""
	for _, i := range items {
		flat, err := flatItem(i)
		if err != nil {
			return err
		}
		rows = append(rows, flat)
		first, last = firstOf(first, i.ID), i.ID
	}
	answer(w, s.log, http.StatusOK, envelope(rows, first, last, more))
	return nil
}
