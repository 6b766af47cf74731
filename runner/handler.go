package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/outrunner/outrunner/runner/core"
)

// maxBody is the largest request body that is read, in bytes: the wire's own
// bound on a request (design 4).
const maxBody = 16 << 20

// Handler serves the runner's endpoints (sessions.md 2). Requests reach it by
// the tunnel, which has authenticated the server.
func (r *Runner) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// A stream is open for as long as there is a connection, and says nothing
		// of anybody's work.
		if path := req.URL.Path; path != "/health" && !strings.HasSuffix(path, "/stream") {
			defer r.active.enter()()
		}
		r.route(w, req)
	})
}

// route finds the endpoint by the parts of the path. The path is already
// decoded and may hold anything, so it is taken as it is: no cleaning, no
// redirects.
func (r *Runner) route(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.TrimPrefix(req.URL.Path, "/"), "/")
	if req.URL.Path == "/health" {
		r.method(w, req, methods{http.MethodGet: func() { r.health(w) }})
		return
	}
	if req.URL.Path == "/v1/summarize" && r.cfg.Summarizer != nil {
		r.method(w, req, methods{http.MethodPost: func() { r.summarize(w, req) }})
		return
	}
	if len(parts) < 2 || parts[0] != "v1" || parts[1] != "sessions" {
		notFound(w)
		return
	}
	if len(parts) == 2 {
		r.method(w, req, methods{http.MethodPost: func() { r.initSession(w, req) }})
		return
	}
	s := parts[2]
	if len(parts) > 3 && parts[3] == "resources" {
		r.resources(w, req, s, parts[4:])
		return
	}
	rest := strings.Join(parts[3:], "/")
	switch rest {
	case "":
		r.method(w, req, methods{
			http.MethodGet:    func() { r.forward(w, req, func(q core.Req) core.Event { return core.Get{Req: q, Session: s} }) },
			http.MethodDelete: func() { r.forward(w, req, func(q core.Req) core.Event { return core.Delete{Req: q, Session: s} }) },
		})
	case "events":
		r.method(w, req, methods{http.MethodPost: func() { r.sessionEvent(w, req, s) }})
	case "stream":
		r.method(w, req, methods{http.MethodGet: func() { r.stream(w, req, s) }})
	case "mcp/execute":
		r.method(w, req, methods{http.MethodPost: func() { r.executeTool(w, req, s) }})
	case "skills":
		// Servers of before 0.12 fill their menu from it; a newer one asks its host.
		r.method(w, req, methods{http.MethodGet: func() { writeJSON(w, 200, map[string]any{"skills": []any{}}) }})
	case "skills/resolve":
		r.method(w, req, methods{http.MethodPost: func() { r.resolveSkill(w, req, s) }})
	case "reset-state":
		r.method(w, req, methods{http.MethodPost: func() { r.reset(w, req, s, core.ResetState) }})
	case "agent-cache/reset":
		r.method(w, req, methods{http.MethodPost: func() { r.reset(w, req, s, core.ResetAgent) }})
	case "models":
		r.method(w, req, methods{http.MethodGet: func() { writeJSON(w, 200, map[string]any{"workers": map[string]any{}}) }})
	case "model-options", "claude-model-options", "codex-model-options", "cursor-model-options", "kiro-model-options", "devin-model-options":
		r.method(w, req, methods{http.MethodGet: func() { writeJSON(w, 200, map[string]any{"models": []any{}}) }})
	case "sign-in-link":
		r.method(w, req, methods{http.MethodGet: func() { writeJSON(w, 200, map[string]any{"pending": false, "url": nil, "code": nil}) }})
	case "background-title":
		r.method(w, req, methods{http.MethodPost: func() {
			writeJSON(w, 200, map[string]any{"status": "unsupported", "title": nil})
		}})
	default:
		notFound(w)
	}
}

type methods map[string]func()

func (r *Runner) method(w http.ResponseWriter, req *http.Request, m methods) {
	if serve := m[req.Method]; serve != nil {
		serve()
		return
	}
	for name := range m {
		w.Header().Add("Allow", name)
	}
	writeJSON(w, http.StatusMethodNotAllowed, map[string]string{"detail": "Method Not Allowed"})
}

