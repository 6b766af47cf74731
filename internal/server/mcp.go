package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// mcpVersion is the protocol version that the endpoint speaks.
const mcpVersion = "2024-11-05"

// The error codes of an answer: those of JSON-RPC, and two of the wire's own.
const (
	mcpInvalidRequest = -32600
	mcpUnknownMethod  = -32601
	mcpInvalidParams  = -32602
	// mcpFailed says that the runner could not do it, and why.
	mcpFailed = -32000
	// mcpDetached says that the runner went away during the call. The operation
	// may go on without it; the same operation id finds it again.
	mcpDetached = -32098
)

// mcpRequest is one JSON-RPC 2.0 request.
type mcpRequest struct {
	ID     json.RawMessage
	Method string
	Params map[string]json.RawMessage
}

// mcpError is a refusal in the form of JSON-RPC; the HTTP status stays 200.
type mcpError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// mcp is POST /v1/sessions/{id}/mcp (server.md 2.6): where a session's program
// calls the tools that its agent has, and its runner those of the program. A
// call lasts as long as the tool.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	raw, err := readJSON(w, r, maxEventsBody)
	if err != nil {
		return err
	}
	if _, err := s.db.Read().Session(r.Context(), id); err != nil {
		return err
	}
	in, refused := readMCP(raw)
	if refused == nil && len(in.ID) == 0 && strings.HasPrefix(in.Method, "notifications/") {
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	out := dict{"jsonrpc": "2.0", "id": rawOrNull(in.ID)}
	if refused == nil {
		out["result"], refused = s.mcpResult(r.Context(), id, in)
	}
	if refused != nil {
		delete(out, "result")
		out["error"] = refused
	}
	answer(w, s.log, http.StatusOK, out)
	return nil
}

func readMCP(raw []byte) (in mcpRequest, refused *mcpError) {
	fields, err := object(raw, "the request")
	if err != nil {
		return in, &mcpError{mcpInvalidRequest, err.Error()}
	}
	in.ID, in.Method = fields["id"], text(fields["method"])
	if text(fields["jsonrpc"]) != "2.0" || in.Method == "" {
		return in, &mcpError{mcpInvalidRequest, "the request is not of JSON-RPC 2.0"}
	}
	if !isNull(fields["params"]) {
		if in.Params, err = object(fields["params"], "params"); err != nil {
			return in, &mcpError{mcpInvalidParams, err.Error()}
		}
	}
	return in, nil
}

func (s *Server) mcpResult(ctx context.Context, session string, in mcpRequest) (any, *mcpError) {
	switch in.Method {
	case "initialize":
		return dict{"protocolVersion": mcpVersion, "capabilities": dict{"tools": dict{}},
			"serverInfo": dict{"name": "outrunner", "version": s.cfg.Version}}, nil
	case "ping":
		return dict{}, nil
	case "tools/list":
		return s.listTools(ctx, session, in.Params)
	case "tools/call":
		return s.callTool(ctx, session, in.Params)
	}
	return nil, &mcpError{mcpUnknownMethod, "no method " + clip(in.Method, 64)}
}
