package mcp

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// runner listens on a socket and answers as the real one does.
func runner(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "tools.sock")
	ln, err := net.Listen("unix", socket)
	require.NoError(t, err)
	srv := httptest.NewUnstartedServer(h)
	require.NoError(t, srv.Listener.Close())
	srv.Listener = ln
	srv.Start()
	t.Cleanup(srv.Close)
	return socket
}

// program connects an MCP client to a bridge.
func program(t *testing.T, b *Bridge) *mcp.ClientSession {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	here, there := mcp.NewInMemoryTransports()
	var running sync.WaitGroup
	running.Go(func() {
		if err := b.Serve(ctx, there); err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, here, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("hanging up: %v", err)
		}
		cancel()
		running.Wait()
	})
	return session
}

func TestBridge(t *testing.T) {
	socket := runner(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		var answer string
		switch r.Method + " " + r.URL.Path + " " + string(body) {
		case "GET /v1/sessions/S/tools ":
			answer = `[{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{"at":{"type":"string"}}}},{"name":"no","description":"","parameters":{"type":"object"}}]`
		case `POST /v1/sessions/S/tools/call {"name":"look","arguments":{"at":"it"}}`:
			answer = `{"output":"seen"}`
		case `POST /v1/sessions/S/tools/call {"name":"no","arguments":{}}`:
			answer = `{"error":"a policy denies it"}`
		default:
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, answer) // the bridge reads it, or fails its test
	})
	p := program(t, &Bridge{Socket: socket, Session: "S", Version: "1"})
	list, err := p.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 2)
	require.Equal(t, "Looks.", list.Tools[0].Description)

	res, err := p.CallTool(t.Context(), &mcp.CallToolParams{Name: "look", Arguments: map[string]string{"at": "it"}})
	require.NoError(t, err)
	require.False(t, res.IsError)
	require.Equal(t, "seen", res.Content[0].(*mcp.TextContent).Text)

	res, err = p.CallTool(t.Context(), &mcp.CallToolParams{Name: "no", Arguments: map[string]string{}})
	require.NoError(t, err)
	require.True(t, res.IsError)
	require.Equal(t, "a policy denies it", res.Content[0].(*mcp.TextContent).Text)
}

func TestBridgeWithoutARunner(t *testing.T) {
	_, there := mcp.NewInMemoryTransports()
	b := &Bridge{Socket: filepath.Join(t.TempDir(), "none.sock"), Session: "S"}
	require.ErrorContains(t, b.Serve(t.Context(), there), "is it running")

	b.Socket = runner(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	require.ErrorContains(t, b.Serve(t.Context(), there), "418")
}

func TestASessionThatIsNotThere(t *testing.T) {
	socket := runner(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"code":"not_found","message":"There is no session of that id."}}`)
	})
	here, _ := mcp.NewInMemoryTransports()
	err := (&Bridge{Socket: socket, Session: "nope"}).Serve(t.Context(), here)
	require.EqualError(t, err, "session nope: There is no session of that id.")
}
