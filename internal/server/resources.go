package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/outrunner/outrunner/internal/server/store"
)

// terminalRoutes are those of what a session's runner keeps: terminals and the
// environments that they run in (terminals.md 1). Files of an environment are
// in environments.go, because their paths must not be cleaned.
func (s *Server) terminalRoutes() map[string]handler {
	const one = "/v1/sessions/{session_id}"
	const all = one + "/resources"
	return map[string]handler{
		"GET " + all:                               s.listResources,
		"DELETE " + all:                            s.cleanResources,
		"GET " + all + "/environments":             s.proxyList("/environments"),
		"GET " + all + "/terminals":                s.proxyList("/terminals"),
		"POST " + all + "/terminals":               s.createTerminal,
		"GET " + all + "/terminals/{id}":           s.proxyGet("/terminals/"),
		"GET " + all + "/{id}":                     s.getResource,
		"DELETE " + all + "/terminals/{id}":        s.deleteTerminal,
		"POST " + all + "/terminals/{id}/transfer": s.transferTerminal,
		"GET " + all + "/terminals/{id}/attach":    s.attachTerminal,
		"GET " + one + "/sign-in-link":             s.signInLink,
	}
}

// pathSession is the session in the request's path.
func (s *Server) pathSession(r *http.Request) (*store.Session, error) {
	id, err := s.sessionID(r)
	if err != nil {
		return nil, err
	}
	return s.db.Read().Session(r.Context(), id)
}

// relayed answers with what the runner gave.
func (s *Server) relayed(w http.ResponseWriter, r *http.Request, ses *store.Session, c resourceCall) error {
	raw, err := s.callRunner(r.Context(), ses, c)
	if err != nil {
		return err
	}
	answer(w, s.log, http.StatusOK, raw)
	return nil
}

// proxyList is a list that the runner has.
func (s *Server) proxyList(path string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ses, err := s.pathSession(r)
		if err != nil {
			return err
		}
		query, err := pageQuery(r, maxPage)
		if err != nil {
			return err
		}
		return s.relayed(w, r, ses, resourceCall{method: http.MethodGet, path: "/resources" + path, query: query})
	}
}

// proxyGet is one resource that the runner has.
func (s *Server) proxyGet(path string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ses, err := s.pathSession(r)
		if err != nil {
			return err
		}
		return s.relayed(w, r, ses, resourceCall{method: http.MethodGet, path: "/resources" + path + r.PathValue("id")})
	}
}

// pageQuery is what a runner is told of the page that is asked for. Its cursors
// are names, not ids of ours.
func pageQuery(r *http.Request, most int) (url.Values, error) {
	given, out := r.URL.Query(), url.Values{}
	if err := oneOf(given, "order", "asc", "desc"); err != nil {
		return nil, err
	}
	if text := given.Get("limit"); text != "" {
		if _, err := pageLimit(text, most); err != nil {
			return nil, err
		}
	}
	for _, k := range []string{"limit", "order", "after", "before"} {
		if v := given.Get(k); v != "" {
			out.Set(k, v)
		}
	}
	return out, nil
}

// everyResource is the query for all that a runner has, oldest first. Without
// it the runner gives the newest 20.
func everyResource() url.Values {
	return url.Values{"order": {"asc"}, "limit": {strconv.Itoa(maxPage)}}
}

// resource is what the server reads of one.
type resource struct {
	id, kind string
	raw      json.RawMessage
}

func readResource(raw json.RawMessage) (resource, error) {
	fields, err := object(raw, "resource")
	if err != nil {
		return resource{}, err
	}
	res := resource{id: text(fields["id"]), kind: text(fields["type"]), raw: raw}
	if res.id == "" || res.kind == "" {
		return res, badInput("a resource needs an id and a type")
	}
	return res, nil
}

// runnerResources lists what the runner has of a session, oldest first.
func (s *Server) runnerResources(ctx context.Context, ses *store.Session, path string) ([]resource, error) {
	raw, err := s.callRunner(ctx, ses, resourceCall{method: http.MethodGet, path: "/resources" + path, query: everyResource()})
	if err != nil {
		return nil, err
	}
	var page struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, detail(http.StatusBadGateway, "The runner returned a malformed response.")
	}
	var out []resource
	for _, row := range page.Data {
		res, err := readResource(row)
		if err != nil {
			return nil, detail(http.StatusBadGateway, "The runner returned a malformed response.")
		}
		out = append(out, res)
	}
	return out, nil
}