// health tells whether the runner can take work.
func (r *Runner) health(w http.ResponseWriter) {
	if err := r.loop.committer.trouble(); err != nil {
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{
			"status": "degraded", "error": codeJournal, "detail": "The journal takes no records: " + err.Error(),
		})
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (r *Runner) initSession(w http.ResponseWriter, req *http.Request) {
	body, ok := readObject(w, req)
	if !ok {
		return
	}
	ev, err := decodeInit(body)
	if err != nil {
		var refusal *refusal
		if errors.As(err, &refusal) {
			writeError(w, refusal.status, refusal.code, refusal.detail)
			return
		}
		writeError(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	r.forward(w, req, func(q core.Req) core.Event { ev.Req = q; return ev })
}

func (r *Runner) sessionEvent(w http.ResponseWriter, req *http.Request, session string) {
	body, ok := readObject(w, req)
	if !ok {
		return
	}
	typ := "message"
	if raw, ok := body["type"]; ok && json.Unmarshal(raw, &typ) != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", "The event's type must be a string.")
		return
	}
	switch typ {
	case "message":
		m := decodeMessage(body)
		m.Session = session
		if req.URL.Query().Get("stream") == "true" {
			r.streamTurn(w, req, m)
			return
		}
		r.forward(w, req, func(q core.Req) core.Event { m.Req = q; return m })
	case "external_session_status":
		ev := decodeStatus(body)
		ev.Session = session
		r.forward(w, req, func(q core.Req) core.Event { ev.Req = q; return ev })
	case "approval":
		ev, err := decodeAnswer(body)
		if err != nil {
			writeError(w, http.StatusBadRequest, "invalid_input", err.Error())
			return
		}
		ev.Session = session
		r.forward(w, req, func(q core.Req) core.Event { ev.Req = q; return ev })
	case "tool_result":
		ev, err := decodeToolResult(body)
		if err != nil {
			writeError(w, http.StatusBadRequest, "invalid_input", err.Error())
			return
		}
		ev.Session = session
		r.forward(w, req, func(q core.Req) core.Event { ev.Req = q; return ev })
	case "effort_change":
		effort, ok := stringOrNull(body["effort"])
		if !ok {
			writeError(w, http.StatusBadRequest, "invalid_input", "The effort must be a string or null.")
			return
		}
		r.forward(w, req, func(q core.Req) core.Event {
			return core.Control{Req: q, Session: session, Kind: typ, Effort: effort}
		})
	default:
		r.forward(w, req, func(q core.Req) core.Event { return core.Control{Req: q, Session: session, Kind: typ} })
	}
}

func (r *Runner) resolveSkill(w http.ResponseWriter, req *http.Request, session string) {
	body, ok := readObject(w, req)
	if !ok {
		return
	}
	name, named := stringOrNull(body["name"])
	arguments, texts := stringOrNull(body["arguments"])
	if !named || name == "" || !texts {
		writeError(w, http.StatusBadRequest, "invalid_request", "A skill has a name, and arguments that are text.")
		return
	}
	r.forward(w, req, func(q core.Req) core.Event {
		return core.ResolveSkill{Req: q, Session: session, Name: name, Arguments: arguments}
	})
}

func (r *Runner) reset(w http.ResponseWriter, req *http.Request, session string, kind core.ResetKind) {
	var body struct {
		AgentID string `json:"agent_id"`
	}
	if kind == core.ResetAgent {
		// A body that is not JSON names no agent (sessions.md 2).
		raw, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
		if err == nil && json.Unmarshal(raw, &body) != nil {
			body.AgentID = ""
		}
	}
	r.forward(w, req, func(q core.Req) core.Event {
		return core.Reset{Req: q, Session: session, Kind: kind, AgentID: body.AgentID}
	})
}

// Codes of this package's own refusals.
const (
	codeJournal = "journal_unavailable"
	codeBusy    = "runner_busy"
)

// forward posts one event in arrival order and writes the core's reply. It
// waits as long as the core may need, then says why there is no answer.
func (r *Runner) forward(w http.ResponseWriter, req *http.Request, event func(core.Req) core.Event) {
	r.forwardWithin(w, req, r.timing.Request, event)
}

// forwardWithin is forward with a deadline of its own.
func (r *Runner) forwardWithin(w http.ResponseWriter, req *http.Request, wait time.Duration, event func(core.Req) core.Event) {
	rep, err := r.ask(req.Context(), wait, event)
	if err != nil {
		r.noReply(w)
		return
	}
	crashAt("replied")
	if rep.Body == nil {
		w.WriteHeader(rep.Status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(rep.Status)
	_, _ = w.Write(rep.Body) // an error means that the asker is gone
}

// ask posts one event in arrival order, lets the next request of its order key
// begin, and waits for the core's reply.
func (r *Runner) ask(ctx context.Context, wait time.Duration, event func(core.Req) core.Event) (core.Reply, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	id, reply := r.driver.replies.open()
	defer r.driver.replies.close(id)
	if err := r.loop.request(waiting, event(id)); err != nil {
		return core.Reply{}, err
	}
	if r.cfg.Carrier.Admitted != nil {
		r.cfg.Carrier.Admitted(ctx)
	}
	select {
	case rep := <-reply:
		return rep, nil
	case <-waiting.Done():
		r.loop.answer(core.RequestGone{Req: id})
		return core.Reply{}, waiting.Err()
	}
}

func (r *Runner) noReply(w http.ResponseWriter) {
	if err := r.loop.committer.trouble(); err != nil {
		writeError(w, http.StatusServiceUnavailable, codeJournal,
			fmt.Sprintf("The runner cannot write its journal (%v). Free some disk space; the message was not taken.", err))
		return
	}
	writeError(w, http.StatusServiceUnavailable, codeBusy, "The runner did not come to this request in time; try again.")
}

// readObject reads a JSON object, or answers why not.
func readObject(w http.ResponseWriter, req *http.Request) (map[string]json.RawMessage, bool) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			writeError(w, http.StatusRequestEntityTooLarge, "invalid_request", "The request body is over 16 MiB.")
			return nil, false
		}
		writeError(w, http.StatusBadRequest, "invalid_request", "The request body could not be read.")
		return nil, false
	}
	if !json.Valid(raw) {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]string{
			"code": "invalid_input", "message": "The request body is not valid JSON.",
		}})
		return nil, false
	}
	var body map[string]json.RawMessage
	if json.Unmarshal(raw, &body) != nil || body == nil {
		writeError(w, http.StatusBadRequest, "invalid_request", "The request body must be a JSON object.")
		return nil, false
	}
	return body, true
}

func notFound(w http.ResponseWriter) {
	writeJSON(w, http.StatusNotFound, map[string]string{"detail": "Not Found"})
}

func writeError(w http.ResponseWriter, status int, code, detail string) {
	writeJSON(w, status, map[string]string{"error": code, "detail": detail})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("runner: encoding an answer: %v", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // an error means that the asker is gone
}
