package serverapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// StatusError is an answer that refuses a call. It unwraps to
// wire.ErrNotFound, wire.ErrStaleCursor, wire.ErrConflict or wire.ErrRejected
// when the refusal is settled, to wire.ErrDenied, or to nothing when another try
// may pass.
type StatusError struct {
	Method, Path string
	Status       int
	Code         string // the server's, "" when it gave none
	Message      string
	meaning      error
}

// Error implements error.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answered %d to %s %s", e.Status, e.Method, e.Path)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap gives the meaning.
func (e *StatusError) Unwrap() error { return e.meaning }

// judge says what an answer's status means; nil is a success. text is the
// body, as far as it was read.
func judge(q call, response *http.Response, text []byte) error {
	status := response.StatusCode
	if status >= 200 && status < 300 {
		return nil
	}
	if status >= 300 && status < 400 {
		return fmt.Errorf("the server answered %d to %s %s, a redirect to %s; it may want a sign-in, or the server URL is not exact",
			status, q.method, q.path, target(response))
	}
	if foreign(response, text) && status != http.StatusRequestEntityTooLarge {
		return notOurs(q, response, text)
	}
	code, message := reason(text)
	refused := &StatusError{Method: q.method, Path: q.path, Status: status, Code: code, Message: message, meaning: meaning(status, code)}
	if status == http.StatusConflict && q.conflict {
		refused.meaning = wire.ErrConflict
	}
	return refused
}

// lost is the error of a call that the server did not answer, as far as this
// end knows: whether it did what it was asked to is open.
type lost struct{ error }

// Unwrap gives the reason.
func (l lost) Unwrap() error { return l.error }

// unsure reports that nobody knows what became of a call: it is lost, or the
// server broke over it.
func unsure(err error) bool {
	var status *StatusError
	return errors.As(err, new(lost)) || errors.As(err, &status) && status.Status >= 500
}

func meaning(status int, code string) error {
	switch status {
	case http.StatusNotFound:
		return wire.ErrNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return wire.ErrDenied
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return nil
	}
	switch {
	case status == http.StatusBadRequest && code == "stale_cursor":
		return wire.ErrStaleCursor
	case status >= 400 && status < 500:
		return wire.ErrRejected
	}
	return nil
}

// foreign reports that an answer was made by something in between: the server
// itself never answers a call with a page.
func foreign(response *http.Response, text []byte) bool {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err == nil && (kind == "text/html" || kind == "application/xhtml+xml") {
		return true
	}
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("<"))
}

func notOurs(q call, response *http.Response, text []byte) error {
	what := "something that is not JSON"
	if foreign(response, text) {
		what = "HTML"
	}
	return lost{fmt.Errorf("%s %s (status %d) was answered with %s: is this an outrunner server? check the server URL",
		q.method, q.path, response.StatusCode, what)}
}

// target is where a redirect leads, without anything secret in its query.
func target(response *http.Response) string {
	to, err := response.Location()
	if err != nil {
		return "nowhere"
	}
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	return to.String()
}

// maxMessage bounds what an error repeats of a server's message, in bytes.
const maxMessage = 500

// reason reads the error shapes of server.md 0.
func reason(text []byte) (code, message string) {
	var shape struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(text, &shape) != nil {
		return "", cut(string(text))
	}
	var inner struct{ Code, Message string }
	var plain string
	switch {
	case json.Unmarshal(shape.Error, &inner) == nil:
		return inner.Code, cut(inner.Message)
	case json.Unmarshal(shape.Error, &plain) == nil: // the runner's own shape
		return plain, cut(plain)
	case json.Unmarshal(shape.Detail, &plain) == nil:
		return "", cut(plain)
	}
	return "", cut(string(shape.Detail))
}

func cut(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}
