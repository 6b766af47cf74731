package runner

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

const (
	// launchTimeout bounds a launch: the server waits 10 s for the answer.
	launchTimeout = 9 * time.Second
	// lookTimeout bounds a look at one terminal.
	lookTimeout = 5 * time.Second
)

// terminalRoutes serves what lies under .../resources/terminals.
func (r *Runner) terminalRoutes(w http.ResponseWriter, req *http.Request, session string, rest []string) {
	switch {
	case len(rest) == 0:
		r.method(w, req, methods{
			http.MethodGet:  func() { r.listOfType(w, req, session, typeTerminal) },
			http.MethodPost: func() { r.createTerminal(w, req, session) },
		})
	case len(rest) == 1:
		r.method(w, req, methods{
			http.MethodGet:    func() { r.getTerminal(w, req, session, rest[0]) },
			http.MethodDelete: func() { r.deleteTerminal(w, req, session, rest[0]) },
		})
	case len(rest) == 2 && rest[1] == "transfer":
		r.method(w, req, methods{http.MethodPost: func() { r.transferTerminal(w, req, session, rest[0]) }})
	default:
		notFound(w)
	}
}

// creation is the body of a POST that creates a terminal.
type creation struct {
	Terminal string
	Key      string
	Cwd      string
	Sandbox  string
	Ensure   bool // a terminal of a native program
	Spec     *givenSpec
}

func (r *Runner) createTerminal(w http.ResponseWriter, req *http.Request, session string) {
	if r.terminals.port == nil {
		resourceError(w, http.StatusPreconditionFailed, wire.CodeHarnessUnknown, "This runner has no terminals.")
		return
	}
	want, err := readCreation(w, req)
	if err != nil {
		refuse(w, err)
		return
	}
	agent, err := r.agentOf(req.Context(), session)
	if err != nil {
		refuse(w, err)
		return
	}
	if want.Ensure && natives[want.Terminal] && want.Key == "main" && (want.Terminal != "antigravity" || want.Spec == nil) {
		r.ensureNative(w, req, session, want)
		return
	}
	spec, err := r.terminalSpec(session, agent, want)
	if err != nil {
		refuse(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(req.Context(), launchTimeout)
	defer cancel()
	made, err := r.terminals.launch(ctx, spec, byServer)
	if err != nil {
		refuse(w, launchError(err))
		return
	}
	writeJSON(w, http.StatusOK, terminalResource(made))
}

// natives are the terminals in which the upstream runner starts a program by
// itself (terminals.md 1.6). This one starts what it is told to.
var natives = map[string]bool{
	"claude": true, "pi": true, "cursor": true, "goose": true, "hermes": true, "kiro": true, "qwen": true, "kimi": true,
	"antigravity": true, "devin": true, "codex": true, "opencode": true,
}

// ensureNative finds the terminal of a native program.
func (r *Runner) ensureNative(w http.ResponseWriter, req *http.Request, session string, want creation) {
	ctx, cancel := context.WithTimeout(req.Context(), lookTimeout)
	defer cancel()
	found, err := r.terminals.port.Get(ctx, session, wire.Terminal{Name: want.Terminal, Key: want.Key}.ID())
	if err != nil {
		resourceError(w, http.StatusInternalServerError, "native_terminal_start_failed",
			"This runner does not start "+want.Terminal+" in a terminal by itself; give the session an agent that runs here.")
		return
	}
	writeJSON(w, http.StatusOK, terminalResource(found))
}

func (r *Runner) getTerminal(w http.ResponseWriter, req *http.Request, session, id string) {
	ctx, cancel := context.WithTimeout(req.Context(), lookTimeout)
	defer cancel()
	found, err := r.lookAt(ctx, session, id)
	if err != nil {
		refuse(w, err)
		return
	}
	writeJSON(w, http.StatusOK, terminalResource(found))
}

// lookAt returns a terminal that runs, or the refusal.
func (r *Runner) lookAt(ctx context.Context, session, id string) (wire.Terminal, error) {
	if r.terminals.port == nil {
		return wire.Terminal{}, noTerminal(id)
	}
	found, err := r.terminals.port.Get(ctx, session, id)
	if err != nil {
		return wire.Terminal{}, terminalError(err, id)
	}
	return found, nil
}

func (r *Runner) deleteTerminal(w http.ResponseWriter, req *http.Request, session, id string) {
	list := r.listTerminals(session)
	at := slices.IndexFunc(list, func(t wire.Terminal) bool { return t.ID() == id })
	if at < 0 {
		refuse(w, noTerminal(id))
		return
	}
	if err := r.terminals.close(req.Context(), list[at]); err != nil {
		refuse(w, terminalError(err, id))
		return
	}
	writeJSON(w, http.StatusOK, struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{id, "session.resource.deleted", true})
}

func (r *Runner) transferTerminal(w http.ResponseWriter, req *http.Request, session, id string) {
	body, err := readResource(w, req)
	if err != nil {
		refuse(w, err)
		return
	}
	var target string
	if json.Unmarshal(body["target_session_id"], &target) != nil || target == "" {
		refuse(w, invalid("'target_session_id' is required"))
		return
	}
	if r.terminals.port == nil {
		refuse(w, noTerminal(id))
		return
	}
	ctx, cancel := context.WithTimeout(req.Context(), lookTimeout)
	defer cancel()
	moved, err := r.terminals.port.Transfer(ctx, session, id, target)
	if err != nil {
		refuse(w, terminalError(err, id))
		return
	}
	r.terminals.moved(moved)
	writeJSON(w, http.StatusOK, terminalResource(moved))
}

func invalid(message string) error {
	return &apiError{http.StatusBadRequest, "invalid_input", message}
}

func noTerminal(id string) error {
	return &apiError{http.StatusNotFound, "not_found", "Terminal '" + id + "' not found"}
}

// terminalError says what the port's refusals are to the server.
func terminalError(err error, id string) error {
	switch {
	case errors.Is(err, wire.ErrNotFound):
		return noTerminal(id)
	case errors.Is(err, wire.ErrConflict):
		return &apiError{http.StatusConflict, "resource_conflict", err.Error()}
	case errors.Is(err, wire.ErrRejected):
		return invalid(err.Error())
	}
	return &apiError{http.StatusInternalServerError, "terminal_failed", err.Error()}
}

func launchError(err error) error {
	switch {
	case errors.Is(err, errEnded):
		return &apiError{http.StatusConflict, "resource_conflict", "The session was reset or deleted while the terminal started."}
	case errors.Is(err, wire.ErrConflict):
		return &apiError{http.StatusConflict, "resource_conflict", err.Error()}
	case errors.Is(err, wire.ErrRejected):
		return invalid(err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.New("it did not start in time; the machine may be overloaded, try again")
	}
	return &apiError{http.StatusInternalServerError, "terminal_launch_failed", "The terminal could not be started: " + err.Error()}
}
