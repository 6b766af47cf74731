package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxBody bounds the body of a request that has no limit of its own, in bytes.
const maxBody = 1 << 20

type principalKey struct{}

// principal is who sent the request, as authn found.
func principal(r *http.Request) Principal {
	p, _ := r.Context().Value(principalKey{}).(Principal)
	return p
}

func withPrincipal(r *http.Request, p Principal) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), principalKey{}, p))
}

// readJSON reads a JSON body of at most limit bytes. Text that is not UTF-8 is
// refused: replacing a user's bytes is not for us.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, detail(http.StatusUnsupportedMediaType, "The body must be application/json.")
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		return nil, detail(http.StatusRequestEntityTooLarge, "The body is larger than %d bytes.", limit)
	}
	if err != nil {
		return nil, badInput("the body could not be read: %v", err)
	}
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return nil, badInput("the body is not valid JSON")
	}
	return []byte(strings.TrimSpace(string(raw))), nil
}

// readObject is readJSON for a body that must be an object.
func readObject(w http.ResponseWriter, r *http.Request, limit int64) (map[string]json.RawMessage, error) {
	raw, err := readJSON(w, r, limit)
	if err != nil {
		return nil, err
	}
	return object(raw, "the body")
}

// sessionID is the id in the request's path, in its bare form.
func (s *Server) sessionID(r *http.Request) (string, error) {
	id := bareID(r.PathValue("session_id"))
	if !isID(id) {
		return "", sessionNotFound()
	}
	return id, nil
}

// bareID brings the forms in which ids are accepted to the one that is stored:
// 32 lowercase hex digits (server.md 0).
func bareID(id string) string {
	return strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(id), "conv_"), "-", "")
}

func isID(id string) bool {
	if len(id) != 32 {
		return false
	}
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// page is how a list is asked for.
type page struct {
	limit         int
	after, before string
	ascending     bool
}

// readPage reads limit (1 to 1000), after, before and order.
func readPage(r *http.Request, limit int, ascending bool) (page, error) {
	q := r.URL.Query()
	p := page{limit: limit, ascending: ascending}
	if text := q.Get("limit"); text != "" {
		n, err := pageLimit(text, maxPage)
		if err != nil {
			return p, err
		}
		p.limit = n
	}
	switch order := q.Get("order"); order {
	case "":
	case "asc", "desc":
		p.ascending = order == "asc"
	}
	if err := oneOf(q, "order", "asc", "desc"); err != nil {
		return p, err
	}
	for _, c := range []struct {
		name string
		to   *string
	}{{"after", &p.after}, {"before", &p.before}} {
		if text := q.Get(c.name); text != "" {
			if *c.to = bareID(text); !isID(*c.to) {
				return p, sessionNotFound()
			}
		}
	}
	return p, nil
}

// pageLimit reads how many rows are asked for: 1 to most.
func pageLimit(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, invalidQuery("limit", text, "int_parsing", "Input should be a valid integer, unable to parse string as an integer")
	case n < 1:
		return 0, invalidQuery("limit", text, "greater_than_equal", "Input should be greater than or equal to 1").about(dict{"ge": 1})
	case n > most:
		return 0, invalidQuery("limit", text, "less_than_equal", "Input should be less than or equal to %d", most).about(dict{"le": most})
	}
	return n, nil
}

// maxPage is the most rows of a page.
const maxPage = 1000

// oneOf refuses a parameter that is there and is none of the words.
func oneOf(q url.Values, name string, words ...string) error {
	given := q.Get(name)
	if given == "" || slices.Contains(words, given) {
		return nil
	}
	pattern := "^(" + strings.Join(words, "|") + ")$"
	return invalidQuery(name, given, "string_pattern_mismatch", "String should match pattern '%s'", pattern).about(dict{"pattern": pattern})
}

// flag reads a boolean of the query.
func flag(r *http.Request, name string, def bool) bool {
	switch strings.ToLower(r.URL.Query().Get(name)) {
	case "":
		return def
	case "false", "0", "no", "off":
		return false
	}
	return true
}
