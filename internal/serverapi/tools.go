package serverapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// detached is the code by which the server says that the tool goes on without
// this call; the same operation finds it again.
const detached = -32098

// ToolError is the server's own word that a tool could not be run.
type ToolError struct {
	Code    int    `json:"code"` // JSON-RPC
	Message string `json:"message"`
}

// Error implements error: the message alone, for it is shown to a program.
func (e *ToolError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the server could not run the tool: code %d", e.Code)
	}
	return e.Message
}

// CallTool has the server run a tool (sessions.md 11): policy first, then
// whoever has it. A tool that ran and failed has its text as output. When the
// answer gets lost the same operation is asked for again, for as long as the
// server may be away; the server and its runner run an operation once. A server
// that refuses the tool is a *ToolError.
func (c *Client) CallTool(ctx context.Context, session string, call wire.ToolCall) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, orDefault(c.Timing.Tool, 7260*time.Second))
	defer cancel()
	output := ""
	err := c.whileAway(ctx, func() (err error) {
		output, err = c.tryTool(ctx, session, call)
		return err
	})
	var refused *ToolError
	switch {
	case errors.As(err, &refused) && refused.Code != detached:
		return "", refused
	case err != nil:
		return "", fmt.Errorf("calling tool %s for session %s: %w", call.Name, session, err)
	}
	return output, nil
}

func (c *Client) tryTool(ctx context.Context, session string, tool wire.ToolCall) (string, error) {
	type params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Operation string          `json:"_omnigent_operation_id"`
	}
	if len(tool.Args) == 0 {
		tool.Args = json.RawMessage("{}")
	}
	var answer struct {
		Result *struct {
			Content json.RawMessage `json:"content"`
		} `json:"result"`
		Error *ToolError `json:"error"`
	}
	err := c.object(ctx, call{
		method: http.MethodPost, path: sessionPath(session, "/mcp"),
		body: struct {
			Version string `json:"jsonrpc"`
			ID      int    `json:"id"`
			Method  string `json:"method"`
			Params  params `json:"params"`
		}{"2.0", 1, "tools/call", params{tool.Name, tool.Args, tool.Op}},
		connect: c.Timing.toolConnect(), timeout: orDefault(c.Timing.Tool, 7260*time.Second), limit: toolLimit,
	}, &answer)
	switch {
	case err != nil:
		return "", err
	case answer.Error != nil:
		return "", answer.Error
	case answer.Result == nil || len(answer.Result.Content) == 0 || answer.Result.Content[0] != '[':
		return "", errors.New("the answer has no content")
	}
	return wire.Text(answer.Result.Content), nil
}
