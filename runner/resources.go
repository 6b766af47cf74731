package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/outrunner/outrunner/runner/core"
)

// resources serves what lies under /v1/sessions/{id}/resources (terminals.md
// 1.3 to 1.5). rest are the parts of the path behind that; fixed names come
// before ids. Every refusal has an object as its error: the server looks into
// it.
func (r *Runner) resources(w http.ResponseWriter, req *http.Request, session string, rest []string) {
	get := func(serve func()) { r.method(w, req, methods{http.MethodGet: serve}) }
	switch {
	case len(rest) == 0:
		r.method(w, req, methods{
			http.MethodGet:    func() { r.listResources(w, req, session) },
			http.MethodDelete: func() { r.reset(w, req, session, core.ResetResources) },
		})
	case rest[0] == "terminals":
		r.terminalRoutes(w, req, session, rest[1:])
	case rest[0] == "environments" && len(rest) == 1:
		get(func() { r.listOfType(w, req, session, typeEnvironment) })
	case rest[0] == "environments" && len(rest) == 2:
		get(func() { r.oneResource(w, session, rest[1], typeEnvironment) })
	case rest[0] == "environments":
		noFiles(w)
	case rest[0] == "github":
		r.pullRequests(w, req, rest[1:])
	case rest[0] == "files" || len(rest) > 1:
		notFound(w)
	default:
		get(func() { r.oneResource(w, session, rest[0], "") })
	}
}

// listResources tells all that there is. It does not know an agent that cannot
// be read in time, and then lists what any may have.
func (r *Runner) listResources(w http.ResponseWriter, req *http.Request, session string) {
	query := queryOf(req)
	part, faults := pagingOf(query)
	if len(faults) > 0 {
		unprocessable(w, faults)
		return
	}
	list := resourcesOf(r.listTerminals(session))
	agent, err := r.agentOf(req.Context(), session)
	switch {
	case err != nil:
		list = append([]resource{primaryEnvironment(session, nil)}, list...)
	case agent.Spec.OSEnv != nil:
		list = append([]resource{primaryEnvironment(session, agent.Spec.OSEnv)}, list...)
	}
	if typ, given := param(query, "type"); given {
		list = ofType(list, typ)
	}
	writeJSON(w, http.StatusOK, part.cut(list))
}

// listOfType tells those of one type. It asks nobody: the server does this
// whenever somebody opens the session's stream.
func (r *Runner) listOfType(w http.ResponseWriter, req *http.Request, session, typ string) {
	part, faults := pagingOf(queryOf(req))
	if len(faults) > 0 {
		unprocessable(w, faults)
		return
	}
	writeJSON(w, http.StatusOK, part.cut(ofType(r.anyResource(session), typ)))
}

// anyResource are all resources that the session may have, its agent unknown.
func (r *Runner) anyResource(session string) []resource {
	return append([]resource{primaryEnvironment(session, nil)}, resourcesOf(r.listTerminals(session))...)
}

// oneResource tells one of a type, or of any when typ is "".
func (r *Runner) oneResource(w http.ResponseWriter, session, id, typ string) {
	what := "Resource"
	if typ == typeEnvironment {
		what = "Environment"
	}
	list := r.anyResource(session)
	at := slices.IndexFunc(list, func(o resource) bool { return o.ID == id && (typ == "" || o.Type == typ) })
	if at < 0 {
		resourceError(w, http.StatusNotFound, "not_found", what+" '"+id+"' not found")
		return
	}
	writeJSON(w, http.StatusOK, list[at])
}

// noFiles is the answer of a session without files (terminals.md 4.1).
func noFiles(w http.ResponseWriter) {
	writeJSON(w, http.StatusNotFound, map[string]string{
		"detail": "Session agent has no os_env configured; filesystem API unavailable.",
	})
}

// pullRequests says that this runner knows nothing of them (terminals.md 4.13).
func (r *Runner) pullRequests(w http.ResponseWriter, req *http.Request, rest []string) {
	var body map[string]any
	switch {
	case len(rest) == 0:
		body = map[string]any{
			"object": "session.github.info", "available": false, "reason": "This runner does not look at pull requests.", "provider": nil,
		}
	case len(rest) == 1 && rest[0] == "changes":
		body = map[string]any{"object": "list", "data": []any{}, "has_more": false}
	case len(rest) == 1 && rest[0] == "diff":
		body = map[string]any{"object": "session.github.pr_diff", "patch": ""}
	default:
		notFound(w)
		return
	}
	r.method(w, req, methods{http.MethodGet: func() { writeJSON(w, http.StatusOK, body) }})
}

// apiError is a refusal: what a handler answers, or what it was answered.
type apiError struct {
	status        int
	code, message string
}

func (e *apiError) Error() string { return e.message }

// agentOf asks whose session it is.
func (r *Runner) agentOf(ctx context.Context, session string) (core.Agent, error) {
	var agent core.Agent
	rep, err := r.ask(ctx, r.timing.Request, func(q core.Req) core.Event { return core.AgentAsked{Req: q, Session: session} })
	if err != nil {
		return agent, &apiError{http.StatusServiceUnavailable, codeBusy, "The runner did not come to this request in time; try again."}
	}
	if rep.Status != http.StatusOK {
		var refused struct {
			Error struct{ Code, Message string } `json:"error"`
		}
		err = json.Unmarshal(rep.Body, &refused)
		return agent, errors.Join(&apiError{rep.Status, refused.Error.Code, refused.Error.Message}, err)
	}
	return agent, json.Unmarshal(rep.Body, &agent)
}

func resourceError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

// refuse answers with an error of a handler's own.
func refuse(w http.ResponseWriter, err error) {
	var e *apiError
	if errors.As(err, &e) {
		resourceError(w, e.status, e.code, e.message)
		return
	}
	resourceError(w, http.StatusInternalServerError, "internal_error", err.Error())
}

func unprocessable(w http.ResponseWriter, faults []fault) {
	writeJSON(w, http.StatusUnprocessableEntity, map[string]any{"detail": faults})
}

// readResource reads the JSON object of a request about resources.
func readResource(w http.ResponseWriter, req *http.Request) (map[string]json.RawMessage, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, &apiError{http.StatusRequestEntityTooLarge, "invalid_input", "The request body is over 16 MiB."}
		}
		return nil, &apiError{http.StatusBadRequest, "invalid_input", "The request body could not be read."}
	}
	var body map[string]json.RawMessage
	if json.Unmarshal(raw, &body) != nil || body == nil {
		return nil, &apiError{http.StatusBadRequest, "invalid_input", "The request body must be a JSON object."}
	}
	return body, nil
}
