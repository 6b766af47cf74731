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

// whileAway repeats a call that may be repeated while its answer gets lost, for
// as long as the server may be away.
func (c *Client) whileAway(ctx context.Context, try func() error) error {
	patience := orDefault(c.Timing.ToolAway, 120*time.Second)
	shortest := orDefault(c.Timing.ToolPause, 500*time.Millisecond)
	wait, gone := shortest, time.Time{}
	for {
		began := time.Now()
		err := try()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, !away(err):
			return err
		case gone.IsZero(), time.Since(began) > c.Timing.toolConnect():
			// The first miss; or the call was held, so the server was there.
			gone, wait = time.Now(), shortest
		}
		if time.Since(gone)+wait > patience || !pause(ctx, wait) {
			return fmt.Errorf("the server is away: %w", err)
		}
		wait = min(2*wait, 8*shortest)
	}
}

// away reports that the server may be back soon and know the operation.
func away(err error) bool {
	var refused *ToolError
	var status *StatusError
	switch {
	case errors.As(err, &refused):
		return refused.Code == detached
	case errors.As(err, &status):
		return status.Status == http.StatusBadGateway || status.Status == http.StatusServiceUnavailable || status.Status == http.StatusGatewayTimeout
	}
	return errors.As(err, new(lost))
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
