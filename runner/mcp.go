package runner

import (
	"encoding/json"
	"net/http"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

// executeTool serves POST /v1/sessions/{id}/mcp/execute (sessions.md 2.3): the
// server, which has applied its policy, asks for a tool of this runner.
func (r *Runner) executeTool(w http.ResponseWriter, req *http.Request, session string) {
	body, ok := readObject(w, req)
	if !ok {
		return
	}
	var method string
	if json.Unmarshal(body["method"], &method) != nil {
		toolError(w, http.StatusBadRequest, -32700, "the body must have a method")
		return
	}
	switch method {
	case "tools/list":
		// Tools of MCP servers; an agent's own are told to its program.
		writeJSON(w, http.StatusOK, map[string]any{"result": map[string]any{
			"schemas": []any{}, "tool_names": []any{}, "failures": map[string]any{},
		}})
	case "tools/call":
		ev, err := decodeToolCall(body)
		if err != "" {
			toolError(w, http.StatusOK, -32000, err)
			return
		}
		ev.Session = session
		r.forwardWithin(w, req, r.timing.Tool, func(q core.Req) core.Event { ev.Req = q; return ev })
	default:
		toolError(w, http.StatusOK, -32601, "no method "+method)
	}
}

func toolError(w http.ResponseWriter, status, code int, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"code": code, "message": message}})
}

// decodeToolCall reads a tools/call; the reason it cannot be one is the string.
func decodeToolCall(body map[string]json.RawMessage) (core.ToolCall, string) {
	var params struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(body["params"], &params) != nil || params.Name == "" {
		return core.ToolCall{}, "tools/call needs the name of a tool"
	}
	ev := core.ToolCall{Name: params.Name, Args: params.Args}
	if len(ev.Args) == 0 || string(ev.Args) == "null" {
		ev.Args = json.RawMessage("{}")
	}
	if raw, ok := body["_omnigent_operation"]; ok {
		var op struct {
			ID   string `json:"id"`
			Step string `json:"step"`
		}
		if json.Unmarshal(raw, &op) != nil || op.ID == "" || len(op.ID) > 128 || op.Step == "" || len(op.Step) > 64 {
			return core.ToolCall{}, "the operation needs an id of 1 to 128 and a step of 1 to 64 characters"
		}
		ev.Op = op.ID + "/" + op.Step
	}
	return ev, ""
}

// decodeStatus reads external_session_status (subagents-catchup.md 4): an
// outcome that is not one of three, and a completion that is not literally
// true, are absent.
func decodeStatus(body map[string]json.RawMessage) core.Status {
	var data struct {
		Status    json.RawMessage `json:"status"`
		Output    json.RawMessage `json:"output"`
		Completed json.RawMessage `json:"turn_completed"`
		Outcome   json.RawMessage `json:"turn_outcome"`
		Response  json.RawMessage `json:"response_id"`
		Error     json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body["data"], &data) != nil {
		return core.Status{}
	}
	ev := core.Status{Completed: string(data.Completed) == "true"}
	ev.Status, _ = stringOrNull(data.Status)
	ev.Response, _ = stringOrNull(data.Response)
	var out *string
	if json.Unmarshal(data.Output, &out) == nil {
		ev.Output = out
	}
	outcome, _ := stringOrNull(data.Outcome)
	switch o := wire.Outcome(outcome); o {
	case wire.Completed, wire.Failed, wire.Cancelled:
		ev.Outcome = o
	}
	var te *wire.TurnError
	if json.Unmarshal(data.Error, &te) == nil {
		ev.Error = te
	}
	return ev
}
