package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// dialLimit is how long the runner may take to take a connection.
const dialLimit = 5 * time.Second

// answerLimit bounds an answer of the runner, in bytes.
const answerLimit = 64 << 20

// Bridge is one session's view of the runner's tools.
type Bridge struct {
	// Socket is the path of the runner's socket.
	Socket string
	// Session is on whose behalf tools are called.
	Session string
	// Version is told to the program.
	Version string
}

// tool is one as the runner describes it.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Serve speaks MCP on the transport until the program hangs up, or ctx ends.
func (b *Bridge) Serve(ctx context.Context, transport mcp.Transport) error {
	client := b.client()
	defer client.CloseIdleConnections()
	var tools []tool
	if err := b.ask(ctx, client, http.MethodGet, "/tools", nil, &tools); err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "outrunner", Version: b.Version}, nil)
	for _, t := range tools {
		server.AddTool(&mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return b.call(ctx, client, req.Params)
			})
	}
	err := server.Run(ctx, transport)
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil // the program left, or we were told to
	}
	return fmt.Errorf("serving MCP: %w", err)
}

func (b *Bridge) client() *http.Client {
	dialer := net.Dialer{Timeout: dialLimit}
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", b.Socket)
		},
	}}
}

func (b *Bridge) call(ctx context.Context, client *http.Client, params *mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
	body, err := json.Marshal(struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments,omitempty"`
	}{params.Name, params.Arguments})
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", params.Name, err)
	}
	var answer struct {
		Output *string `json:"output"`
		Error  string  `json:"error"`
	}
	if err := b.ask(ctx, client, http.MethodPost, "/tools/call", body, &answer); err != nil {
		return nil, err
	}
	if answer.Output == nil {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: answer.Error}}}, nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: *answer.Output}}}, nil
}

// ask makes one call to the runner.
func (b *Bridge) ask(ctx context.Context, client *http.Client, method, path string, body []byte, out any) error {
	// The host is never dialed; the socket is.
	at := "http://runner/v1/sessions/" + url.PathEscape(b.Session) + path
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking the runner: %w", err)
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("the runner does not answer at %s; is it running, with this state directory? %w", b.Socket, err)
	}
	defer func() { _ = res.Body.Close() }() // read to its end, or failed already
	text, err := io.ReadAll(io.LimitReader(res.Body, answerLimit))
	if err != nil {
		return fmt.Errorf("reading the runner's answer: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		var refused struct{ Error struct{ Message string } }
		if json.Unmarshal(text, &refused) == nil && refused.Error.Message != "" {
			return fmt.Errorf("session %s: %s", b.Session, refused.Error.Message)
		}
		return fmt.Errorf("the runner answered %s: %s", res.Status, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("reading the runner's answer: %w", err)
	}
	return nil
}
