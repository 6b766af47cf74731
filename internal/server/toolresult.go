package server

import (
	"context"
	"net/http"
)

// onCompact asks the runner to make a session's context shorter. A runner that
// does not know how says so with a 204.
func (s *Server) onCompact(ctx context.Context, _ Principal, session string, _ inputEvent) (dict, error) {
	status, here, err := s.control(ctx, session, dict{"type": "compact"})
	switch {
	case err != nil && ctx.Err() == nil && here:
		return nil, refuse(http.StatusInternalServerError, "internal_error", "The runner could not be asked to compact: %v", err)
	case err != nil:
		return nil, err
	case here && status == http.StatusOK:
		return dict{"queued": false}, nil
	case here && status != http.StatusNoContent:
		return nil, refuse(http.StatusInternalServerError, "internal_error", "The runner answered a compact with %d.", status)
	}
	return nil, badInput("/compact is not available for this session type.")
}

// onToolResult hands the result of a client's tool to the turn that waits for
// it. It is not stored here: the runner tells what became of it.
func (s *Server) onToolResult(ctx context.Context, _ Principal, session string, ev inputEvent) (dict, error) {
	data, err := object(ev.Data, "data")
	if err != nil {
		return nil, err
	}
	call := text(data["call_id"])
	if call == "" || isNull(data["output"]) {
		return nil, badInput("a function_call_output needs call_id and output")
	}
	status, here, err := s.control(ctx, session, dict{"type": "tool_result", "call_id": call, "output": data["output"]})
	if !here || !delivered(status, err) {
		s.log.Warn("the runner did not take a tool's result", "session", session, "online", here, "status", status, "error", err)
		return nil, refuse(http.StatusServiceUnavailable, "runner_unavailable", "No runner took the result; try again.")
	}
	return dict{"queued": true, "item_id": call}, nil
}
