package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/outrunner/outrunner/internal/server/store"
)

// maxTitleRunes bounds a title that a program gives.
const maxTitleRunes = 200

// sessionBody reads the id in the path and the fields of a JSON body, each of
// which must be there.
func (s *Server) sessionBody(w http.ResponseWriter, r *http.Request, needs ...string) (string, map[string]json.RawMessage, error) {
	id, err := s.sessionID(r)
	if err != nil {
		return "", nil, err
	}
	fields, err := readObject(w, r, maxBody)
	if err != nil {
		return "", nil, err
	}
	for _, k := range needs {
		if isNull(fields[k]) {
			return "", nil, invalid(k, "missing", "Field required").given(fields)
		}
	}
	return id, fields, nil
}

// putReadState is PUT …/read-state: what the user has seen.
func (s *Server) putReadState(w http.ResponseWriter, r *http.Request) error {
	id, fields, err := s.sessionBody(w, r, "last_seen", "unread")
	if err != nil {
		return err
	}
	var at int64
	var unread bool
	if json.Unmarshal(fields["last_seen"], &at) != nil {
		return invalid("last_seen", "int_type", "Input should be a valid integer").given(fields["last_seen"])
	}
	if json.Unmarshal(fields["unread"], &unread) != nil {
		return invalid("unread", "bool_type", "Input should be a valid boolean").given(fields["unread"])
	}
	ctx := r.Context()
	// Of a session that is gone there is nothing left to see: no error upstream.
	if err := ignoreNotFound(s.db.Write(ctx, func(tx *store.Tx) error { return tx.SawSession(id, at, unread) })); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// setTitle is POST …/auto-title and …/agent-title: a program names the session.
func (s *Server) setTitle(w http.ResponseWriter, r *http.Request) error {
	id, fields, err := s.sessionBody(w, r, "title")
	if err != nil {
		return err
	}
	title := strings.Join(strings.Fields(text(fields["title"])), " ")
	if n := utf8.RuneCountInString(title); n < 2 || n > maxTitleRunes {
		return invalid("title", "string_too_short", "A title has 2 to %d characters", maxTitleRunes).given(fields["title"]).about(dict{"min_length": 2})
	}
	if err := s.rename(r.Context(), id, title); err != nil {
		return err
	}
	answer(w, s.log, http.StatusOK, dict{"renamed": true, "title": title, "reason": nil})
	return nil
}

// rename gives a session a title, and tells its viewers.
func (s *Server) rename(ctx context.Context, id, title string) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.Session(ctx, id)
		if err != nil {
			return err
		}
		ses.Title = clip(title, maxTitleRunes*4)
		if err := checkTitle(ctx, tx, ses); err != nil {
			return err
		}
		if err := tx.SaveSession(ses); err != nil {
			return err
		}
		return emit(tx, id, "session.title", dict{"conversation_id": id, "title": title})
	})
}

// resetModel is POST …/model-override/reset: it takes a choice of model back,
// if it is still the one that the client saw.
func (s *Server) resetModel(w http.ResponseWriter, r *http.Request) error {
	id, fields, err := s.sessionBody(w, r, "expected_model_override")
	if err != nil {
		return err
	}
	ctx, done := r.Context(), false
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.Session(ctx, id)
		if err != nil {
			return err
		}
		if done = ses.ModelOverride != "" && ses.ModelOverride == text(fields["expected_model_override"]); !done {
			return nil
		}
		ses.ModelOverride = ""
		return tx.SaveSession(ses)
	})
	if err != nil {
		return err
	}
	if done {
		s.tellRunner(ctx, id, dict{"type": "model_change", "model": nil})
	}
	answer(w, s.log, http.StatusOK, dict{"reset": done})
	return nil
}
