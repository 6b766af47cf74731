package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/outrunner/outrunner/internal/server/store"
)

const (
	// maxCopied is the most files of one copy.
	maxCopied = 20
	// maxCopiedBytes bounds them together.
	maxCopiedBytes = 256 << 20
)

// copyFiles is POST …/files:copy: a sub-agent gets files of a session above it.
func (s *Server) copyFiles(w http.ResponseWriter, r *http.Request) error {
	id, fields, err := s.sessionBody(w, r, "source_session_id", "file_ids")
	if err != nil {
		return err
	}
	var wanted []string
	if json.Unmarshal(fields["file_ids"], &wanted) != nil || len(wanted) == 0 || len(wanted) > maxCopied {
		return invalid("file_ids", "too_short", "List should have 1 to %d items", maxCopied).given(fields["file_ids"])
	}
	source := bareID(text(fields["source_session_id"]))
	if err := s.mayCopy(r, id, source); err != nil {
		return err
	}
	ctx := r.Context()
	var found []*store.File
	total := int64(0)
	for _, f := range wanted {
		row, err := s.db.Read().File(ctx, source, bareID(f))
		if errors.Is(err, store.ErrNotFound) {
			return refuse(http.StatusNotFound, "not_found", "The source session has no file %q.", clip(f, 64))
		}
		if err != nil {
			return err
		}
		total += row.Bytes
		found = append(found, row)
	}
	if total > maxCopiedBytes {
		return detail(http.StatusRequestEntityTooLarge, "A copy has at most %d MB.", maxCopiedBytes>>20)
	}
	mapping := dict{}
	for _, f := range found {
		was := f.ID
		f.ID, f.Session = store.NewID(), id
		if err := s.blobs.copy(source, was, id, f.ID, f.Bytes); err != nil {
			return err
		}
		if err := s.addFile(ctx, f); err != nil {
			return errors.Join(err, s.blobs.remove(id, f.ID))
		}
		mapping[was] = dict{"new_id": f.ID, "filename": f.Name, "content_type": f.ContentType}
	}
	answer(w, s.log, http.StatusOK, dict{"object": "session.files.copied", "session_id": id, "mapping": mapping})
	return nil
}

// mayCopy refuses a source that is not above the session.
func (s *Server) mayCopy(r *http.Request, id, source string) error {
	ses, err := s.db.Read().Session(r.Context(), id)
	for err == nil && ses.ParentID != "" {
		if ses.ParentID == source {
			return nil
		}
		ses, err = s.db.Read().Session(r.Context(), ses.ParentID)
	}
	if err != nil {
		return err
	}
	return refuse(http.StatusForbidden, "forbidden", "The source is not a session above this one.")
}