// listResources is GET …/resources: what the runner has, and the files, which
// the server has. A session without a runner has files only.
func (s *Server) listResources(w http.ResponseWriter, r *http.Request) error {
	ses, err := s.pathSession(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if err := oneOf(q, "type", "terminal", "environment", "file"); err != nil {
		return err
	}
	if _, err := pageQuery(r, maxPage); err != nil {
		return err
	}
	var all []resource
	kind := q.Get("type")
	if kind != "file" && ses.RunnerID != "" {
		if all, err = s.runnerResources(r.Context(), ses, ""); err != nil {
			return err
		}
	}
	files, err := s.fileResources(r.Context(), ses.ID)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(append(all, files...), func(res resource) bool { return kind != "" && res.kind != kind })
	if q.Get("order") != "asc" {
		slices.Reverse(all)
	}
	limit := 20
	if text := q.Get("limit"); text != "" {
		if limit, err = pageLimit(text, maxPage); err != nil {
			return err
		}
	}
	rows, more := pageOf(all, q.Get("after"), q.Get("before"), limit)
	out, first, last := make([]any, 0, len(rows)), "", ""
	for _, res := range rows {
		out = append(out, res.raw)
		first, last = firstOf(first, res.id), res.id
	}
	answer(w, s.log, http.StatusOK, envelope(out, first, last, more))
	return nil
}

// pageOf cuts a page out of a list (terminals.md 1.3): what follows after, or
// what lies right before before. An unknown cursor counts as none.
func pageOf(all []resource, after, before string, limit int) (rows []resource, more bool) {
	at := func(id string) int { return slices.IndexFunc(all, func(res resource) bool { return res.id == id }) }
	if i := at(before); before != "" && i >= 0 {
		from := max(0, i-limit)
		return all[from:i], from > 0
	}
	if i := at(after); after != "" && i >= 0 {
		all = all[i+1:]
	}
	if len(all) > limit {
		return all[:limit], true
	}
	return all, false
}

// fileResources lists all files of a session, oldest first.
func (s *Server) fileResources(ctx context.Context, session string) ([]resource, error) {
	var out []resource
	q := store.FileQuery{Session: session, Ascending: true, Limit: maxPage}
	for more := true; more; {
		var files []*store.File
		var err error
		if files, more, err = s.db.Read().Files(ctx, q); err != nil {
			return nil, err
		}
		for _, f := range files {
			raw, err := store.Encode(fileResource(f))
			if err != nil {
				return nil, err
			}
			out = append(out, resource{id: f.ID, kind: "file", raw: raw})
			q.After = f.ID
		}
	}
	return out, nil
}

// getResource is GET …/resources/{id}: a file of the server's, else whatever
// the runner has under that id.
func (s *Server) getResource(w http.ResponseWriter, r *http.Request) error {
	if isID(bareID(r.PathValue("id"))) {
		r.SetPathValue("file_id", r.PathValue("id"))
		return s.getFile(w, r)
	}
	if slices.Contains([]string{"github"}, r.PathValue("id")) {
		return refuse(http.StatusNotFound, "not_found", "Resource not found") // the name of a family, none of a resource
	}
	return s.proxyGet("/")(w, r)
}

// signInLink is GET …/sign-in-link: whether a program of the session waits for
// a sign-in. Whatever keeps the runner from saying so means that none does.
func (s *Server) signInLink(w http.ResponseWriter, r *http.Request) error {
	ses, err := s.pathSession(r)
	if err != nil {
		return err
	}
	raw, err := s.callRunner(r.Context(), ses, resourceCall{method: http.MethodGet, path: "/sign-in-link"})
	var body any = raw
	if err != nil {
		body = dict{"pending": false, "url": nil, "code": nil}
	}
	answer(w, s.log, http.StatusOK, body)
	return nil
}
