package runner

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

// ToolsHandler serves the tools of this runner to programs on this machine, who
// have no credentials of their own: for a socket that only this user can open.
//
//	GET  /v1/sessions/{id}/tools        [{"name","description","parameters"}]
//	POST /v1/sessions/{id}/tools/call   {"name","arguments"} -> {"output"} or {"error"}
//
// A call goes through the server, which applies its policies, and may last two
// hours. A call that the server refuses is an answer of 200 with an error.
func (r *Runner) ToolsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/sessions/{id}/tools", func(w http.ResponseWriter, req *http.Request) {
		r.forward(w, req, func(q core.Req) core.Event { return core.ToolList{Req: q, Session: req.PathValue("id")} })
	})
	mux.HandleFunc("POST /v1/sessions/{id}/tools/call", r.callTool)
	return mux
}

func (r *Runner) callTool(w http.ResponseWriter, req *http.Request) {
	body, ok := readObject(w, req)
	if !ok {
		return
	}
	var name string
	if json.Unmarshal(body["name"], &name) != nil || name == "" {
		writeError(w, http.StatusBadRequest, "invalid_request", "A call names its tool.")
		return
	}
	args := body["arguments"]
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	output, err := r.cfg.Server.CallTool(req.Context(), req.PathValue("id"), wire.ToolCall{
		Op: "mcpop_" + newID(), Name: name, Args: args,
	})
	switch {
	case errors.Is(err, context.Canceled):
		return // nobody waits any more
	case err != nil:
		writeJSON(w, http.StatusOK, map[string]string{"error": err.Error()})
	default:
		writeJSON(w, http.StatusOK, map[string]string{"output": output})
	}
}
