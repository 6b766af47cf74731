package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/outrunner/outrunner/internal/server/store"
	"github.com/outrunner/outrunner/tunnel"
)

const (
	// maxToolAnswer bounds a runner's answer to a tool call, in bytes.
	maxToolAnswer = 64 << 20
	// maxOperation bounds the name of an operation, in bytes.
	maxOperation = 128
)

// listTools lists the tools that the session's runner offers.
func (s *Server) listTools(ctx context.Context, session string, params map[string]json.RawMessage) (any, *mcpError) {
	if params == nil {
		params = map[string]json.RawMessage{}
	}
	raw, refused := s.execute(ctx, session, dict{"method": "tools/list", "params": params}, true)
	if refused != nil {
		return nil, refused
	}
	var result struct {
		Schemas []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"schemas"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, &mcpError{mcpFailed, "the runner's list of tools is malformed"}
	}
	tools := []dict{}
	for _, t := range result.Schemas {
		schema := t.Parameters
		if isNull(schema) {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		tools = append(tools, dict{"name": t.Name, "description": t.Description, "inputSchema": schema})
	}
	return dict{"tools": tools}, nil
}

// callTool asks the policies and has the session's runner run a tool. A call
// with an operation id may be repeated: the runner runs an operation once. One
// without gets an id that nobody can repeat.
func (s *Server) callTool(ctx context.Context, session string, params map[string]json.RawMessage) (any, *mcpError) {
	if text(params["name"]) == "" {
		return nil, &mcpError{mcpInvalidParams, "tools/call needs the name of a tool"}
	}
	arguments := params["arguments"]
	if isNull(arguments) {
		arguments = json.RawMessage("{}")
	}
	if _, err := object(arguments, "arguments"); err != nil {
		return nil, &mcpError{mcpInvalidParams, err.Error()}
	}
	op := text(params["_omnigent_operation_id"])
	if given := params["_omnigent_operation_id"]; !isNull(given) && op == "" || len(op) > maxOperation {
		return nil, &mcpError{mcpInvalidParams, fmt.Sprintf("an operation id has 1 to %d characters", maxOperation)}
	}
	repeatable := op != ""
	call := dict{"name": params["name"], "arguments": arguments}
	for _, k := range []string{"inputResponses", "requestState"} {
		if !isNull(params[k]) {
			call[k] = params[k]
		}
	}
	if v := s.verdict(); v != policyAllow {
		return nil, &mcpError{mcpFailed, "the tool call was denied by policy"}
	}
	raw, refused := s.execute(ctx, session, dict{"method": "tools/call", "params": call,
		"_omnigent_operation": dict{"id": firstOf(op, "mcpop_"+store.NewID()), "step": "execute"}}, repeatable)
	if refused != nil {
		return nil, refused
	}
	var result struct {
		Output  *string                    `json:"output"`
		Waiting map[string]json.RawMessage `json:"input_required"`
	}
	if err := json.Unmarshal(raw, &result); err != nil || result.Output == nil && result.Waiting == nil {
		return nil, &mcpError{mcpFailed, "the runner's answer has no output"}
	}
	if result.Waiting != nil {
		return dict{"resultType": "input_required", "inputRequests": rawOrNull(result.Waiting["inputRequests"]),
			"requestState": rawOrNull(result.Waiting["requestState"])}, nil
	}
	return dict{"content": []dict{{"type": "text", "text": *result.Output}}, "isError": false}, nil
}

// execute has the session's runner carry out a call and answers its result.
// repeatable says that the caller may ask for the same again: then a runner that
// is away is no failure.
func (s *Server) execute(ctx context.Context, session string, call dict, repeatable bool) (json.RawMessage, *mcpError) {
	failed := func(format string, args ...any) *mcpError { return &mcpError{mcpFailed, fmt.Sprintf(format, args...)} }
	ses, err := s.db.Read().Session(ctx, session)
	if err != nil {
		return nil, failed("%s", classify(err).message)
	}
	if ses.RunnerID == "" {
		return nil, failed("the session has no runner")
	}
	pr := s.presences.get(ses.RunnerID)
	if pr == nil {
		return nil, &mcpError{mcpDetached, "the session's runner is not connected"}
	}
	body, err := store.Encode(call)
	if err != nil {
		return nil, failed("%v", err)
	}
	status, raw, err := pr.ask(ctx, runnerURL(session, "/mcp/execute"), body, s.cfg.Timing.Tool, maxToolAnswer+1)
	if err != nil {
		s.log.Warn("a tool call was not answered", "session", session, "runner", pr.runner, "error", err)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return nil, failed("the tool took longer than %s", s.cfg.Timing.Tool)
		case !cutOff(err):
			return nil, failed("the runner could not be asked: %v", err)
		case repeatable:
			return nil, &mcpError{mcpDetached, "the session's runner went away during the call"}
		}
		return nil, failed("the session's runner went away during the call; whether the tool ran is not known")
	}
	return executed(status, raw)
}

// cutOff says that the tunnel or the runner ended a call, as opposed to the call
// being one that can not be made.
func cutOff(err error) bool {
	return errors.As(err, new(*tunnel.LostError)) || errors.As(err, new(*tunnel.OfflineError)) || errors.As(err, new(*tunnel.StreamError))
}

// executed reads a runner's answer to /mcp/execute.
func executed(status int, raw []byte) (json.RawMessage, *mcpError) {
	var out struct {
		Result json.RawMessage `json:"result"`
		Error  *mcpError       `json:"error"`
	}
	switch err := json.Unmarshal(raw, &out); {
	case len(raw) > maxToolAnswer:
		return nil, &mcpError{mcpFailed, fmt.Sprintf("the tool's output is larger than %d bytes", maxToolAnswer)}
	case err == nil && out.Error != nil:
		return nil, &mcpError{mcpFailed, firstOf(out.Error.Message, "the runner could not run the tool, and gave no reason")}
	case status == http.StatusServiceUnavailable: // it stops, or its disk is full: the operation is not taken
		return nil, &mcpError{mcpDetached, "the runner can not take the call now: " + reasonOf(raw)}
	case status >= http.StatusBadRequest:
		return nil, &mcpError{mcpFailed, fmt.Sprintf("the runner answered %d: %s", status, reasonOf(raw))}
	case err != nil || isNull(out.Result):
		return nil, &mcpError{mcpFailed, "the runner's answer is malformed"}
	}
	return out.Result, nil
}
