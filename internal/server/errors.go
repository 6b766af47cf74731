package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/outrunner/outrunner/internal/server/store"
)

// apiError is an error with an HTTP status: the one shape in which a handler
// refuses. Its body is one of the three of server.md 0.
type apiError struct {
	status  int
	code    string // {"error":{"code","message"}}; "" = {"detail": message}
	message string
	field   string // {"detail":[{type,loc,msg,input,ctx?}]}: the field that is wrong
	kind    string // its type
	place   string // where the field is: "body" or "query"
	input   any    // what was given
	ctx     any    // what would be right, nil for nothing
}

func (e *apiError) Error() string { return e.message }

// refuse makes an error of the coded shape.
func refuse(status int, code, format string, args ...any) *apiError {
	return &apiError{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// detail makes an error of the plain shape.
func detail(status int, format string, args ...any) *apiError {
	return &apiError{status: status, message: fmt.Sprintf(format, args...)}
}

// invalid makes a 422 that names a field.
func invalid(field, kind, format string, args ...any) *apiError {
	return &apiError{status: http.StatusUnprocessableEntity, field: field, kind: kind, place: "body", message: fmt.Sprintf(format, args...)}
}

// invalidQuery is invalid for a parameter of the query.
func invalidQuery(field, given, kind, format string, args ...any) *apiError {
	e := invalid(field, kind, format, args...)
	e.place, e.input = "query", given
	return e
}

// given adds what the sender gave, about what would be right.
func (e *apiError) given(input any) *apiError { e.input = input; return e }
func (e *apiError) about(ctx any) *apiError   { e.ctx = ctx; return e }

func badInput(format string, args ...any) *apiError {
	return refuse(http.StatusBadRequest, "invalid_input", format, args...)
}

func sessionNotFound() *apiError {
	return refuse(http.StatusNotFound, "not_found", "Not found.")
}

// classify maps any error of a handler to its answer: the one place.
func classify(err error) *apiError {
	var api *apiError
	switch {
	case errors.As(err, &api):
		return api
	case errors.Is(err, store.ErrNotFound):
		return refuse(http.StatusNotFound, "not_found", "Session not found")
	case errors.Is(err, store.ErrStaleCursor):
		return refuse(http.StatusBadRequest, "stale_cursor", "The cursor is not in this list any more; start the listing again.")
	case errors.Is(err, store.ErrUnavailable):
		return refuse(http.StatusServiceUnavailable, "storage_unavailable",
			"The server cannot write to its database at the moment (is the disk full?); nothing was stored, try again.")
	}
	return refuse(http.StatusInternalServerError, "internal_error", "Internal error; the server's log has the reason.")
}

// fail answers an error.
func fail(w http.ResponseWriter, log *slog.Logger, err error) {
	e := classify(err)
	switch {
	case errors.Is(err, context.Canceled):
		log.Debug("whoever asked has gone", "error", err) // nothing of ours failed
	case e.status >= http.StatusInternalServerError:
		log.Error("request failed", "status", e.status, "error", err)
	}
	var body any
	switch {
	case e.field != "":
		row := dict{"type": e.kind, "loc": []string{e.place, e.field}, "msg": e.message, "input": e.input}
		if e.ctx != nil {
			row["ctx"] = e.ctx
		}
		body = dict{"detail": []any{row}}
	case e.code != "":
		body = map[string]any{"error": map[string]any{"code": e.code, "message": e.message}}
	default:
		body = map[string]any{"detail": e.message}
	}
	answer(w, log, e.status, body)
}

// answer writes a JSON body.
func answer(w http.ResponseWriter, log *slog.Logger, status int, body any) {
	b, err := store.Encode(body)
	if err != nil {
		log.Error("encoding an answer", "error", err)
		status, b = http.StatusInternalServerError, []byte(`{"error":{"code":"internal_error","message":"Internal error."}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(b); err != nil {
		log.Debug("writing an answer", "error", err)
	}
}

// object decodes a JSON object; what names it in the error.
func object(raw []byte, what string) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, badInput("%s must be a JSON object", what)
	}
	return m, nil
}

// ignoreNotFound drops the error that only says that a row is not there.
func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
