package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// maxFileName bounds a file's name, in bytes.
const maxFileName = 255

// uploadFile is POST …/resources/files: the part "file" becomes a file of the
// session. Its bytes go to disk as they come.
func (s *Server) uploadFile(w http.ResponseWriter, r *http.Request) error {
	session, err := s.sessionID(r)
	if err != nil {
		return err
	}
	if _, err := s.db.Read().Session(r.Context(), session); err != nil {
		return err
	}
	part, err := filePart(w, r)
	if err != nil {
		return err
	}
	name := fileName(part.FileName())
	f := &store.File{ID: store.NewID(), Session: session, Name: name, ContentType: fileType(name, part.Header.Get("Content-Type"))}
	limit, err := fileLimit(name, f.ContentType)
	if err != nil {
		return err
	}
	if f.Bytes, err = s.blobs.put(session, f.ID, part, limit); errors.Is(err, errTooLarge) {
		return detail(http.StatusRequestEntityTooLarge, "A file of the type %s has at most %d MB.", f.ContentType, limit>>20)
	} else if err != nil {
		return err
	}
	if err := s.addFile(r.Context(), f); err != nil {
		return errors.Join(err, s.blobs.remove(session, f.ID))
	}
	answer(w, s.log, http.StatusCreated, fileResource(f))
	return nil
}

// filePart finds the part with the file. What follows it is not read.
func filePart(w http.ResponseWriter, r *http.Request) (*multipart.Part, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxImageFile+maxBody)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, invalid("file", "missing", "Field required")
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil, invalid("file", "missing", "Field required")
		}
		if err != nil {
			return nil, badInput("the multipart body can not be read: %v", err)
		}
		if part.FormName() == "file" && part.FileName() != "" {
			return part, nil
		}
	}
}

// fileName is a name without folders and control characters.
func fileName(given string) string {
	name := path.Base(strings.ReplaceAll(given, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if name == "" || name == "." || name == "/" || name == ".." {
		name = "file"
	}
	return clip(name, maxFileName)
}

// addFile stores a file's row, and that it came.
func (s *Server) addFile(ctx context.Context, f *store.File) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Session(ctx, f.Session); err != nil {
			return err
		}
		if err := tx.AddFile(f); err != nil {
			return err
		}
		res := fileResource(f)
		if err := noteResource(ctx, tx, f.Session, typeResourceCreated, f.ID, "file", res); err != nil {
			return err
		}
		return emit(tx, f.Session, typeResourceCreated, dict{"resource": res})
	})
}

// noteResource stores what came or went; res is nil for what went.
func noteResource(ctx context.Context, tx *store.Tx, session, typ, id, kind string, res any) error {
	data := dict{"event_type": typ, "resource_id": id, "resource_type": kind}
	if res != nil {
		data["resource"] = res
	}
	raw, err := store.Encode(data)
	if err != nil {
		return err
	}
	_, err = tx.AddItem(ctx, &store.Item{Session: session, Type: "resource_event", Status: "completed", ResponseID: session, Data: raw})
	return err
}

// fileResource is a file as the API shows it.
func fileResource(f *store.File) dict {
	return dict{"id": f.ID, "object": "session.resource", "type": "file", "session_id": f.Session, "name": f.Name,
		"metadata": dict{"filename": f.Name, "bytes": f.Bytes, "created_at": f.CreatedAt, "source_metadata": nil}}
}

func (s *Server) listFiles(w http.ResponseWriter, r *http.Request) error {
	session, err := s.sessionID(r)
	if err != nil {
		return err
	}
	p, err := readPage(r, 20, false)
	if err != nil {
		return err
	}
	if _, err := s.db.Read().Session(r.Context(), session); err != nil {
		return err
	}
	files, more, err := s.db.Read().Files(r.Context(), store.FileQuery{Session: session, Ascending: p.ascending, After: p.after, Before: p.before, Limit: p.limit})
	if err != nil {
		return err
	}
	rows, first, last := []any{}, "", ""
	for _, f := range files {
		rows = append(rows, fileResource(f))
		first, last = firstOf(first, f.ID), f.ID
	}
	answer(w, s.log, http.StatusOK, envelope(rows, first, last, more))
	return nil
}

// file finds the file in the request's path.
func (s *Server) file(r *http.Request) (*store.File, error) {
	session, err := s.sessionID(r)
	if err != nil {
		return nil, err
	}
	if _, err := s.db.Read().Session(r.Context(), session); err != nil {
		return nil, err
	}
	id := bareID(r.PathValue("file_id"))
	if !isID(id) {
		return nil, sessionNotFound()
	}
	f, err := s.db.Read().File(r.Context(), session, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, refuse(http.StatusNotFound, "not_found", "File not found")
	}
	return f, err
}

func (s *Server) getFile(w http.ResponseWriter, r *http.Request) error {
	f, err := s.file(r)
	if err != nil {
		return err
	}
	answer(w, s.log, http.StatusOK, fileResource(f))
	return nil
}

// getFileContent sends a file's bytes, always as a download: a page that a
// sender wrote must not run under this server's name.
func (s *Server) getFileContent(w http.ResponseWriter, r *http.Request) (err error) {
	f, err := s.file(r)
	if err != nil {
		return err
	}
	body, err := s.blobs.open(f.Session, f.ID)
	if err != nil {
		return fmt.Errorf("reading file %s: %w", f.ID, err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	h := w.Header()
	media := f.ContentType
	if strings.HasPrefix(media, "text/") {
		media += "; charset=utf-8"
	}
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", contentDisposition(f.Name))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", strconv.Quote(f.ID))
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Content-Length", strconv.FormatInt(f.Bytes, 10))
	if _, err := io.Copy(w, body); err != nil {
		s.log.Debug("sending a file", "error", err)
	}
	return nil
}

// contentDisposition names a download, for old clients and for all others.
func contentDisposition(name string) string {
	ascii := strings.Map(func(r rune) rune {
		if r > '~' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, name)
	return `attachment; filename="` + ascii + `"; filename*=UTF-8''` + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}

func (s *Server) deleteFile(w http.ResponseWriter, r *http.Request) error {
	f, err := s.file(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteFile(f.Session, f.ID); err != nil {
			return err
		}
		if err := noteResource(ctx, tx, f.Session, typeResourceDeleted, f.ID, "file", nil); err != nil {
			return err
		}
		return emit(tx, f.Session, typeResourceDeleted, dict{"resource_id": f.ID, "resource_type": "file", "session_id": f.Session})
	})
	if err != nil {
		return err
	}
	if err := s.blobs.remove(f.Session, f.ID); err != nil { // the next start sweeps
		s.log.Warn("a deleted file could not be removed", "file", f.ID, "error", err)
	}
	answer(w, s.log, http.StatusOK, dict{"id": f.ID, "object": "session.resource.deleted", "deleted": true})
	return nil
}
