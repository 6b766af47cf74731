package server

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// maxFileWrite bounds the body that writes a file, in bytes.
const maxFileWrite = 15 << 20

// environments serves what lies below …/resources/environments/{id}: the files
// of an environment and its shell (terminals.md 4). It stands before the mux,
// which would clean the path: an absolute target has a double slash in it, and
// what dots mean is for the runner to say.
func (s *Server) environments(next http.Handler) http.Handler {
	mine := s.serve(s.environment)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := readEnvironmentPath(r.URL); ok {
			mine.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// environmentPath is a path below an environment, decoded.
type environmentPath struct {
	session, environment string
	family               string // filesystem, search, changes, diff, shell; "" = the environment itself
	target               string // what follows the family and its slash
	below                bool   // there is such a slash
}

// readEnvironmentPath takes a path apart. The borders are found before anything
// is decoded, so that a name can have any byte in it.
func readEnvironmentPath(u *url.URL) (p environmentPath, ok bool) {
	rest, ok := strings.CutPrefix(u.EscapedPath(), "/v1/sessions/")
	if !ok {
		return p, false
	}
	session, rest, _ := strings.Cut(rest, "/")
	rest, ok = strings.CutPrefix(rest, "resources/environments/")
	if !ok || rest == "" {
		return p, false
	}
	environment, rest, _ := strings.Cut(rest, "/")
	family, target, below := strings.Cut(rest, "/")
	p = environmentPath{family: family, below: below}
	for _, part := range []struct {
		to   *string
		from string
	}{{&p.session, session}, {&p.environment, environment}, {&p.target, target}} {
		text, err := url.PathUnescape(part.from)
		if err != nil {
			return p, false
		}
		*part.to = text
	}
	return p, true
}

// environmentQuery lists the parameters that each family has.
var environmentQuery = map[string][]string{
	"filesystem": {"limit", "after", "before", "order", "download", "recursive"},
	"search":     {"q", "include", "exclude", "limit"},
	"changes":    {}, "diff": {}, "shell": {}, "": {},
}

const (
	mostSearched = 500
	onlyReads    = "GET"
)

// environmentMethods says what each family can do.
var environmentMethods = map[string]string{
	"filesystem": "GET PUT PATCH DELETE", "search": onlyReads, "changes": onlyReads, "diff": onlyReads, "shell": "POST", "": onlyReads,
}

func (s *Server) environment(w http.ResponseWriter, r *http.Request) error {
	p, _ := readEnvironmentPath(r.URL)
	r.SetPathValue("session_id", p.session)
	ses, err := s.pathSession(r)
	if err != nil {
		return err
	}
	methods, known := environmentMethods[p.family]
	if !known || strings.ContainsAny(p.environment, "/\x00") {
		return refuse(http.StatusNotFound, "not_found", "Resource not found")
	}
	if !strings.Contains(methods, r.Method) {
		return detail(http.StatusMethodNotAllowed, "Method Not Allowed")
	}
	query, err := p.query(r)
	if err != nil {
		return err
	}
	c := resourceCall{method: r.Method, path: p.forRunner(r), query: query}
	if r.Method != http.MethodGet && r.Method != http.MethodDelete {
		if c.body, err = readJSON(w, r, maxFileWrite); err != nil {
			return err
		}
	}
	if p.family == "filesystem" && r.Method == http.MethodGet && flag(r, "download", false) {
		return s.download(w, r, ses, c)
	}
	raw, err := s.callRunner(r.Context(), ses, c)
	if err != nil {
		return err
	}
	if p.family == "filesystem" && r.Method != http.MethodGet {
		s.filesChanged(r, ses, p.environment)
	}
	answer(w, s.log, http.StatusOK, raw)
	return nil
}

// forRunner is the path at the runner. An absolute target begins with a slash of
// its own; ?base=host says that it lost it.
func (p environmentPath) forRunner(r *http.Request) string {
	path := "/resources/environments/" + p.environment
	if p.family == "" {
		return path
	}
	path += "/" + p.family
	host := r.URL.Query().Get("base") == "host"
	if !p.below && !host {
		return path
	}
	target := p.target
	if host && !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	return path + "/" + target
}

// query is what the runner is told: what it knows, checked. One user owns all
// sessions, so links that leave the root are followed as far as grants go.
func (p environmentPath) query(r *http.Request) (url.Values, error) {
	given, out := r.URL.Query(), url.Values{}
	most := maxPage
	if p.family == "search" {
		most = mostSearched
		if strings.TrimSpace(given.Get("q")) == "" {
			return nil, invalidQuery("q", given.Get("q"), "string_pattern_mismatch", "String should have something to search for")
		}
	}
	if err := oneOf(given, "order", "asc", "desc"); err != nil {
		return nil, err
	}
	if text := given.Get("limit"); text != "" {
		if _, err := pageLimit(text, most); err != nil {
			return nil, err
		}
	}
	for _, k := range environmentQuery[p.family] {
		if v := given.Get(k); v != "" {
			out.Set(k, v)
		}
	}
	if p.family == "filesystem" && r.Method == http.MethodGet {
		out.Set("scope", "reach")
	}
	return out, nil
}

// filesChanged tells the viewers that the user changed a file.
func (s *Server) filesChanged(r *http.Request, ses *store.Session, environment string) {
	event := dict{"session_id": ses.ID, "environment_id": environment}
	err := s.db.Write(r.Context(), func(tx *store.Tx) error { return emit(tx, ses.ID, typeChangedFiles, event) })
	if err != nil { // it is changed all the same
		s.log.Warn("viewers could not be told of a changed file", "session", ses.ID, "error", err)
	}
}
